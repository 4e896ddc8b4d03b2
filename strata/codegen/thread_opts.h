// thread_opts(): which loop of a kernel threads share. Internal to codegen/.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "strata/codegen/axes.h"

namespace strata {

constexpr std::int64_t kUnknownSize = 256;  // the assumed value of a symbolic size

/// The iterations of all loops; a symbolic size counts kUnknownSize.
std::int64_t work_of(const KernelAxes& axes);

/// A PARALLEL, and the REORDER that makes its axis the outermost one; nothing where the kernel has too little work or
/// no such axis.
/// @param main  by axis: the segment that Opts transform
/// @param reorders  whether an axis that is not the outermost one may become it
std::vector<Opt> thread_opts(const LazyOp& kernel, const KernelAxes& axes, std::span<const std::size_t> main,
                             bool reorders);

}  // namespace strata
