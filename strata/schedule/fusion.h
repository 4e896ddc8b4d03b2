// Fusion: boundaries() decides which nodes of a graph are materialized, that is, stored to memory of their own, and
// which are fused, that is, computed inside of the kernels that use them.
//
// Nodes are placed users first. A node that only one kernel uses becomes a part of that kernel, unless a rule below
// materializes it. A node that several kernels use is recomputed in each of them if that is cheap, else materialized.
// Placement is repeated in rounds, at most eight; after each round recompute.h names nodes that the next round
// materializes, because the kernels recompute them too often. The time is linear in the size of the graph. A
// materialized node may be stored by the kernel of another node, if that kernel computes each of its elements anyway. A
// kernel may loop over finer dimensions than those of its result (domain.h).
//
// Why a node is materialized (Boundary):
//   asked        it is a root, or a source of a SCAN or of a copy to another device
//   contiguous   it is CONTIGUOUS, FROM, CONCAT or SCAN: memory by definition
//   shared       several kernels use it, and it is a reduction or expensive (more than 4 operations an element down to
//                memory or a reduction), or it has more than 64 different uses; without FusionOptions::fuse each node
//                that is not a movement op
//   repeated     its kernel would compute each element several times, because of loops that the node does not depend
//                on: cost times the additional computations exceeds the cost of memory; or all kernels together would
//                do more than twice the operations of the graph (recompute.h)
//   unaligned    a reduction that the kernel's loops would compute too often: over rows that do not nest with those of
//                the kernel's other reductions, over overlapping windows, or inside of the loops of another reduction;
//                or one whose uses read different elements in the same iteration
//   contraction  its kernel contains another contraction: a reduction that reads each of its elements many times, such
//                as a product of matrices or a convolution. A contraction is fast with a register tile of its own,
//                which two contractions in one kernel cannot have
//   large        its kernel would have too many nodes
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata {

/// Why a node is materialized; none: it is fused.
enum class Boundary : std::uint8_t { none, asked, contiguous, shared, repeated, unaligned, large, contraction };
/// The name of the enumerator: "asked".
std::string_view to_string(Boundary why);

/// Limits of fusion.
struct FusionOptions {
  bool fuse = true;              ///< false: each op that computes becomes a kernel (the flag NOFUSE)
  std::size_t most_nodes = 256;  ///< the most nodes of one kernel
  /// Whether the device adds up products of bytes (Target::native has DOT4): kernels of such sums read the bytes, not
  /// memory of wider integers.
  bool dots = false;
  bool bf16_dots = false;    ///< the same of bf16 (Target::native_of_normals has DOT2)
  bool reassociate = false;  ///< whether sums may be computed otherwise than written (Target::reassociate)
  /// Whether chains of kernels become one kernel in blocks of rows (chain.h, the flag BLOCKS). The device has to
  /// compute such kernels.
  enum class Chains : std::uint8_t { never, where_it_pays, wherever_possible };
  Chains chains = Chains::never;
  bool operator==(const FusionOptions&) const = default;
};

/// A node that is materialized.
struct Materialized {
  LazyOp node;
  Boundary why = Boundary::asked;
  /// The root of the kernel that also stores this node; null: the node has a kernel of its own.
  const LazyNode* inside = nullptr;
  Ints domain;  ///< the loop dimensions of the node's own kernel; empty with `inside`
};
using Cut [[deprecated("renamed to Materialized")]] = Materialized;

/// The materialized nodes among the nodes that `roots` need and that are not realized, sources first. `roots`
/// themselves are among them; constants only where they are roots.
std::vector<Materialized> boundaries(std::span<const LazyOp> roots, const FusionOptions& options = {});

}  // namespace strata
