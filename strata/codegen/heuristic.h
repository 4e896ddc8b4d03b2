// Which Opts a kernel gets when nobody says so.
#pragma once

#include <vector>

#include "strata/codegen/lower.h"

namespace strata {

/// Opts for `kernel` on `target`: lanes along the axis that memory is contiguous in, several outputs at once where loads
/// can be used again, several accumulators where a sum would wait for itself, threads where there is work for them.
/// @post KernelAxes(kernel).apply(result) is legal, and lower accepts it
std::vector<Opt> heuristic_opts(const LazyOp& kernel, const Target& target);
/// The same without SPLITREDUCE: of a kernel that gives the parts of a reduction.
std::vector<Opt> loop_opts(const LazyOp& kernel, const Target& target);

}  // namespace strata
