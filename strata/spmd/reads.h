// Reads of a kernel: through which index maps it loads its buffers, seen from an index of its result. They are what
// exchanges are computed from (shard/exchange.h).
//
// An element of the result reads many elements where the kernel reduces. So an index of a read is an index of the
// result, followed by an index of each *loop*: an axis of a reduction, a scan, a scatter, a sort, or of what a computed
// index may choose. The loops run over all of their axis, so a read has every element that may be loaded, and where the
// index is computed it has more than that.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata {

/// The reads of a graph of a kernel.
struct KernelReads {
  Index loops;                                ///< the sizes of the loops
  std::vector<std::vector<ShapeTracker>> of;  ///< by slot: index of the result, then of the loops -> address
  /// The loops of a reduction's axes, in their order.
  std::vector<std::pair<const LazyNode*, std::vector<std::size_t>>> reductions;
};

/// The most different index maps to one buffer.
inline constexpr std::size_t kMostKernelReads = 64;

/// The reads of `values`, nodes of a kernel with one number of elements, whose sizes are all numbers; seen from the
/// elements in shape `shape`, row-major. Nothing where a buffer has more than kMostKernelReads.
std::optional<KernelReads> reads_of(std::span<const LazyOp> values, const Ints& shape, std::size_t slots);

}  // namespace strata
