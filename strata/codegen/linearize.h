// A graph of UOps as a list: every UOp once, in the innermost loop that it depends on.
#pragma once

#include <vector>

#include "strata/codegen/lower.h"
#include "strata/ir/uop.h"

namespace strata {

/// The list of `kernel`: what its stores need, in loops. A UOp stands in the innermost loop that it depends on, so that
/// nothing is computed again that stays the same; a reduction becomes an accumulator before its loops and an assignment in
/// the innermost of them; reductions over the same loops share them. Loads of a buffer come before the stores to it.
/// @param stand_ins where not null, gets for each UOp of the graph what stands for it in the list; empty where nothing does
/// @post verify(result) finds nothing
UOpGraph linearize(const Lowered& kernel, bool contract, std::vector<UOp>* stand_ins = nullptr);

}  // namespace strata
