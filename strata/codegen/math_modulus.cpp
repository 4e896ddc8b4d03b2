// MOD of floats, exact for any quotient. Where the quotient q is small, which is usual, its products with the halves of
// y are exact, and so is x - q*y. Else, with x = a * 2^ea and y = m * 2^eb, where a and m are integers of the
// significand's size, the remainder is (a * 2^n mod m) * 2^eb for n = ea - eb. 2^n mod m takes a squaring modulo m for
// each bit of n, so that f64, whose quotients have up to 2,098 bits, needs eight products modulo m.
#include <cstdint>
#include <limits>

#include "strata/codegen/formula.h"

namespace strata::formulas {
namespace {

/// The modulus of product_modulo(): an integer of at most fraction_bits + 1 bits, as integer and as float.
struct Modulus {
  FormulaValue integer;  ///< unsigned
  FormulaValue real;
};

FormulaValue real_of(FormulaValue integer, const FloatFormat& format) {
  return integer.bitcast(format.sint).cast(format.dtype);
}

/// a * b modulo m, in wrapping integers. The quotient is computed in floats, rounded twice and truncated; it is at most
/// 4 above and 5 below the true quotient, which the final minima correct.
/// @pre a * b / m < 2^(fraction_bits + 2); a and b < 2^(fraction_bits + 3), and exact as floats
FormulaValue product_modulo(FormulaValue a, FormulaValue b, const Modulus& m, const FloatFormat& format) {
  const FormulaValue ratio = real_of(a, format) * real_of(b, format) / m.real;
  const FormulaValue quotient = ratio.cast(format.sint).bitcast(format.uint);
  FormulaValue rest = a * b - quotient * m.integer + m.integer * 4;  // between 0 and 9 * m
  for (const int times : {8, 4, 2, 1}) rest = min(rest, rest - m.integer * times);
  return rest;
}

/// The biased exponent of |x|, given its bits; of a subnormal number that of the least normal one.
FormulaValue exponent_of(FormulaValue size, const FloatFormat& format) { return max(size >> format.fraction_bits, 1); }
/// |x| over 2^(exponent - bias - fraction_bits).
FormulaValue integer_of(FormulaValue size, FormulaValue exponent, const FloatFormat& format) {
  return size - ((exponent - 1) << format.fraction_bits);
}

/// |x| modulo |y| where q = |x| / |y|, rounded to an integer, has fewer bits than the halves of |y|. The rest is then
/// at most half of |y|, so that each difference is exact.
FormulaValue modulo_of_near(FormulaValue size, FormulaValue by, FormulaValue ratio) {
  const FormulaValue q = round(ratio), high = upper_half(by);
  const FormulaValue rest = mulacc(q, -(by - high), mulacc(q, -high, size));
  return where(rest < 0.0, rest + by, rest);
}

/// |x| modulo |y| with the sign of x, for any quotient.
FormulaValue modulo_of_far(FormulaValue x, FormulaValue y) {
  const FloatFormat& format = format_of(x.dtype());
  const FormulaValue a = bits_of(abs(x)), b = bits_of(abs(y));
  const FormulaValue exponent = exponent_of(a, format), unit = exponent_of(b, format);
  const FormulaValue integer = max(integer_of(b, unit, format), 1);
  const Modulus m{integer, real_of(integer, format)};
  const FormulaValue n = max(exponent, unit) - unit;
  // The upper bits of n give a first power of at most 2^31 or 2^15. Each further bit squares the power, and doubles it
  // if it is set.
  const int low_bits = format.dtype == dtypes::float64 ? 6 : 4;
  const FormulaValue one = a.like(1);
  FormulaValue power = product_modulo(one.guarded(Ops::SHL, n >> low_bits), one, m, format);
  for (int bit = low_bits - 1; bit >= 0; --bit)
    power = product_modulo(power, power.guarded(Ops::SHL, (n >> bit) & 1), m, format);
  const FormulaValue rest = product_modulo(power, integer_of(a, exponent, format), m, format);
  const FormulaValue scaled =
      scale(real_of(rest, format), (unit + (format.bias - format.fraction_bits)).bitcast(x.scalar()));
  const FormulaValue size = where(a < b, abs(x), scaled);
  const std::uint64_t infinity = static_cast<std::uint64_t>(2 * format.bias + 1) << format.fraction_bits;
  const FormulaValue is_none = (b == 0) | (a > infinity - 1) | (b > infinity);
  return where(is_none, std::numeric_limits<double>::quiet_NaN(), flip_sign(size, sign_of(x)));
}

}  // namespace

FormulaValue float_mod_formula(FormulaValue x, FormulaValue y) {
  const bool is_f32 = x.scalar() == dtypes::float32;
  const double most_ratio = is_f32 ? 0x1p11 : 0x1p25, most = is_f32 ? 0x1p126 : 0x1p1022;  // q * y does not overflow
  const FormulaValue size = abs(x), by = abs(y), ratio = size / by;
  const FormulaValue is_near = (ratio < most_ratio) & (size < most) & (by < most);
  return seldom(~is_near, modulo_of_far(x, y), flip_sign(modulo_of_near(size, by, ratio), sign_of(x)));
}

}  // namespace strata::formulas
