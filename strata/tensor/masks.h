// Places that a mask names: how many there are is known when the mask has been computed.
#pragma once

#include "strata/tensor/tensor.h"

namespace strata {

/// Where a mask holds, in row-major order: as many i64 as there are. Realizes the mask.
Tensor places_of(const Tensor& mask);

}  // namespace strata
