// How long ops take beside each other, and what a node of a graph stands for: the measures of the schedule.
#pragma once

#include "strata/graph/lazy_op.h"

namespace strata {

/// The cost of `op` for one element, in operations: 1 for an addition, 4 for a division, 16 for a function such as EXP.
int op_cost(Ops op);
/// op_cost() of what a kernel has for an element of the node: of a FORMULA that of all its ops; 0 where the node is not
/// pointwise.
int node_cost(const LazyNode& n);
/// The nodes that kernels have in place of the node: 1, or those of a FORMULA.
std::size_t nodes_of(const LazyNode& n);

}  // namespace strata
