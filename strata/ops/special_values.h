// Special functions without gradients. Each takes a detached f32 or f64 and returns a Value of its shape and dtype;
// special.cpp adds casts and gradients. Results at poles and outside of the domain are PyTorch's, e.g. lgamma(-1) =
// inf, erfinv(1) = inf, erfinv(2) = NaN. docs/accuracy.md bounds the errors.
#pragma once

#include "strata/ops/exact.h"

namespace strata::ops {

// Functions related to erf (special_error.cpp). ndtr(x) is the standard normal distribution function; gelu(x) is x *
// ndtr(x), accurate also where ndtr(x) is subnormal.
Value erfc_value(const Value& x);
Value erfinv_value(const Value& x);
Value ndtr_value(const Value& x);
Value gelu_value(const Value& x);

// log|gamma| and its derivatives (special_gamma.cpp): digamma is the first one, polygamma of order n the one of order n
// + 1.
Value lgamma_value(const Value& x);
Value digamma_value(const Value& x);
/// @pre 1 <= order <= 60
Value polygamma_value(const Value& x, int order);

// Modified Bessel functions, and sinc(x) = sin(pi*x) / (pi*x) (special_bessel.cpp).
/// I0(x) or I1(x), divided by e^|x| with `is_scaled`. @pre order is 0 or 1
Value bessel_value(const Value& x, int order, bool is_scaled);
Value sinc_value(const Value& x);

}  // namespace strata::ops
