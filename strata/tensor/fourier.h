// Discrete Fourier transforms of tensors, in the namespace fft and named as in torch.fft. stft() and istft(), of
// overlapping frames, are functions beside them (functional.h).
//
// A complex number is a pair (real part, imaginary part) along a last axis of size 2, as torch.view_as_real() makes it.
// Axes are counted without this one: axis -1 of a tensor of shape (8, 100, 2) has 100 complex numbers. Elements are f32
// or f64; other dtypes are cast to f32. The axes in front are a batch, and may have symbolic sizes; the size of the
// transformed axis is a number.
//
// A transform of n numbers is a few products with small matrices: by the factors of n (Cooley and Tukey), or, where n
// has a prime factor above 61, by a convolution (Bluestein). The work grows as n log n for any n. Transforms of real
// numbers take half of the work where n is even. Gradients are those of the products.
#pragma once

#include "strata/tensor/tensor.h"

namespace strata::fft {

#define STRATA_ARRAY Tensor
#define STRATA_OPERAND Operand
#define STRATA_FFT(result, name, parameters, ...) \
  STRATA_RESULT(result) name(STRATA_DECLARED(parameters), At at = At::current());
#include "strata/ops/operations.def"
#undef STRATA_ARRAY
#undef STRATA_OPERAND

}  // namespace strata::fft
