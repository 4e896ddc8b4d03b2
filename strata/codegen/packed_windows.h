// packed_windows(): the Opts of a kernel that reads windows, such as a convolution, or a matrix that lies across, such
// as A @ B^T for a few rows of A: its loads are packed into scratch memory (STAGE), without padding and in the order of
// their use, and it gets a register tile there (packed_tile.h). Internal to codegen/.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "strata/codegen/axes.h"
#include "strata/codegen/lower.h"

namespace strata {

/// How one access moves along one axis.
struct AxisStride {
  bool is_linear = true;
  std::int64_t by = 0;   ///< elements per iteration, if linear
  bool guarded = false;  ///< whether its condition depends on the axis
};

/// The Opts, or nothing where the kernel has no load to pack (windows, strides, `across`), packing does not pay
/// (elements are used too few times), or a load cannot be staged.
/// @param axes the axes after MERGEs  @param plain the kernel lowered without further Opts  @param strides of each
///   access of `plain`, by axis  @param lanes of the vectors of all its dtypes
/// @param across whether a matrix may be packed because it lies across: along each axis along which stores are
///   contiguous some load is not, as in A @ B^T
/// @pre `axes` has one group of reductions, whose order is free
std::vector<Opt> packed_windows(const LazyOp& kernel, const KernelAxes& axes, const Lowered& plain,
                                std::span<const std::vector<AxisStride>> strides, std::int64_t lanes,
                                const Target& target, bool across);

}  // namespace strata
