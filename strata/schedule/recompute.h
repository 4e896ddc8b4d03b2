// The cost of recomputation: which nodes a kernel computes repeatedly, in each of its loops or for each of its windows, that had better
// be materialized.
//
// Where kernels end is decided users first, when nobody knows yet what below will be materialized. So nodes are looked at again,
// sources first: what an element costs is counted down to memory, and of a chain whose nodes are all computed as often, the last
// one is materialized. A reduction that is materialized hands its memory on to the end of such a chain, whose elements are then
// computed once, too. What is cheap may be recomputed, as long as kernels do not do twice as much as the graph says.
#pragma once

#include <span>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata {

constexpr double kMemoryCost = 24;  ///< operations that writing an element and reading it again is worth
/// Operations an element that are cheaper than reading it, where they read nothing themselves.
constexpr double kConstantCost = 12;

/// Operations that one element of `op` takes.
int op_cost(Ops op);
inline bool is_cheap_constant(const LazyNode& n, double cost) {
  return n.is_closed && !is_reduce(n.op) && cost <= kConstantCost;
}
/// What `cost` for an element of `from` is for one of `to`, its user: of what is spread over more elements, each costs a part of
/// it only, and indices that constants are made of are mostly at hand.
double passed_cost(const LazyNode& from, const LazyNode& to, double cost);

/// A node where it was placed.
struct PlacedNode {
  const LazyNode* node;
  bool is_materialized;
  bool may_move;  ///< is materialized because of how it is used, not because somebody wants it
  double times;   ///< how often each element is computed, or read where it is materialized
};

/// The nodes that should be materialized, of `placed`: sources first, none that is already.
std::vector<const LazyNode*> recomputed_nodes(std::span<const PlacedNode> placed);

constexpr double kMostRecomputation =
    2;  ///< what all kernels do, by what their graph does where each element is computed once
/// Where the kernels do more than kMostRecomputation: the nodes that should be materialized so that they do not, those that are
/// recomputed most first; with `all` each that is recomputed. What constants are made of does not count.
std::vector<const LazyNode*> excess_nodes(std::span<const PlacedNode> placed, bool all);

}  // namespace strata
