// The texts by which ranks tell each other, and the user, what they do.
#pragma once

#include <array>
#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

namespace strata {

/// `file:line`
std::string place_text(const std::source_location& place);
/// "rank 3", "ranks 0 1 5", at most eight of them. @pre there is one
std::string ranks_text(const std::vector<std::int64_t>& ranks);
/// The version of Strata and the flags that change results, with their values: `VERSION=0.1.0 DETERMINISTIC=0 ...`.
std::string settings_text();

/// What one rank says of its step where ranks do not agree. Plain bytes; texts end with a zero, longer ones are cut.
struct StepWords {
  std::array<char, 640> what{};
  std::array<char, 256> settings{};
  std::array<char, 256> place{};
  std::int64_t is_goodbye = 0;
};
/// What rank 0 answers to all.
struct Verdict {
  std::array<char, 4096> text{};
  std::int64_t has_goodbye = 0;  ///< whether a rank left its program
};

/// Copies a text into an array of characters; cuts what does not fit.
template <std::size_t N>
void put_text(std::array<char, N>& to, const std::string& text) {
  to[text.copy(to.data(), N - 1)] = '\0';
}

/// The error of a step: what the ranks say, by rank. Ranks that say the same are named together.
Verdict verdict_on(std::int64_t step, const std::vector<StepWords>& said);

}  // namespace strata
