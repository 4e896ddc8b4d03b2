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

/// False where the kernel cannot be lowered with `opts`, PACKs and TRIMs first, because a parallel loop gives each of
/// its segments tiles of their own (STAGE), which together exceed the scratch memory. @pre without PARALLEL the kernel
/// can be lowered
bool is_within_scratch(const LazyOp& kernel, std::span<const Opt> opts, const Target& target);

}  // namespace strata
