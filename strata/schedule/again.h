// Which elements a kernel makes again and again that would better have memory: in each of its loops, for each of its windows.
//
// Where kernels end is decided users first, when nobody knows yet what below will have memory. So it is looked at again, sources
// first: what an element costs is counted down to memory, and of a chain whose nodes are all made as often, the last one
// gets it. A reduction that has memory hands it on to the end of such a chain, whose elements are then made once, too.
// What is cheap may be made again, as long as kernels do not do twice as much as the graph says.
#pragma once

#include <span>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata {

constexpr double kMemoryWork = 24;  ///< operations that writing an element and reading it again is worth
/// Operations an element that are cheaper than reading it, where they read nothing themselves.
constexpr double kClosedWork = 12;

/// Operations that one element of `op` takes.
int work_of(Ops op);
inline bool is_cheap_constant(const LazyNode& n, double work) {
  return n.is_closed && !is_reduce(n.op) && work <= kClosedWork;
}
/// What `work` for an element of `from` is for one of `to`, its user: of what is spread over more elements, each costs a part of
/// it only, and indices that constants are made of are mostly at hand.
double passed_work(const LazyNode& from, const LazyNode& to, double work);

/// A node where it was placed.
struct PlacedNode {
  const LazyNode* node;
  bool has_memory;
  bool may_move;  ///< has memory because of how it is used, not because somebody wants it
  double times;   ///< how often each element is made, or read where it has memory
};

/// The nodes that should have memory, of `placed`: sources first, no memory that there is already.
std::vector<const LazyNode*> made_again(std::span<const PlacedNode> placed);

constexpr double kMostTimesWork =
    2;  ///< what all kernels do, by what their graph does where each element is made once
/// Where the kernels do more than kMostTimesWork: the nodes that should have memory so that they do not, those that are made
/// again most first; with `all` each that is made again. What constants are made of does not count.
std::vector<const LazyNode*> made_too_often(std::span<const PlacedNode> placed, bool all);

}  // namespace strata
