// Reductions: accumulators, inside of one another where the nest says so.
#pragma once

#include <span>
#include <vector>

#include "strata/codegen/nests.h"
#include "strata/codegen/vectors.h"

namespace strata {

/// What `values` come to by `reduction` (SUM, REDUCE_MAX): for each nest those of its copies, for each copy those of its iterations
/// and that of its tail. `identity` has the dtype that is accumulated in. A nest goes on from what the nests before it came to.
UOp summed(UOpGraph& graph, LaneOps& ops, Ops reduction, UOp identity, std::span<const Nest> nests,
           std::span<const UOp> values);

}  // namespace strata
