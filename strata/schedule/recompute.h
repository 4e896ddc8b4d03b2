// The cost of recomputation: finds nodes that kernels compute more than once per element (in several loops, or for
// overlapping windows) and that should be materialized instead. fusion.h calls it after each round of placement.
//
// Placement goes users first, so that a node is placed before it is known which nodes below it are materialized. This
// pass goes sources first: the cost of an element is the sum of operations down to memory. In a chain of nodes that are
// computed equally often, the last node (the chain's top) is materialized, because it covers the whole chain. A
// materialized reduction hands its memory on to the top of its chain, if that is not larger: then the chain is computed
// once, too. Cheap nodes may be recomputed, as long as all kernels together do at most kMostRecomputation times the
// operations of the graph.
#pragma once

#include <span>
#include <vector>

#include "strata/graph/node_cost.h"

namespace strata {

constexpr double kMemoryCost = 24;  ///< the cost of writing an element and reading it again, in operations
/// A constant expression (no memory below) of at most this many operations is cheaper to compute than to read.
constexpr double kConstantCost = 12;

/// True iff `n`, of `cost` operations per element, is a constant expression that is always recomputed where it is used.
inline bool is_cheap_constant(const LazyNode& n, double cost) {
  return n.is_closed && !is_reduce(n.op) && !is_scan(n.op) && cost <= kConstantCost;
}
/// The share of an element of `to`, a user of `from`, in the cost of `from`, which is `cost` per element. An EXPAND to
/// k times as many elements passes cost / k; a cheap constant passes at most 1, as its index is mostly available
/// already.
double passed_cost(const LazyNode& from, const LazyNode& to, double cost);

/// A node with the result of a round of placement.
struct PlacedNode {
  const LazyNode* node;
  bool is_materialized;
  bool may_move;     ///< materialized because of its uses (not asked for, and by a kernel of its own): another node may
                     ///< take its place
  bool is_dot_cast;  ///< one of dot_casts(): its kernel reads the bytes, not memory of wider integers
  double times;      ///< how often each element is computed by all kernels together; of a materialized node: read
};

/// The nodes of `placed` that should be materialized and are not yet, sources first. @pre `placed` is in order, sources
/// first
std::vector<const LazyNode*> recomputed_nodes(std::span<const PlacedNode> placed);

/// The most operations of all kernels together, as a multiple of the operations of the graph (each element computed
/// once).
constexpr double kMostRecomputation = 2;
/// Where the kernels exceed kMostRecomputation, the nodes to materialize, the most expensive recomputation first, until
/// the kernels stay within it; with `all` every recomputed node. Cheap constants do not count.
std::vector<const LazyNode*> excess_nodes(std::span<const PlacedNode> placed, bool all);

}  // namespace strata
