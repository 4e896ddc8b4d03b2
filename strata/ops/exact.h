// Double-word arithmetic for accurate formulas (special functions, attention): a number with more significand bits than
// its dtype is a sum high + low (TwoParts). The functions compute values only; formulas add gradients of their own.
//
// "Places" are significand bits: 24 of f32, 53 of f64. The product of two numbers of half the places is exact, so that
// the results do not depend on whether the target fuses multiplications and additions.
#pragma once

#include <span>

#include "strata/ops/value.h"

namespace strata::ops {

inline bool is_wide(const Value& x) { return x.dtype() == dtypes::float64; }

/// The coefficients for the dtype of x: `of_floats` for f32, `of_doubles` for f64.
inline std::span<const double> places_for(const Value& x, std::span<const double> of_floats,
                                          std::span<const double> of_doubles) {
  return is_wide(x) ? of_doubles : of_floats;
}

/// The polynomial with these coefficients, highest power first, by Horner's rule.
Value polynomial(std::span<const double> coefficients, const Value& x);

/// x with the lower half of its places set to 0: 12 places of f32, 26 of f64 remain. @pre x is a detached f32 or f64
Value upper_half(const Value& x);

/// The number high + low. `low` is small beside `high`; some functions guarantee that `high` has half the places.
struct TwoParts {
  Value high, low;
};
/// x*x; `high` has half the places.
TwoParts square_of(const Value& x);
/// x*x*x; `high` is exactly the cube of the upper third of x's places.
TwoParts cube_of(const Value& x);
/// a*b; `high` has half the places. @pre a.high and b.high have half the places
TwoParts product_of_parts(const TwoParts& a, const TwoParts& b);
/// x * (factor + factor_low), a factor with more places than a double.
TwoParts product_with(const Value& x, double factor, double factor_low);
/// The constant value + low as {high, low} in the dtype of x: f32 {float(value), value - float(value)}, f64 {value,
/// low}.
std::pair<double, double> parts_for(const Value& x, double value, double low);

/// e^exponent as (1 + more) * power * scale. `power` and `scale` are powers of two, so that multiplying by them is
/// exact as long as the product is a normal number.
struct SmallPower {
  Value more;  ///< in [-0.3, 0.42]
  Value power;
  double scale;
};
/// e^(exponent.high + exponent.low); exponents so small that the power rounds to 0 are clamped. @pre exponent.high <=
/// 0, and |exponent.low| is small beside 1
SmallPower small_power(const TwoParts& exponent);
/// factor * (1 + more) for a small `more`.
TwoParts with_more(const Value& factor, const Value& more);
/// e^size / 2^count. Infinite only where the quotient itself overflows, although e^size may overflow earlier.
/// @pre size >= 0, count > 0
Value exp_over(const Value& size, int count);

}  // namespace strata::ops
