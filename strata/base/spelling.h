// Suggestions for misspelt names.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

/// The edit distance of `a` and `b`: the least number of letters to insert, delete, replace or swap with their
/// neighbour (each letter once). Looks at the first 64 bytes of each name; quadratic in these.
std::size_t spelling_distance(std::string_view a, std::string_view b);
/// `known`, sorted by distance to `word`; names of equal distance keep their order.
std::vector<std::string> nearest_first(std::string_view word, std::vector<std::string> known);

}  // namespace strata
