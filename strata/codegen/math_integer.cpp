// Integer ops whose operands a machine does not take as they come: divisors of 0 and -1, counts from the width on.
#include <cstdint>

#include "strata/codegen/formula.h"

namespace strata::formulas {
namespace {

/// The least number of a signed dtype.
std::int64_t least(DType dtype) { return INT64_MIN >> (64 - dtype.bits()); }

bool is_safe_divisor(Value b) {
  if (b.uop().op() != UOps::CONST) return false;
  return b.uop().constant().as_int() != 0 && b.uop().constant().as_int() != -1;
}
bool is_safe_count(Value count) {
  if (count.uop().op() != UOps::CONST) return false;
  return count.uop().constant().bits() < static_cast<std::uint64_t>(count.scalar().bits());
}

/// `b`, and 1 where a / b is not to be had: 0, and -1 below the least number.
Value safe_divisor(Value a, Value b) {
  if (is_safe_divisor(b)) return b;
  Value unsafe = b == 0;
  if (a.scalar().is_signed_int()) unsafe = unsafe | ((b == -1) & (a == least(a.scalar())));
  return where(unsafe, 1, b);
}

/// 0 where the divisor is.
Value unless_zero(Value b, Value result) {
  return is_safe_divisor(b) ? result : where(b == 0, 0, result);
}

/// Whether the remainder r of a division towards zero by d has the wrong sign for one towards -infinity.
Value is_wrong_side(Value r, Value d) { return (r != 0) & ((r ^ d) < 0); }

/// Whether the count is below the width, read as unsigned.
Value is_in_width(Value count) {
  const std::int64_t width = count.scalar().bits();
  return (count & -width) == 0;
}

}  // namespace

Value idiv_formula(Value a, Value b) {
  return unless_zero(b, a.guarded(Ops::IDIV, safe_divisor(a, b)));
}

Value mod_formula(Value a, Value b) { return a.guarded(Ops::MOD, safe_divisor(a, b)); }

Value floordiv_formula(Value a, Value b) {
  if (a.scalar().is_unsigned()) return idiv_formula(a, b);
  const Value d = safe_divisor(a, b);
  const Value q = a.guarded(Ops::IDIV, d);
  return unless_zero(b, where(is_wrong_side(a - q * d, d), q - 1, q));
}

Value floormod_formula(Value a, Value b) {
  if (a.scalar().is_unsigned()) return mod_formula(a, b);
  const Value d = safe_divisor(a, b);
  const Value r = a.guarded(Ops::MOD, d);
  return where(is_wrong_side(r, d), r + d, r);
}

Value shl_formula(Value a, Value count) {
  if (is_safe_count(count)) return a.guarded(Ops::SHL, count);
  const Value cut = count & (count.scalar().bits() - 1);
  return where(is_in_width(count), a.guarded(Ops::SHL, cut), 0);
}

Value shr_formula(Value a, Value count) {
  if (is_safe_count(count)) return a.guarded(Ops::SHR, count);
  const int last = count.scalar().bits() - 1;
  if (a.scalar().is_signed_int())  // one bit short of the width leaves nothing but the sign
    return a.guarded(Ops::SHR, where(is_in_width(count), count, last));
  return where(is_in_width(count), a.guarded(Ops::SHR, count & last), 0);
}

}  // namespace strata::formulas
