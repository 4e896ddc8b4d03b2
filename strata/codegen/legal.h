// What lowering refuses, as it would change results.
#pragma once

#include "strata/codegen/lower.h"

namespace strata {

/// Without reassociation, float sums and products are added up as ir/sum_order.h says.
/// @throws Error (domain) naming the reduction and the axis that would change it
void check_order(const LazyOp& kernel, const KernelAxes& axes, const Target& target);

/// A buffer that is read and written is read where it is written in the same iteration, and nowhere else; two stores to one buffer go
/// to different parts of it. @throws Error (domain) naming the buffer and the indices
void check_memory(const Lowered& lowered);

}  // namespace strata
