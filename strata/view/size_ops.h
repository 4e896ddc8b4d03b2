// Questions and arithmetic on sizes for movement operations: inline for numbers, by proof for expressions. Internal to
// view/.
//
// `surely_...` is true when the relation is shown for every value of the variables, and false otherwise.
#pragma once

#include <string_view>
#include <vector>

#include "strata/view/int.h"

namespace strata {

inline bool surely_equal(const Int& a, const Int& b) {
  return a == b || (!(a.is_number() && b.is_number()) && known(is_equal(a, b)));
}
inline bool surely_at_most(const Int& a, const Int& b) {
  return a.is_number() && b.is_number() ? a.value() <= b.value() : known(is_at_most(a, b));
}
inline bool surely_less(const Int& a, const Int& b) {
  return a.is_number() && b.is_number() ? a.value() < b.value() : known(is_less(a, b));
}
/// a <= b, from the bounds of b - a alone, without a proof. The canonical form of Views depends on this cheap test
/// only.
bool plainly_at_most(const Expr& a, const Expr& b);
inline bool plainly_at_most(const Int& a, const Int& b) {
  return a.is_number() && b.is_number() ? a.value() <= b.value() : plainly_at_most(a.expr(), b.expr());
}

[[noreturn]] void refuse_overflow(std::string_view operation, const Int& a, const Int& b, const Int& c);

/// a + b * c. @throws Error (overflow), named after `operation`.
inline Int plus_product(std::string_view operation, const Int& a, const Int& b, const Int& c) {
  if (!a.is_number() || !b.is_number() || !c.is_number()) return a + b * c;
  std::int64_t out = 0;
  if (!try_mul(b.value(), c.value(), out) || !try_add(a.value(), out, out)) refuse_overflow(operation, a, b, c);
  return out;
}

inline Int smaller(const Int& a, const Int& b) {
  if (plainly_at_most(a, b)) return a;
  return plainly_at_most(b, a) ? b : Int(min(a.expr(), b.expr()));
}
inline Int larger(const Int& a, const Int& b) {
  if (plainly_at_most(b, a)) return a;
  return plainly_at_most(a, b) ? b : Int(max(a.expr(), b.expr()));
}

/// ceil(a / b). @pre b > 0
inline Int ceil_quotient(const Int& a, const Int& b) {
  if (!a.is_number() || !b.is_number()) return ceildiv(a.expr(), b.expr());
  return floor_div(a.value(), b.value()) + (floor_mod(a.value(), b.value()) != 0 ? 1 : 0);
}

/// True iff some size is 0, so that the shape has no index.
inline bool has_no_index(const Ints& shape) {
  for (const Int& size : shape)
    if (size == Int(0)) return true;
  return false;
}

void check_sizes_slowly(std::string_view operation, const Ints& shape);

/// Checks that `shape` is legal. @throws Error, named after `operation`: (shape) for a size that is not (shown to be)
/// at least 0; (overflow) when the number of elements does not fit in 64 bits.
inline void check_sizes(std::string_view operation, const Ints& shape) {
  std::int64_t count = 1;
  for (const Int& size : shape)
    if (!size.is_number() || size.value() <= 0 || !try_mul(count, size.value(), count))
      return check_sizes_slowly(operation, shape);
}

/// The variables in natural order, each once.
std::vector<Variable> in_order(std::vector<Variable> variables);
/// The values in natural order of their variables, each once.
/// @throws Error (domain), named after `operation`, when a variable has two values.
Values in_order(std::string_view operation, Values values);

}  // namespace strata
