// summed(): makes the accumulators of a reduction, nested in levels as its Nest says. Internal to codegen/.
#pragma once

#include <span>
#include <vector>

#include "strata/codegen/nests.h"
#include "strata/codegen/vectors.h"

namespace strata {

/// The result of `reduction` (SUM, REDUCE_MAX, ...) over `nests`. `values` has, for each nest, for each of its copies,
/// the values of its iterations and then the value of its tail, if it has one. `identity` is the identity of the
/// reduction in the dtype of the accumulators. Each nest continues from the result of the nests before it.
UOp summed(UOpGraph& graph, LaneOps& ops, Ops reduction, UOp identity, std::span<const Nest> nests,
           std::span<const UOp> values);

}  // namespace strata
