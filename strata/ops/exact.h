// What formulas of tensors are made of that lose no digits. All of it computes values alone: gradients are said beside it.
//
// A number is `high + low` where its own dtype has too few places for it. Products of two upper halves are exact, whether or not
// the target rounds a product that goes into a sum.
#pragma once

#include <span>

#include "strata/ops/value.h"

namespace strata::ops {

inline bool is_wide(const Value& x) { return x.dtype() == dtypes::float64; }

/// `of_floats` for f32, `of_doubles` for f64.
inline std::span<const double> places_for(const Value& x, std::span<const double> of_floats,
                                          std::span<const double> of_doubles) {
  return is_wide(x) ? of_doubles : of_floats;
}

/// The highest power first.
Value polynomial(std::span<const double> coefficients, const Value& x);

/// x without the lower half of its places. @pre x is f32 or f64 that no gradient passes
Value upper_half(const Value& x);

/// A number as the sum of one of half the places, or of all, and a small one.
struct TwoParts {
  Value high, low;
};
/// x*x; `high` has half the places.
TwoParts square_of(const Value& x);
/// x*x*x, where `high` is nearly all of it.
TwoParts cube_of(const Value& x);
/// a*b. @pre their high parts have half the places
TwoParts product_of_parts(const TwoParts& a, const TwoParts& b);
/// x*factor for a number of more places than x's dtype has.
TwoParts product_with(const Value& x, double factor, double factor_low);
/// The two parts of a double in a dtype of 24 places; in f64 `low` is what is given.
std::pair<double, double> parts_for(const Value& x, double value, double low);

/// e^exponent as (1 + more) * power * scale, of which `power` and `scale` are powers of two: products with them are exact, but for
/// those that are no normal numbers.
struct SmallPower {
  Value more;  ///< from -0.3 to 0.42
  Value power;
  double scale;
};
/// e^exponent, or what rounds to 0 as that does. @pre exponent.high <= 0, exponent.low is small beside 1
SmallPower small_power(const TwoParts& exponent);
/// factor * (1 + more), for a small `more`.
TwoParts with_more(const Value& factor, const Value& more);
/// e^size / 2^count, infinite only where that is. @pre size >= 0, count > 0
Value exp_over(const Value& size, int count);

}  // namespace strata::ops
