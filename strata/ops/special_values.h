// Values of special functions, in the precision of their argument, f32 or f64, which no gradient passes: special.cpp says their
// slopes.
#pragma once

#include "strata/ops/exact.h"

namespace strata::ops {

// The error function's relatives (special_error.cpp).
Value erfc_value(const Value& x);
Value erfinv_value(const Value& x);
Value ndtr_value(const Value& x);
Value gelu_value(const Value& x);

// The gamma function's (special_gamma.cpp).
Value lgamma_value(const Value& x);
Value digamma_value(const Value& x);
/// @pre 1 <= order <= 60
Value polygamma_value(const Value& x, int order);

// Bessel's, and sinc (special_bessel.cpp).
/// I0 or I1, over e^|x| where `is_scaled`. @pre order is 0 or 1
Value bessel_value(const Value& x, int order, bool is_scaled);
Value sinc_value(const Value& x);

}  // namespace strata::ops
