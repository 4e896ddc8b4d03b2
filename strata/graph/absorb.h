// Movement ops absorbed into what is below them: PAD of a LOAD, for example, is a LOAD whose ShapeTracker has a mask,
// and RESHAPE of a RESHAPE is one RESHAPE.
#pragma once

#include "strata/graph/lazy_op.h"

namespace strata {

/// True iff absorbed() has something for `n`, a movement op, on `source`, which is or replaces its source: a LOAD or
/// CONST; or a RESHAPE below a RESHAPE.
bool is_absorbed(const LazyOp& n, const LazyOp& source);

/// The values of `n` on `source`, without `n`: the LOAD or CONST with the ShapeTracker of both; one RESHAPE, or nothing
/// where the shape is that of what is below both. @pre is_absorbed(n, source)
LazyOp absorbed(const LazyOp& n, const LazyOp& source);

/// `root` with each movement op absorbed that can be, from the leaves up. The values are the same.
LazyOp absorb_movement(const LazyOp& root);

}  // namespace strata
