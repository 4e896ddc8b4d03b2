#include "strata/tensor/exact.h"

#include <cmath>
#include <limits>
#include <utility>

namespace strata {

namespace {

constexpr double kLn2High = 0x1.62e42fefa38p-1;  // times small integers it is exact
constexpr double kLn2Low = 5.497923018708371e-14;

/// count * ln(2) to as many places as arguments from 64 on (f64: from 512 on) have behind the point, and how much more
/// e^that is than 2^count, as a part of it: where such an argument is moved by `by`, nothing is rounded.
struct Move {
  double by, more;
};
Move whole_powers(const Tensor& x, int count) {
  const double places = is_wide(x) ? 0x1p43 : 0x1p17;
  const double high = count * kLn2High, low = count * kLn2Low;
  const double by = std::round((high + low) * places) / places;
  return {by, std::expm1((by - high) - low)};
}
/// As the nearest number and what that lacks.
TwoParts rounded_sum(const TwoParts& x) {
  const Tensor high = x.high + x.low;
  return {high, (x.high - high) + x.low};
}
/// From where on arguments are moved.
double far(const Tensor& x) { return is_wide(x) ? 512 : 64; }

}  // namespace

Tensor polynomial(std::span<const double> coefficients, const Tensor& x) {
  Tensor out = x.full_like(coefficients[0]);
  for (const double c : coefficients.subspan(1)) out = out * x + c;
  return out;
}

Tensor upper_half(const Tensor& x) {
  const DType bits = is_wide(x) ? dtypes::int64 : dtypes::int32;
  const std::int64_t low = (std::int64_t{1} << (is_wide(x) ? 27 : 12)) - 1;
  return x.bitcast(bits).bitwise_and(~low).bitcast(x.dtype());
}

TwoParts square_of(const Tensor& x) {
  const Tensor upper = upper_half(x), high = upper_half(x * x);
  return {high, (upper * upper - high) + (x - upper) * (x + upper)};
}

TwoParts product_of_parts(const TwoParts& a, const TwoParts& b) {
  const Tensor high = a.high * b.high, low = a.high * b.low + a.low * (b.high + b.low);
  const Tensor upper = upper_half(high + low);
  return {upper, (high - upper) + low};
}

std::pair<double, double> parts_for(const Tensor& x, double value, double low) {
  if (is_wide(x)) return {value, low};
  const double high = static_cast<double>(static_cast<float>(value));
  return {high, value - high};
}

TwoParts product_with(const Tensor& x, double factor, double factor_low) {
  const int places = is_wide(x) ? 25 : 11;
  const int shift = places - std::ilogb(factor);
  const double upper = std::ldexp(std::floor(std::ldexp(factor, shift)), -shift);
  const Tensor x_upper = upper_half(x);
  return {x_upper * upper, (x - x_upper) * factor + x_upper * ((factor - upper) + factor_low)};
}

Tensor exp_of(const TwoParts& x) {
  const TwoParts sum = rounded_sum(x);
  const Tensor power = sum.high.exp();
  return power + power * sum.low;
}

SmallPower small_power(const TwoParts& exponent) {
  constexpr int kPowers = 64;
  const auto [by, more] = whole_powers(exponent.high, kPowers);
  const TwoParts sum = rounded_sum(exponent);
  const Tensor is_far = sum.high.lt(-far(sum.high));
  return {is_far.where(sum.high + by, sum.high).exp(), is_far.where(sum.low - more, sum.low),
          is_far.where(std::ldexp(1.0, -kPowers), sum.high.ones_like())};
}

Tensor times_small_exp(const Tensor& factor, const TwoParts& exponent) {
  const auto [power, low, scale] = small_power(exponent);
  return factor * (power + power * low) * scale;
}

Tensor exp_over(const Tensor& size, int count) {
  const auto [by, more] = whole_powers(size, count);
  const Tensor is_far = size.ge(far(size));
  const Tensor power = is_far.where(size - by, size).exp();
  const double most = is_wide(size) ? std::numeric_limits<double>::max()
                                    : static_cast<double>(std::numeric_limits<float>::max());
  return is_far.where(power + power.minimum(most) * more, power * std::ldexp(1.0, -count));
}

}  // namespace strata
