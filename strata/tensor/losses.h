// What the files of losses share.
#pragma once

#include "strata/tensor/functional.h"

namespace strata {

/// All of the losses, their mean or sum. @throws Error (domain) for `batchmean`
Tensor reduced_losses(const Tensor& losses, Reduction how);

/// `x` (floats), NaN where what broadcasts to it is `wrong`, and so are gradients through it.
Tensor nan_where(const Tensor& wrong, const Tensor& x);

}  // namespace strata
