// split(): the parts of a text between separators, for lists in options and paths.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace strata::tools {

/// The parts of `text` between separators: "a,,b," gives "a", "", "b". An empty text has no parts; a separator at the
/// end begins none.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace strata::tools
