// Helpers that the formulas of losses share (loss.cpp, margin_loss.cpp, ctc.cpp).
#pragma once

#include "strata/ops/functional.h"

namespace strata::ops {

/// By `how`: `losses` itself for none, the mean or the sum of all elements (a scalar). @throws Error (domain) for
/// batchmean, which kl_div() computes itself
Value reduced_losses(const Value& losses, Reduction how);

/// `x`, of floats, with NaN where `wrong`, a bool that broadcasts to x, is true, e.g. where a label is out of range.
/// The gradients of x at these elements are NaN, too. Other elements and their gradients are those of x.
Value nan_where(const Value& wrong, const Value& x);

}  // namespace strata::ops
