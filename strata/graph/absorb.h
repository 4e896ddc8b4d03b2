// Movement ops absorbed into leaves: PAD of a LOAD, for example, is a LOAD whose ShapeTracker has a mask.
#pragma once

#include "strata/graph/lazy_op.h"

namespace strata {

/// True iff `n` is a movement op that moved_leaf() absorbs into `source`, which is or replaces its source.
bool moves_leaf(const LazyOp& n, const LazyOp& source);

/// `n` applied to `leaf`: a LOAD or CONST with the ShapeTracker of both. @pre moves_leaf(n, leaf)
LazyOp moved_leaf(const LazyOp& n, const LazyOp& leaf);

/// `root` with each movement op on a LOAD or CONST absorbed, from the leaves up. The values are the same.
LazyOp absorb_movement(const LazyOp& root);

}  // namespace strata
