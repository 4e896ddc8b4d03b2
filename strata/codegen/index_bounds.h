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

/// a.index with each `x % m` of a symbolic m replaced by x, where 0 <= x < m is proven under a.valid and a.ranges, if
/// that leaves no division by a symbolic size; else a.index. E.g. (64*ridx0 + ridx1) % (64*n) with ridx0 < n and
/// ridx1 < 64. Never throws Error.
Expr without_modulos(const Access& a);

}  // namespace strata
