// The default choice of Opts for a kernel, from the strides of its loads and stores and the work per element.
#pragma once

#include <span>
#include <vector>

#include "strata/codegen/lower.h"

namespace strata {

/// Opts for `kernel` on `target`: lanes along the axis in which memory is contiguous, register tiles where loaded
/// values are reused, several accumulators to hide the latency of a sum, threads where there is enough work.
/// @param kept the slots of buffers whose packed elements are kept for later runs, so that a PACK costs nothing
/// @post KernelAxes accepts the result (a SPLITREDUCE at its front goes to split_reduction() first, a SPLITSCAN to
/// split_scan(), PACKs and TRIMs go to rest_of()), and lower() accepts the axes
std::vector<Opt> heuristic_opts(const LazyOp& kernel, const Target& target, std::span<const int> kept = {});
/// As heuristic_opts(), but never SPLITREDUCE: for the kernels that a SPLITREDUCE makes.
/// @param may_trim false: no TRIM either
std::vector<Opt> loop_opts(const LazyOp& kernel, const Target& target, std::span<const int> kept = {},
                           bool may_trim = false);

}  // namespace strata
