// Long texts that tests give to parsers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace strata {

inline std::string repeated(std::string_view part, std::size_t n) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += part;
  return out;
}

}  // namespace strata
