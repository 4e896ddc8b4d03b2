// Indices of nonzero elements: how many there are is known when the mask has been computed.
#pragma once

#include "strata/tensor/tensor.h"

namespace strata {

/// Where a mask holds, in row-major order: as many i64 as there are. Realizes the mask.
Tensor nonzero_indices(const Tensor& mask);

}  // namespace strata
