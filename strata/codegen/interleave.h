// interleaved_axis(): an output axis whose neighbours come from several places in turn, as the elements of joined
// channels or of an upsampled image do. Internal to codegen/.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "strata/codegen/axis_stride.h"

namespace strata {

/// Element k of the axis comes from place k % places. Each place has vectors of its own, and the stores interleave
/// them: `UPCAST axis places, LANES axis lanes`.
struct InterleavedAxis {
  std::size_t axis = 0;
  std::int64_t places = 2, lanes = 2;
};

/// The innermost axis of 2 or 4 places: all stores are contiguous along it, and all loads are contiguous or constant
/// along the elements of each place. @pre the kernel has no reductions  @param strides of each access, by axis
/// @param counters the loop counters, with their axes  @param most_lanes a power of two
std::optional<InterleavedAxis> interleaved_axis(const KernelAxes& axes, std::span<const Access> accesses,
                                                std::span<const std::vector<AxisStride>> strides,
                                                std::span<const std::pair<Variable, std::size_t>> counters,
                                                std::int64_t most_lanes);

}  // namespace strata
