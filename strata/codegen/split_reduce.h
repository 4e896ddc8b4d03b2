// SPLITREDUCE: splits a kernel with a long reduction and few outputs in two, so that threads can share the work:
// kernels that compute partial results, and a kernel that combines them.
#pragma once

#include <optional>
#include <vector>

#include "strata/codegen/lower.h"

namespace strata {

/// Iterations of the innermost body from which a kernel is worth several threads.
constexpr std::int64_t kWorkForThreads = 1 << 17;

/// The kernels that replace a kernel with a split reduction.
struct SplitReduction {
  std::vector<LazyOp> first;     ///< kernels that store partial results to temporaries
  LazyOp rest;                   ///< the kernel that combines the temporaries and does everything else
  std::vector<int> temporaries;  ///< the slots of the temporaries, behind all slots of the kernel
};

/// Splits the reductions over axis opt.axis into opt.amount partial reductions of equal length; `rest` reduces the
/// remaining elements. Lengths from 1024 on are rounded down to multiples of 64, so that vectors fit. Partial sums and
/// products of 16-bit floats are stored in f32, as they are accumulated. Where the target keeps the order of sums,
/// opt.amount includes the last, shorter part and must be one of parts_in_order().
/// @throws Error (domain) naming the Opt unless the axis is a reduce axis of numeric size, with at least two iterations
///   per part and no further reduction below its reductions; and where the kept order of a sum has no such parts
SplitReduction split_reduction(const LazyOp& kernel, const Opt& opt, const Target& target);

/// The SPLITREDUCE for a kernel with one group of reductions, too few outputs for threads and a long reduction; nothing
/// for others.
std::optional<Opt> worthwhile_split(const LazyOp& kernel, const Target& target);

/// SPLITREDUCEs for a kernel with one reduction that is so long that a panel of one vector of outputs (STAGE) exceeds a
/// quarter of the target's scratch memory: for each reduced axis the fewest equal parts that fit, a power of two, of at
/// least 256 terms each. Whether packing pays is not asked.
std::vector<Opt> splits_to_pack(const LazyOp& kernel, const Target& target);

/// The numbers of parts, ascending, into which a reduce axis can be split while its sums keep the order of
/// ir/sum_order.h; may be empty.
std::vector<std::int64_t> parts_in_order(const KernelAxes& axes, std::size_t axis);

}  // namespace strata
