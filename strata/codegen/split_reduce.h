// SPLITREDUCE: a reduction in parts that threads can share, as two kernels.
#pragma once

#include <optional>
#include <vector>

#include "strata/codegen/lower.h"

namespace strata {

constexpr std::int64_t kWorkForThreads =
    1 << 17;  ///< iterations of the innermost body that are worth a second thread

/// A kernel whose reductions over one axis are done in parts: those of `first` give the parts, and `rest` puts them together and
/// goes on.
struct SplitReduction {
  std::vector<LazyOp> first;     ///< kernels: each stores partial results to new buffers
  LazyOp rest;                   ///< the kernel on those buffers
  std::vector<int> temporaries;  ///< their slots, behind all of the kernel's own
};

/// The axis of `opt` in `opt.amount` parts of the same size; what is left over is reduced by `rest`. Long parts are multiples of
/// 64 elements, so that vectors fit. Sums and products of 16-bit floats are handed over as they are accumulated. Where the target
/// says the order of sums, `opt.amount` counts the part that is left over, too, and is one of parts_in_order().
/// @throws Error (domain) naming the Opt, unless the axis is reduced, has a size that is a number and at least two iterations a part,
///   and its reductions have no other reduction below them; and where the target keeps the order of a sum, which has no such parts
SplitReduction split_reduction(const LazyOp& kernel, const Opt& opt, const Target& target);

/// SPLITREDUCE where few outputs leave threads without work.
std::optional<Opt> worthwhile_split(const LazyOp& kernel, const Target& target);

/// Into how many parts a reduced axis may be cut where sums of its group keep their order, ascending; empty where into none.
std::vector<std::int64_t> parts_in_order(const KernelAxes& axes, std::size_t axis);

}  // namespace strata
