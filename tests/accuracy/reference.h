// True values of functions, right to about the 64 bits of a long double: by libm, and by MPFR where libm has none or
// loses digits.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

namespace strata::test {

using Real = long double;

constexpr Real kRealNaN = std::numeric_limits<Real>::quiet_NaN();
constexpr Real kRealInf = std::numeric_limits<Real>::infinity();

Real true_erfinv(Real x);
Real true_ndtr(Real x);
Real true_lgamma(Real x);
Real true_digamma(Real x);
/// Below 0, 4 ULP of what the function is at 1 - x, of which the reflection takes the difference with a logarithm or a
/// cotangent: that is between two poles, where the function is 0; in units of half an epsilon.
Real reflected_lgamma(Real x);
Real reflected_digamma(Real x);
/// @pre order >= 1, x > -1000
Real true_polygamma(int order, Real x);
/// The modified Bessel function, over exp(|x|) where `is_scaled`.
Real true_bessel(int order, bool is_scaled, Real x);
Real true_sinc(Real x);
Real true_logaddexp(Real x, Real y);
Real true_logaddexp2(Real x, Real y);
Real true_softplus(Real x);
Real true_sigmoid(Real x);
Real true_gelu(Real x);
Real true_gelu_tanh(Real x);
Real true_mish(Real x);
Real true_tanhshrink(Real x);
Real true_ldexp(Real x, Real y);
Real true_xlogy(Real x, Real y);
Real true_xlog1py(Real x, Real y);

}  // namespace strata::test
