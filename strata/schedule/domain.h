// Over which dimensions a kernel loops: those of its result, or finer ones.
//
// Where a dimension of the result is two of what is below (channels are groups of channels), and rows there are reduced, a kernel
// over the finer dimensions finds the rows in its loops, and is one.
#pragma once

#include "strata/graph/lazy_op.h"

namespace strata {

/// The dimensions of a kernel that makes `n`, row-major the same elements: n's shape where finer ones are of no use.
Ints domain_of(const LazyNode& n);

}  // namespace strata
