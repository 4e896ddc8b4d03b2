// with_numbers(): a kernel of symbolic sizes for given values of its variables.
#pragma once

#include "strata/graph/lazy_op.h"

namespace strata {

/// The kernel for these values of its variables: all sizes are numbers. The inverse of unbind().
/// @pre `values` has all variables, and none is bound
LazyOp with_numbers(const LazyOp& root, const Values& values);

}  // namespace strata
