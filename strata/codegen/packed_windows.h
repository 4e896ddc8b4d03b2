// packed_windows(): the Opts of a kernel that reads windows, such as a convolution, or a matrix that lies across, such
// as A @ B^T for a few rows of A, or a buffer that is kept: its loads are packed into scratch memory (STAGE), or once
// for many runs (PACK), without padding and in the order of their use, and it gets a register tile there
// (packed_tile.h). Rows of windows that are all padding are left out (TRIM). Internal to codegen/.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "strata/codegen/axes.h"
#include "strata/codegen/axis_stride.h"
#include "strata/codegen/lower.h"

namespace strata {

/// The Opts for so many copies of output axis `number`, in `segment`, which is one loop. What they leave over of a
/// symbolic size is copied half as often.
std::vector<Opt> copy_opts(const LoopAxis& axis, std::size_t number, std::size_t segment, std::int64_t copies);

/// A kernel of which packed_windows() asks.
struct PackedKernel {
  const LazyOp& kernel;
  std::span<const Opt> merges;
  const KernelAxes& axes;                            ///< after the MERGEs
  const Lowered& plain;                              ///< the kernel lowered without further Opts
  std::span<const std::vector<AxisStride>> strides;  ///< of each access of `plain`, by axis
  std::int64_t lanes;                                ///< of the vectors of all its dtypes
  const Target& target;
  /// Whether a matrix may be packed because it lies across: along each axis along which stores are contiguous some load
  /// is not, as in A @ B^T.
  bool across;
  std::span<const int> kept;  ///< the slots of buffers whose packed elements are kept for later runs
  bool may_trim;              ///< whether a kernel may run first that finds whether a buffer is finite (TRIM)
};

/// The Opts, PACKs and TRIMs first, or nothing where the kernel has no load to pack (windows, strides, `across`,
/// `kept`), packing does not pay (elements are used too few times), or a load cannot be staged.
/// @pre `axes` has one group of reductions, whose order is free
std::vector<Opt> packed_windows(const PackedKernel& of);

}  // namespace strata
