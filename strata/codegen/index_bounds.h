// Symbolic interval analysis of indices: computes lower and upper bounds of an index as functions of the symbolic
// sizes, by replacing each loop counter with its own bounds. Internal to codegen/; bounds.h uses it for buffers of
// symbolic size.
//
//   n*ridx0 + ridx1 with ridx0 < n and ridx1 < n lies between 0 and n*n - 1.
//
// It proves accesses that enumeration of all values cannot: sizes of thousands, products of a size with itself.
#pragma once

#include "strata/codegen/lower.h"

namespace strata {

/// True if the access is proven to be inside of its buffer; false proves nothing. Never throws Error.
bool lies_between_sizes(const Access& a);

}  // namespace strata
