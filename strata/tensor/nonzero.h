// The indices at which a mask is true, for operations whose result shape depends on elements (nonzero, masked_select,
// masks in brackets). The mask is realized, because its number of true elements becomes a size.
#pragma once

#include "strata/tensor/tensor.h"

namespace strata {

/// The row-major flat indices at which `mask`, of bools, is true, ascending: shape (count,), i64. Realizes the mask.
/// @throws Error (shape) where the mask has a symbolic size
Tensor nonzero_indices(const Tensor& mask);

}  // namespace strata
