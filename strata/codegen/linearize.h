// linearize(): orders the graph of UOps that lower() made into a list: a program with loops, in which each UOp is
// outside of all loops that it does not depend on.
#pragma once

#include <vector>

#include "strata/codegen/lower.h"
#include "strata/ir/uop.h"

namespace strata {

/// The list of all UOps that the stores of `kernel` need. Each UOp is placed in the innermost loop that it depends on
/// (loop-invariant code is hoisted). A REDUCE becomes a DEFINE_ACC in front of its loops and a PHI in the innermost
/// one; reductions over the same loops share them. Loads of a buffer precede the stores to the same element.
/// @param contract whether a product and a sum may become one MULACC
/// @param stand_ins if not null, receives for each UOp of the graph its UOp in the list; an empty handle where it has
/// none
/// @post verify(result) passes
UOpGraph linearize(const Lowered& kernel, bool contract, std::vector<UOp>* stand_ins = nullptr);

}  // namespace strata
