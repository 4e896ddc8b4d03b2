// Integer ops on operands that hardware does not accept: divisors 0 and -1, and shift counts beyond the width; dot
// products of bytes.
#include <bit>
#include <cstdint>
#include <cstdlib>

#include "strata/codegen/formula.h"

namespace strata::formulas {
namespace {

/// The least number of the signed dtype.
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

/// `b`, and 1 where b is 0.
/// NOTE: a maximum, not a WHERE: LLVM up to 19 may split a division by a select into divisions by each operand, and
/// treats a vector division with a 0 in one lane as undefined, although that lane is not selected.
FormulaValue nonzero(FormulaValue b) { return max(b.bitcast(unsigned_of(b.scalar())), 1).bitcast(b.scalar()); }

/// `b`, and 1 where a / b is undefined: b == 0, and b == -1 with the least number as a.
FormulaValue safe_divisor(FormulaValue a, FormulaValue b) {
  if (is_safe_divisor(b)) return b;
  if (a.scalar().is_unsigned()) return nonzero(b);
  return where((b == -1) & (a == least(a.scalar())), 1, nonzero(b));
}

/// True iff `b` is a constant byte divisor for which byte_quotient() is used; powers of two become shifts anyway.
/// NOTE: LLVM up to 19 miscompiles byte divisions with AVX2 where the lanes of the quotients are permuted and then
/// multiplied.
bool is_byte_divisor(FormulaValue b) {
  if (b.scalar().bits() != 8 || !is_safe_divisor(b)) return false;
  return !std::has_single_bit(static_cast<std::uint64_t>(std::abs(b.uop().constant().as_int())));
}

/// a / d, truncated, for bytes: a * (2^16/d + e) / 2^16, where 0 < e <= 1 is too small to change the integer part.
FormulaValue byte_quotient(FormulaValue a, std::int64_t d) {
  const FormulaValue product = a.cast(dtypes::int32) * (65536 / std::abs(d) + 1);
  const FormulaValue floor = (product >> 16).cast(a.scalar());
  if (a.scalar().is_unsigned()) return floor;
  const FormulaValue quotient =
      floor + (a < 0).cast(a.scalar());  // for a negative a the product is never a whole number: ceil = floor + 1
  return d < 0 ? -quotient : quotient;
}

/// a / d, truncated. @pre d is safe
FormulaValue quotient(FormulaValue a, FormulaValue d) {
  return is_byte_divisor(d) ? byte_quotient(a, d.uop().constant().as_int()) : a.guarded(Ops::IDIV, d);
}
/// a - d * (a / d). @pre d is safe
FormulaValue remainder(FormulaValue a, FormulaValue d) {
  return is_byte_divisor(d) ? a - quotient(a, d) * d : a.guarded(Ops::MOD, d);
}

/// `result`, and 0 where the divisor b is 0.
FormulaValue unless_zero(FormulaValue b, FormulaValue result) {
  return is_safe_divisor(b) ? result : where(b == 0, 0, result);
}

/// True where the remainder r of the truncated division by d is not that of the floor division: r != 0 and d has the
/// other sign.
FormulaValue is_wrong_side(FormulaValue r, FormulaValue d) { return (r != 0) & ((r ^ d) < 0); }

/// True where the count, read as unsigned, is below the width.
FormulaValue is_in_width(FormulaValue count) {
  const std::int64_t width = count.scalar().bits();
  return (count & -width) == 0;
}

}  // namespace

FormulaValue idiv_formula(FormulaValue a, FormulaValue b) { return unless_zero(b, quotient(a, safe_divisor(a, b))); }

FormulaValue mod_formula(FormulaValue a, FormulaValue b) { return remainder(a, safe_divisor(a, b)); }

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
  if (a.scalar().is_signed_int())  // a shift by width - 1 leaves copies of the sign
    return a.guarded(Ops::SHR, where(is_in_width(count), count, last));
  return where(is_in_width(count), a.guarded(Ops::SHR, count & last), 0);
}

FormulaValue dot4_formula(FormulaValue a, FormulaValue b, FormulaValue c) {
  FormulaValue out = (a & 255) * ((b << 24) >> 24) + c;
  for (const int shift : {8, 16}) out = out + ((a >> shift) & 255) * ((b << (24 - shift)) >> 24);
  return out + ((a >> 24) & 255) * (b >> 24);
}

FormulaValue dot2_formula(FormulaValue a, FormulaValue b, FormulaValue c) {
  const auto high = [](FormulaValue words) { return (words & -65536).bitcast(dtypes::float32); };
  const auto low = [](FormulaValue words) { return (words << 16).bitcast(dtypes::float32); };
  return mulacc(low(a), low(b), mulacc(high(a), high(b), c));
}

}  // namespace strata::formulas
