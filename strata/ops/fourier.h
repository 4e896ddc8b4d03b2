// Discrete Fourier transforms of Values. tensor/fourier.h declares the same functions for Tensors and documents pairs,
// dtypes and cost.
#pragma once

#include "strata/ops/value.h"

namespace strata::ops::fft {

#define STRATA_ARRAY Value
#define STRATA_OPERAND Operand
#define STRATA_FFT(result, name, parameters, ...) STRATA_RESULT(result) name(STRATA_DECLARED(parameters));
#include "strata/ops/operations.def"
#undef STRATA_ARRAY
#undef STRATA_OPERAND

}  // namespace strata::ops::fft
