// Helpers that the formulas of losses share (loss.cpp, margin_loss.cpp, ctc.cpp).
#pragma once

#include "strata/ops/functional.h"

namespace strata::ops {

/// The losses unreduced, their mean or their sum, by `how`. @throws Error (domain) for `batchmean`
Value reduced_losses(const Value& losses, Reduction how);

/// `x`, of floats, replaced by NaN where `wrong`, which broadcasts to x, is true; gradients through these elements are NaN, too.
Value nan_where(const Value& wrong, const Value& x);

}  // namespace strata::ops
