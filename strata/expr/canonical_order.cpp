#include "strata/expr/canonical_order.h"

#include <algorithm>

namespace strata {

void sort_canonically(std::vector<Variable>& list) {
  std::sort(list.begin(), list.end(), [](const Variable& a, const Variable& b) { return compare(a, b) < 0; });
}

void sort_canonically(Values& list) {
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
    const int order = compare(a.first, b.first);
    return order != 0 ? order < 0 : a.second < b.second;
  });
}

void sort_and_merge(std::vector<Expr>& list) {
  std::sort(list.begin(), list.end(), [](const Expr& a, const Expr& b) { return compare(a, b) < 0; });
  list.erase(std::unique(list.begin(), list.end(), [](const Expr& a, const Expr& b) { return same(a, b); }),
             list.end());
}

}  // namespace strata
