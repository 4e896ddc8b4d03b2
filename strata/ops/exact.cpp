#include "strata/ops/exact.h"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace strata::ops {

namespace {

constexpr double kLn2High = 0x1.62e42fefa38p-1;  // products with small integers are exact
constexpr double kLn2Low = 5.497923018708371e-14;

/// A shift of large exponents: e^x / 2^count == e^(x - by) * (1 + more). `by` is count * ln(2), rounded to the fraction
/// bits that an x from 64 on (f64: from 512 on) has, so that x - by is exact; `more` corrects for this rounding.
struct Move {
  double by, more;
};
Move whole_powers(const Value& x, int count) {
  const double places = is_wide(x) ? 0x1p43 : 0x1p17;
  const double high = count * kLn2High, low = count * kLn2Low;
  const double by = std::round((high + low) * places) / places;
  return {by, std::expm1((by - high) - low)};
}
/// kLn2High and kLn2Low for f32.
constexpr double kLn2HighOfFloats = 0x1.62e4p-1, kLn2LowOfFloats = 1.4286068203094173e-06;

/// e^x = 1 + x + x^2 * p(x), |x| <= ln(2)/2, as strata/codegen/math_exp.cpp has it.
constexpr std::array kExpOfFloats = {0.00139385147, 0.00836881343, 0.0416664258, 0.166665196, 0.5};
constexpr std::array kExp = {2.510866101217517e-08, 2.7631566673752416e-07, 2.7557246149003353e-06,
                             2.480148905998216e-05, 0.00019841269882822727, 0.0013888888947966426,
                             0.008333333333323895,  0.04166666666651129,    0.1666666666666667,
                             0.5000000000000013};

/// x with the last `count` bits of its significand cleared.
Value without(const Value& x, int count) {
  const DType bits = is_wide(x) ? dtypes::int64 : dtypes::int32;
  const std::int64_t low = (std::int64_t{1} << count) - 1;
  return x.bitcast(bits).bitwise_and(~low).bitcast(x.dtype());
}
/// The size from which exp_over() shifts the exponent.
double far(const Value& x) { return is_wide(x) ? 512 : 64; }

}  // namespace

Value polynomial(std::span<const double> coefficients, const Value& x) {
  Value out = x.full_like(coefficients[0]);
  for (const double c : coefficients.subspan(1)) out = out * x + c;
  return out;
}

Value upper_half(const Value& x) { return without(x, is_wide(x) ? 27 : 12); }

TwoParts square_of(const Value& x) {
  const Value upper = upper_half(x), high = upper_half(x * x);
  return {high, (upper * upper - high) + (x - upper) * (x + upper)};
}

TwoParts cube_of(const Value& x) {
  const Value upper = without(x, is_wide(x) ? 36 : 16),
              square = upper * upper;  // a third of the bits: the cube is exact
  return {square * upper, (x - upper) * (x * (x + upper) + square)};
}

TwoParts product_of_parts(const TwoParts& a, const TwoParts& b) {
  const Value high = a.high * b.high, low = a.high * b.low + a.low * (b.high + b.low);
  const Value upper = upper_half(high + low);
  return {upper, (high - upper) + low};
}

std::pair<double, double> parts_for(const Value& x, double value, double low) {
  if (is_wide(x)) return {value, low};
  const double high = static_cast<double>(static_cast<float>(value));
  return {high, value - high};
}

TwoParts product_with(const Value& x, double factor, double factor_low) {
  const int places = is_wide(x) ? 25 : 11;
  const int shift = places - std::ilogb(factor);
  const double upper = std::ldexp(std::floor(std::ldexp(factor, shift)), -shift);
  const Value x_upper = upper_half(x);
  return {x_upper * upper, (x - x_upper) * factor + x_upper * ((factor - upper) + factor_low)};
}

SmallPower small_power(const TwoParts& exponent) {
  const bool wide = is_wide(exponent.high);
  const int places = wide ? 52 : 23, by = wide ? 128 : 64, bias = wide ? 1023 : 127;
  const double least = wide ? -790 : -130;
  const double ln2_high = wide ? kLn2High : kLn2HighOfFloats, ln2_low = wide ? kLn2Low : kLn2LowOfFloats;
  const Value high = exponent.high.lt(least).where(least, exponent.high);
  // The low bits of `shifted` are the biased exponent of 2^(count + by).
  const double shifter = std::ldexp(1.5, places) + bias + by;
  const Value shifted = high * std::numbers::log2e + shifter, count = shifted - shifter;
  const Value rest = ((high - count * ln2_high) - count * ln2_low) + exponent.low;
  const Value more = rest + rest * rest * polynomial(places_for(rest, kExpOfFloats, kExp), rest);
  const Value power = shifted.bitcast(wide ? dtypes::int64 : dtypes::int32).lshift(places).bitcast(high.dtype());
  return {more, power, std::ldexp(1.0, -by)};
}

TwoParts with_more(const Value& factor, const Value& more) {
  const Value part = factor * more, high = factor + part;
  return {high, part - (high - factor)};
}

Value exp_over(const Value& size, int count) {
  const auto [by, more] = whole_powers(size, count);
  const Value is_far = size.ge(far(size));
  const Value power = is_far.where(size - by, size).exp();
  const double most =
      is_wide(size) ? std::numeric_limits<double>::max() : static_cast<double>(std::numeric_limits<float>::max());
  return is_far.where(power + power.minimum(most) * more, power * std::ldexp(1.0, -count));
}

}  // namespace strata::ops
