// Names that were misspelt: which known ones are near.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

/// How many letters to insert, leave out, replace or swap with the next one make `b` of `a`, each letter once. Quadratic: of each
/// name the first 64 bytes are looked at.
std::size_t spelling_distance(std::string_view a, std::string_view b);
/// `known`, the nearest to `word` first; those as near keep their order.
std::vector<std::string> nearest_first(std::string_view word, std::vector<std::string> known);

}  // namespace strata
