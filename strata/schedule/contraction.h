// Contractions: reductions that read each of their elements many times, such as products of matrices and convolutions.
// A contraction is fast if its kernel has a register tile for it, and two contractions in one kernel cannot have one
// each; nor has the tile of a contraction a place for another reduction beside it. Internal to schedule/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata {

/// The size of a dimension; the largest one if the size is symbolic. At least 1.
double count_of(const Int& size);
/// The number of elements of `n`; the largest one if the shape is symbolic. At least 1.
double elements(const LazyNode& n);
/// The number of elements that the reduction `n` combines into one.
double reduced_count(const LazyNode& n);

/// How often a reduction may read an element without being a contraction.
constexpr double kMostReads = 3;
/// The kinds of reductions: `brief` ones combine fewer than kMemoryCost elements into one, `contraction` ones combine
/// more than kMostReads times as many elements as they read (elements of memory and of reductions, at least one).
enum class ReductionKind : std::uint8_t { none, brief, plain, contraction };
/// True iff a kernel may compute both reductions, neither of which is computed of the other. A contraction has a kernel
/// for itself: even a brief reduction beside it, such as the number of largest elements of a pooling window, would take
/// its tile.
inline bool can_share_kernel(ReductionKind a, ReductionKind b) {
  return std::max(a, b) != ReductionKind::contraction || std::min(a, b) == ReductionKind::none;
}

/// How often reductions read their elements. Nodes are noted sources first; a node that is not noted is memory.
class ElementsRead {
 public:
  void note(const LazyNode& n, bool is_memory = false);
  /// The kind of the reduction `n`. @pre sources of n are noted
  ReductionKind kind_of(const LazyNode& n) const;

 private:
  double of(const LazyNode& n) const;
  std::unordered_map<const LazyNode*, double> read_;  // an upper bound: a source of several nodes counts several times
};
/// The CASTs of bytes to int32, or of bf16 to f32, whose products the reduction `n`, a long SUM, adds up, so that a
/// device can add them up as dot products (codegen/dot.h); empty where not both factors are such elements, of different
/// memory, each loaded by one View without a mask.
std::vector<const LazyNode*> dot_casts(const LazyNode& n);
/// The last kind, in the order of ReductionKind, among the reductions of a kernel, a SINK; `none` without reductions.
ReductionKind reductions_of(const LazyOp& kernel);

}  // namespace strata
