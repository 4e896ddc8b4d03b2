// What the files of losses share.
#pragma once

#include "strata/ops/functional.h"

namespace strata::ops {

/// All of the losses, their mean or sum. @throws Error (domain) for `batchmean`
Value reduced_losses(const Value& losses, Reduction how);

/// `x` (floats), NaN where what broadcasts to it is `wrong`, and so are gradients through it.
Value nan_where(const Value& wrong, const Value& x);

}  // namespace strata::ops
