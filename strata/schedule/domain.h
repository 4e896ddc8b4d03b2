// The loop dimensions of a kernel (its domain): the shape of its result, or a refinement of that shape.
//
// Example, group normalization: the result has (batch, channels), but below a RESHAPE the graph has (batch, groups,
// channels / groups) and reduces over the last axis. A kernel that loops over the three finer dimensions has each group
// as a row of its loops, so that the reduction and its user fuse into one kernel. Likewise a convolution in groups: its
// loads depend on the group, which is a loop of its own.
#pragma once

#include "strata/graph/lazy_op.h"

namespace strata {

/// The domain of the kernel that computes `n`: a refinement of n's shape if a RESHAPE of n's operands splits a
/// dimension and the operand below is a reduction, or uses a reduction of its own rows; else n's shape. Both enumerate
/// the elements of n in row-major order.
Ints domain_of(const LazyNode& n);

}  // namespace strata
