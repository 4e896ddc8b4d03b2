// LOG2, LOG, LOG1P and POW: the logarithm as exponent plus a polynomial of the significand. The coefficients are
// printed by tests/codegen/remez.py.
#include <cstdint>
#include <limits>
#include <span>

#include "strata/codegen/formula.h"

namespace strata::formulas {
namespace {

/// The constants of the formulas for one dtype.
struct LogNumbers {
  double smallest;           ///< the smallest normal number
  double itself;             ///< log(1 + a) rounds to a for a smaller |a|
  std::int64_t root_bits;    ///< the bits of sqrt(1/2)
  double ln2_high, ln2_low;  ///< their sum is ln(2); ln2_high times any exponent is exact
  double most_exponent;      ///< x^y with a larger |y| is 0, 1 or infinite
  double log2e_high,
      log2e_low;                 ///< their sum is 2 / (3 * ln(2)); log2e_high has half the significand bits
  double least_log2, most_log2;  ///< 2^a is 0 below least_log2 and infinite above most_log2
  std::span<const double> log;   ///< f32: log(1 + x) = x - x^2/2 + x^3 * p(x); f64: atanh(x) = x + x^3 * p(x^2)
  std::span<const double> pow;   ///< atanh(x) = x + x^3/3 + x^5 * p(x^2)
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLog2ERest = 0.4426950408889634;  // log2(e) - 1
constexpr double kTwoThirdsLog2E = 0.9617966939259756;

// clang-format off
constexpr double kLogF32[] = {0.333333164, -0.250008106, 0.20002301, -0.16624558, 0.141809568, -0.131285205,
                              0.128828362, -0.078614369};
constexpr double kPowF32[] = {0.200000763, 0.142735466, 0.117097579};
constexpr double kLogF64[] = {0.33333333333333676, 0.19999999999705206, 0.1428571437163471, 0.11111099243388314,
                              0.09091784347225684, 0.0765697022128975, 0.07398522399623338};
constexpr double kPowF64[] = {0.1999999999999999, 0.14285714285721926, 0.11111111108892659, 0.09090909422339791,
                              0.07692279187295156, 0.06668133390737913, 0.05837865536828406, 0.0599109458409738};
// clang-format on

const LogNumbers& log_numbers(FormulaValue x) {
  static const LogNumbers f32{
      .smallest = 0x1p-126,
      .itself = 0x1p-27,
      .root_bits = 0x3F3504F3,
      .ln2_high = 0x1.62e4p-1,
      .ln2_low = 1.4286068203094173e-06,
      .most_exponent = 0x1p34,
      .log2e_high = 0x1.ec6p-1,
      .log2e_low = 0.0001267720509756049,
      .least_log2 = -151,
      .most_log2 = 128,
      .log = kLogF32,
      .pow = kPowF32,
  };
  static const LogNumbers f64{
      .smallest = 0x1p-1022,
      .itself = 0x1p-56,
      .root_bits = 0x3FE6A09E667F3BCD,
      .ln2_high = 0x1.62e42fefa38p-1,
      .ln2_low = 5.497923018708371e-14,
      .most_exponent = 0x1p66,
      .log2e_high = 0x1.ec709d8p-1,
      .log2e_low = 7.872699542894897e-09,
      .least_log2 = -1076,
      .most_log2 = 1024,
      .log = kLogF64,
      .pow = kPowF64,
  };
  return x.scalar() == dtypes::float32 ? f32 : f64;
}

/// x = 2^exponent * significand, with the significand from sqrt(1/2) to sqrt(2).
struct Parts {
  FormulaValue exponent;  ///< an integer, of x's dtype
  FormulaValue significand;
};

/// @pre x is a normal number; the parts of other numbers are unspecified
Parts parts_of_normal(FormulaValue x) {
  const FloatFormat& format = format_of(x.dtype());
  const FormulaValue bits = signed_bits_of(x);
  const FormulaValue n = (bits - log_numbers(x).root_bits) >> format.fraction_bits;
  const FormulaValue significand = (bits - (n << format.fraction_bits)).bitcast(x.scalar());
  return {(n + format.shifter_bits).bitcast(x.scalar()) - format.shifter, significand};
}

/// The parts of a normal or subnormal number.
Parts parts_of(FormulaValue x) {
  const FloatFormat& format = format_of(x.dtype());
  const double up = format.dtype == dtypes::float32 ? 0x1p23 : 0x1p52;
  const FormulaValue small = x < log_numbers(x).smallest;
  const Parts scaled = parts_of_normal(where(small, x * up, x));
  const FormulaValue offset = where(small, -static_cast<double>(format.fraction_bits), x.like(0.0));
  return {scaled.exponent + offset, scaled.significand};
}

/// The rest in log(1 + f) = f + rest; it is small beside f.
FormulaValue log_rest(FormulaValue f) {
  const LogNumbers& k = log_numbers(f);
  const FormulaValue half_square = f * f * 0.5;
  if (f.scalar() == dtypes::float32) return mulacc(polynomial(f, k.log), f * f * f, -half_square);
  // 2*atanh(s) with s = f / (2 + f), where 2*s = f - f^2/2 + s*f^2/2.
  const FormulaValue s = f / (f + 2.0);
  const FormulaValue square = s * s;
  const FormulaValue series = square * polynomial(square, k.log);
  return mulacc(s, half_square + (series + series), -half_square);
}

/// `result` for a positive finite x, and the results of C's log for x that is 0, negative, infinite or NaN.
FormulaValue with_log_edges(FormulaValue x, FormulaValue result) {
  const FormulaValue positive = where(x < kInfinity, result, x);
  return where(x > 0.0, positive, where(x == 0.0, -kInfinity, x.like(kNan)));
}

/// n * ln(2) + log(1 + f)
FormulaValue log_of(FormulaValue n, FormulaValue f) {
  const LogNumbers& k = log_numbers(f);
  return mulacc(n, k.ln2_high, f + mulacc(n, k.ln2_low, log_rest(f)));
}

/// The number high + low, where `low` is small.
struct Pair {
  FormulaValue high, low;
};

/// log2 of the number with the parts x, with more digits than the dtype has. `high` has half the significand bits.
Pair log2_pair(const Parts& x) {
  const LogNumbers& k = log_numbers(x.significand);
  // s = (m - 1) / (m + 1): the division gives the leading digits, its remainder the others (s_low).
  const FormulaValue m = x.significand;
  const FormulaValue above = m - 1.0, below = m + 1.0;
  const FormulaValue s = above / below;
  const FormulaValue s_high = upper_half(s), below_high = upper_half(below);
  const FormulaValue below_low = m - (below_high - 1.0);
  const FormulaValue s_low = ((above - s_high * below_high) - s_high * below_low) / below;
  // 3 * atanh(s) / s = 3 + s^2 + 3 * s^4 * p(s^2)
  const FormulaValue square = s * s;
  const FormulaValue tail = square * square * (polynomial(square, k.pow) * 3.0) + s_low * (s_high + s);
  const FormulaValue square_high = s_high * s_high;
  const FormulaValue sum_high = upper_half(square_high + 3.0 + tail);
  const FormulaValue sum_low = tail - ((sum_high - 3.0) - square_high);
  // multiply by s, and by 2 / (3 * ln(2))
  const FormulaValue product = s_high * sum_high;
  const FormulaValue product_low = s_low * sum_high + sum_low * s;
  const FormulaValue p_high = upper_half(product + product_low);
  const FormulaValue p_low = product_low - (p_high - product);
  const FormulaValue z_high = p_high * k.log2e_high;
  const FormulaValue z_low = p_high * k.log2e_low + p_low * kTwoThirdsLog2E;
  const FormulaValue high = upper_half(z_high + z_low + x.exponent);
  return {high, z_low - ((high - x.exponent) - z_high)};
}

/// 2^(y * log). @pre |y| <= most_exponent
FormulaValue exp2_of_product(FormulaValue y, const Pair& log) {
  const LogNumbers& k = log_numbers(y);
  const FormulaValue y_high = upper_half(y);
  const FormulaValue high = y_high * log.high;
  const FormulaValue low = (y - y_high) * log.high + y * log.low;
  const double shift = shifter(y.dtype(), 0);
  const FormulaValue n = (min(max(high + low, k.least_log2), k.most_log2) + shift) - shift;
  const FormulaValue rest = min(max((high - n) + low, -1.0), 1.0);
  const FormulaValue shifted = n + shifter(y.dtype(), 2 * format_of(y.dtype()).bias);
  return scale(exp2_fraction(rest), shifted);
}

}  // namespace

FormulaValue log_formula(FormulaValue x) {
  const Parts parts = parts_of(x);
  return with_log_edges(x, log_of(parts.exponent, parts.significand - 1.0));
}

FormulaValue log2_formula(FormulaValue x) {
  // (f + rest) * log2(e), with log2(e) = 1 + kLog2ERest
  const Parts parts = parts_of(x);
  const FormulaValue f = parts.significand - 1.0;
  const FormulaValue rest = log_rest(f);
  const FormulaValue fraction = mulacc(f, kLog2ERest, mulacc(rest, kLog2ERest, rest));
  return with_log_edges(x, parts.exponent + (f + fraction));
}

FormulaValue log1p_formula(FormulaValue x) {
  const LogNumbers& k = log_numbers(x);
  const FloatFormat& format = format_of(x.dtype());
  // u + lost == 1 + x
  const FormulaValue u = x + 1.0;
  const FormulaValue other = u - x;
  const FormulaValue lost = (x - (u - other)) + (1.0 - other);
  const Parts parts = parts_of_normal(u);
  // From 2^64 on the lost part is below the last place of the result, so that its factor is limited there.
  const FormulaValue down = min(parts.exponent, 64.0) + shifter(x.dtype(), 0);
  const FormulaValue power = ((format.bias - signed_bits_of(down)) << format.fraction_bits).bitcast(x.scalar());
  const FormulaValue f = mulacc(lost, power, parts.significand - 1.0);
  return where(abs(x) < k.itself, x, with_log_edges(u, log_of(parts.exponent, f)));
}

FormulaValue pow_formula(FormulaValue x, FormulaValue y) {
  const LogNumbers& k = log_numbers(x);
  const FormulaValue size = abs(x);
  const FormulaValue bounded = min(max(y, -k.most_exponent), k.most_exponent);
  FormulaValue result = exp2_of_product(bounded, log2_pair(parts_of(size)));
  // A negative base needs a whole exponent; an odd exponent keeps the sign.
  const FormulaValue half = y * 0.5;
  const FormulaValue whole = trunc(y) == y;
  const FormulaValue is_odd = whole & (trunc(half) != half);
  result = where((x < 0.0) & ~whole, kNan, result);
  const FormulaValue shrinks = (size == 0.0) ^ (y < 0.0);
  const FormulaValue edge = where(shrinks, 0.0, x.like(kInfinity));
  result = where((size == 0.0) | (size == kInfinity), edge, result);
  result = flip_sign(result, where(is_odd, sign_of(x), 0));
  result = where(is_nan(x) | is_nan(y), kNan, result);
  return where((x == 1.0) | (y == 0.0), 1.0, result);
}

}  // namespace strata::formulas
