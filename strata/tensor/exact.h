// What formulas of tensors are made of that lose no digits. All of it computes values alone: gradients are said beside it.
//
// A number is `high + low` where its own dtype has too few places for it. Products of two upper halves are exact, whether or not
// the target rounds a product that goes into a sum.
#pragma once

#include <span>

#include "strata/tensor/tensor.h"

namespace strata {

inline bool is_wide(const Tensor& x) { return x.dtype() == dtypes::float64; }

/// `of_floats` for f32, `of_doubles` for f64.
inline std::span<const double> places_for(const Tensor& x, std::span<const double> of_floats,
                                          std::span<const double> of_doubles) {
  return is_wide(x) ? of_doubles : of_floats;
}

/// The highest power first.
Tensor polynomial(std::span<const double> coefficients, const Tensor& x);

/// x without the lower half of its places. @pre x is f32 or f64 that no gradient passes
Tensor upper_half(const Tensor& x);

/// A number as the sum of one of half the places, or of all, and a small one.
struct TwoParts {
  Tensor high, low;
};
/// x*x; `high` has half the places.
TwoParts square_of(const Tensor& x);
/// a*b. @pre their high parts have half the places
TwoParts product_of_parts(const TwoParts& a, const TwoParts& b);
/// x*factor for a number of more places than x's dtype has.
TwoParts product_with(const Tensor& x, double factor, double factor_low);
/// The two parts of a double in a dtype of 24 places; in f64 `low` is what is given.
std::pair<double, double> parts_for(const Tensor& x, double value, double low);

/// e^(high + low) for a `low` that is small beside `high`.
Tensor exp_of(const TwoParts& x);
/// power * (1 + low) * scale, where `scale` is a power of two.
struct SmallPower {
  Tensor power, low, scale;
};
/// e^exponent, all of whose parts are normal numbers where it is 0 itself. @pre exponent.high <= 0
SmallPower small_power(const TwoParts& exponent);
/// factor * e^(exponent), also where the power alone would be less than the least normal number. @pre exponent.high <= 0
Tensor times_small_exp(const Tensor& factor, const TwoParts& exponent);
/// e^size / 2^count, infinite only where that is. @pre size >= 0, count > 0
Tensor exp_over(const Tensor& size, int count);

}  // namespace strata
