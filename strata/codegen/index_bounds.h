// Between which functions of the sizes an index lies: each counter is taken to its ends, which are such functions, too.
//
//   n*ridx0 + ridx1 with ridx0 < n and ridx1 < n lies between 0 and n*n - 1.
//
// This shows what a table over all values cannot: sizes of thousands, products of one size with itself.
#pragma once

#include "strata/codegen/lower.h"

namespace strata {

/// Whether the access is shown to lie inside of its buffer. Never throws Error.
bool lies_between_sizes(const Access& a);

}  // namespace strata
