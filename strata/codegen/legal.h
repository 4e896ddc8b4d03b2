// Checks that lowering preserves results: the order of sums, and the order of loads and stores. Internal to codegen/.
#pragma once

#include "strata/codegen/lower.h"

namespace strata {

/// If the target does not reassociate, float sums and products must follow ir/sum_order.h: their axes are
/// untransformed, or have kSumLanes lanes where the order has lanes. @throws Error (domain) naming the reduction and
/// the axis
void check_order(const LazyOp& kernel, const KernelAxes& axes, const Target& target);

/// A kernel may read a buffer that it writes only at elements that it writes in the same iteration, and two of its
/// stores to one buffer must go to disjoint parts. @throws Error (domain) naming the buffer and the indices
void check_memory(const Lowered& lowered);

}  // namespace strata
