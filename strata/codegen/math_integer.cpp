// Integer ops whose operands a machine does not take as they come: divisors of 0 and -1, counts from the width on.
#include <bit>
#include <cstdint>
#include <cstdlib>

#include "strata/codegen/formula.h"

namespace strata::formulas {
namespace {

/// The least number of a signed dtype.
std::int64_t least(DType dtype) { return INT64_MIN >> (64 - dtype.bits()); }

bool is_safe_divisor(FormulaValue b) {
  if (b.uop().op() != UOps::CONST) return false;
  return b.uop().constant().as_int() != 0 && b.uop().constant().as_int() != -1;
}
bool is_safe_count(FormulaValue count) {
  if (count.uop().op() != UOps::CONST) return false;
  return count.uop().constant().bits() < static_cast<std::uint64_t>(count.scalar().bits());
}

/// The unsigned dtype of the same width.
DType unsigned_of(DType dtype) {
  switch (dtype.bits()) {
    case 8: return dtypes::uint8;
    case 16: return dtypes::uint16;
    case 32: return dtypes::uint32;
    default: return dtypes::uint64;
  }
}

/// `b`, and 1 where it is 0.
/// NOTE: a maximum, not a WHERE. LLVM, up to 19, may divide by either side of a choice alone, and takes a vector with a 0 in
/// one lane for a division that cannot be, though that lane was not chosen.
FormulaValue nonzero(FormulaValue b) {
  return max(b.bitcast(unsigned_of(b.scalar())), 1).bitcast(b.scalar());
}

/// `b`, and 1 where a / b is not to be had: 0, and -1 below the least number.
FormulaValue safe_divisor(FormulaValue a, FormulaValue b) {
  if (is_safe_divisor(b)) return b;
  if (a.scalar().is_unsigned()) return nonzero(b);
  return where((b == -1) & (a == least(a.scalar())), 1, nonzero(b));
}

/// Whether `b` is a constant by which bytes are not divided as they stand; powers of two are shifts.
/// NOTE: LLVM, up to 19, loses the quotients where there is AVX2, their lanes are moved and then multiplied.
bool is_byte_divisor(FormulaValue b) {
  if (b.scalar().bits() != 8 || !is_safe_divisor(b)) return false;
  return !std::has_single_bit(static_cast<std::uint64_t>(std::abs(b.uop().constant().as_int())));
}

/// a / d towards zero, of bytes: a * (2^16/d + e) / 2^16, where 0 < e <= 1 is too small to reach the next integer.
FormulaValue byte_quotient(FormulaValue a, std::int64_t d) {
  const FormulaValue product = a.cast(dtypes::int32) * (65536 / std::abs(d) + 1);
  const FormulaValue floor = (product >> 16).cast(a.scalar());
  if (a.scalar().is_unsigned()) return floor;
  const FormulaValue quotient =
      floor + (a < 0).cast(a.scalar());  // no product of a negative number is an integer
  return d < 0 ? -quotient : quotient;
}

/// a / d towards zero. @pre d is safe
FormulaValue quotient(FormulaValue a, FormulaValue d) {
  return is_byte_divisor(d) ? byte_quotient(a, d.uop().constant().as_int()) : a.guarded(Ops::IDIV, d);
}
/// a - d * (a / d). @pre d is safe
FormulaValue remainder(FormulaValue a, FormulaValue d) {
  return is_byte_divisor(d) ? a - quotient(a, d) * d : a.guarded(Ops::MOD, d);
}

/// 0 where the divisor is.
FormulaValue unless_zero(FormulaValue b, FormulaValue result) {
  return is_safe_divisor(b) ? result : where(b == 0, 0, result);
}

/// Whether the remainder r of a division towards zero by d has the wrong sign for one towards -infinity.
FormulaValue is_wrong_side(FormulaValue r, FormulaValue d) { return (r != 0) & ((r ^ d) < 0); }

/// Whether the count is below the width, read as unsigned.
FormulaValue is_in_width(FormulaValue count) {
  const std::int64_t width = count.scalar().bits();
  return (count & -width) == 0;
}

}  // namespace

FormulaValue idiv_formula(FormulaValue a, FormulaValue b) {
  return unless_zero(b, quotient(a, safe_divisor(a, b)));
}

FormulaValue mod_formula(FormulaValue a, FormulaValue b) {
  return remainder(a, safe_divisor(a, b));
}

FormulaValue floordiv_formula(FormulaValue a, FormulaValue b) {
  if (a.scalar().is_unsigned()) return idiv_formula(a, b);
  const FormulaValue d = safe_divisor(a, b);
  const FormulaValue q = quotient(a, d);
  return unless_zero(b, where(is_wrong_side(a - q * d, d), q - 1, q));
}

FormulaValue floormod_formula(FormulaValue a, FormulaValue b) {
  if (a.scalar().is_unsigned()) return mod_formula(a, b);
  const FormulaValue d = safe_divisor(a, b);
  const FormulaValue r = remainder(a, d);
  return where(is_wrong_side(r, d), r + d, r);
}

FormulaValue shl_formula(FormulaValue a, FormulaValue count) {
  if (is_safe_count(count)) return a.guarded(Ops::SHL, count);
  const FormulaValue cut = count & (count.scalar().bits() - 1);
  return where(is_in_width(count), a.guarded(Ops::SHL, cut), 0);
}

FormulaValue shr_formula(FormulaValue a, FormulaValue count) {
  if (is_safe_count(count)) return a.guarded(Ops::SHR, count);
  const int last = count.scalar().bits() - 1;
  if (a.scalar().is_signed_int())  // one bit short of the width leaves nothing but the sign
    return a.guarded(Ops::SHR, where(is_in_width(count), count, last));
  return where(is_in_width(count), a.guarded(Ops::SHR, count & last), 0);
}

}  // namespace strata::formulas
