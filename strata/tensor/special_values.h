// Values of special functions, in the precision of their argument, f32 or f64, which no gradient passes: special.cpp says their
// slopes.
#pragma once

#include "strata/tensor/exact.h"

namespace strata {

// The error function's relatives (special_error.cpp).
Tensor erfc_value(const Tensor& x);
Tensor erfinv_value(const Tensor& x);
Tensor ndtr_value(const Tensor& x);
Tensor gelu_value(const Tensor& x);

// The gamma function's (special_gamma.cpp).
Tensor lgamma_value(const Tensor& x);
Tensor digamma_value(const Tensor& x);
/// @pre 1 <= order <= 60
Tensor polygamma_value(const Tensor& x, int order);

// Bessel's, and sinc (special_bessel.cpp).
/// I0 or I1, over e^|x| where `is_scaled`. @pre order is 0 or 1
Tensor bessel_value(const Tensor& x, int order, bool is_scaled);
Tensor sinc_value(const Tensor& x);

}  // namespace strata
