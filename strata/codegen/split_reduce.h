// SPLITREDUCE: a reduction in parts that threads can share, as two kernels.
#pragma once

#include <vector>

#include "strata/codegen/axes.h"

namespace strata {

/// A kernel whose reductions over one axis are done in parts: those of `first` give the parts, and `rest` puts them together and
/// goes on.
struct SplitReduction {
  std::vector<LazyOp> first;     ///< kernels: each stores partial results to new buffers
  LazyOp rest;                   ///< the kernel on those buffers
  std::vector<int> temporaries;  ///< their slots, behind all of the kernel's own
};

/// The axis of `opt` in `opt.amount` parts of the same size; what is left over is reduced by `rest`. Long parts are multiples of
/// 64 elements, so that vectors fit.
/// @throws Error (domain) naming the Opt, unless the axis is reduced, has a size that is a number and at least two turns a part,
///   and its reductions have no other reduction below them
SplitReduction split_reduction(const LazyOp& kernel, const Opt& opt);

}  // namespace strata
