// What the command lines of the fuzzers share.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace strata::oracle {

/// The parts of a text between commas.
inline std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

/// The number that a flag is given; ends the program where it is none, as no count would be no test.
inline std::uint64_t number_of(std::string_view flag, std::string_view text) {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc() && end == text.data() + text.size()) return out;
  std::fprintf(stderr, "%.*s takes a number, not '%.*s'\n", static_cast<int>(flag.size()), flag.data(),
               static_cast<int>(text.size()), text.data());
  std::exit(2);
}

}  // namespace strata::oracle
