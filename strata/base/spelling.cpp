// Edit distances, and names sorted by them.
#include "strata/base/spelling.h"

#include <algorithm>
#include <utility>

namespace strata {

std::size_t spelling_distance(std::string_view a, std::string_view b) {
  constexpr std::size_t kMostLetters = 64;
  a = a.substr(0, kMostLetters), b = b.substr(0, kMostLetters);
  // Row i of the table: distances from the first i letters of a to the first j letters of b.
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(above), above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::vector<std::string> nearest_first(std::string_view word, std::vector<std::string> known) {
  std::vector<std::pair<std::size_t, std::size_t>> order;  // (distance, position in `known`)
  for (std::size_t k = 0; k < known.size(); ++k) order.emplace_back(spelling_distance(word, known[k]), k);
  std::sort(order.begin(), order.end());
  std::vector<std::string> out;
  for (const auto& [distance, place] : order) out.push_back(std::move(known[place]));
  return out;
}

}  // namespace strata
