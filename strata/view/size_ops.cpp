// Sizes: checks of shapes, and the variables that occur in sizes.

#include "strata/view/size_ops.h"

#include <algorithm>

#include "strata/expr/canonical_order.h"

namespace strata {

bool plainly_at_most(const Expr& a, const Expr& b) {
  try {
    return (b - a).vmin() >= 0;
  } catch (const Error&) {  // no bound in 64 bits
    return false;
  }
}

void refuse_overflow(std::string_view operation, const Int& a, const Int& b, const Int& c) {
  throw Error(ErrorKind::overflow, detail::message("[", operation, "] ", a.render(), " + ", b.render(), " * ",
                                                   c.render(), " leaves 64 bits"));
}

void check_sizes_slowly(std::string_view operation, const Ints& shape) {
  for (std::size_t j = 0; j < shape.size(); ++j)
    STRATA_CHECK(surely_at_most(0, shape[j]), shape, "[", operation, "] dimension ", j, ": size ", shape[j].render(),
                 " of ", render(shape), " is negative",
                 shape[j].is_number() ? "" : ", or is not shown to be at least 0");
  if (has_no_index(shape)) return;
  std::int64_t count = 1;
  for (const Int& s : shape)
    STRATA_CHECK(try_mul(count, std::max<std::int64_t>(s.vmax(), 1), count), overflow, "[", operation,
                 "] the number of elements of shape ", render(shape), " leaves 64 bits");
}

std::vector<Variable> in_order(std::vector<Variable> variables) {
  sort_canonically(variables);
  const auto last =
      std::unique(variables.begin(), variables.end(), [](const Variable& a, const Variable& b) { return same(a, b); });
  variables.erase(last, variables.end());
  return variables;
}

Values in_order(std::string_view operation, Values values) {
  sort_canonically(values);
  const auto last = std::unique(values.begin(), values.end(), [](const auto& a, const auto& b) {
    return same(a.first, b.first) && a.second == b.second;
  });
  values.erase(last, values.end());
  for (std::size_t i = 1; i < values.size(); ++i)
    STRATA_CHECK(!same(values[i - 1].first, values[i].first), domain, "[", operation, "] '", values[i].first.name(),
                 "' is bound to ", values[i - 1].second, " and to ", values[i].second);
  return values;
}

}  // namespace strata
