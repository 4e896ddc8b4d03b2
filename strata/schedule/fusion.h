// Which nodes of a graph are materialized, that is, have memory of their own, and which are fused: computed inside of the kernels that
// use them.
//
// Nodes are placed consumers first, in rounds: each round knows which nodes the rounds before materialized (recompute.h). A node that one
// kernel alone asks for is a part of that kernel, unless a rule says otherwise; a node of several kernels is computed in each of them
// where that is cheap, else it is a kernel of its own. There are at most eight rounds, and the time is linear in the size of the graph.
// What is materialized may still be made by the kernel of another node, where that one
// has each element at hand: it is stored beside. A kernel may loop over finer dimensions than those of its result (domain.h).
//
//   asked        somebody wants the node itself
//   contiguous   CONTIGUOUS, FROM and CONCAT are memory by what they mean
//   shared       several kernels use it, and it is a reduction or expensive
//   repeated     inside of its kernel it would be computed again and again, or in several of its loops (recompute.h): `work`
//                times the repetitions is more than memory costs, or all kernels would do more than twice what their graph
//                says
//   unaligned    a reduction over other rows than those of the kernel's other reductions, or inside of another's loops
//   large        its kernel would have too many nodes
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata {

enum class Boundary : std::uint8_t { none, asked, contiguous, shared, repeated, unaligned, large };
std::string_view to_string(Boundary why);

/// What may become one kernel.
struct FusionOptions {
  bool fuse = true;              ///< false: every op that computes is a kernel
  std::size_t most_nodes = 256;  ///< of a kernel
};

/// A node that is materialized.
struct Materialized {
  LazyOp node;
  Boundary why = Boundary::asked;
  const LazyNode* inside =
      nullptr;  ///< where it is stored by the kernel of that node; else it is a kernel of its own
  Ints domain;  ///< of its own kernel: the dimensions that it loops over
};
using Cut [[deprecated("renamed to Materialized")]] = Materialized;

/// The nodes that are materialized, of what `roots` need and is not realized. Sources come first.
std::vector<Materialized> boundaries(std::span<const LazyOp> roots, const FusionOptions& options = {});

}  // namespace strata
