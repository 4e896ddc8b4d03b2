// How the loads and stores of a kernel move along its axes. Internal to codegen/.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "strata/codegen/lower.h"

namespace strata {

/// How one access moves along one axis.
struct AxisStride {
  bool is_linear = true;  ///< whether each iteration moves by as many elements
  /// Elements per iteration, if linear. For a symbolic number an assumption, at least kFarStride.
  std::int64_t by = 0;
  bool guarded = false;  ///< whether its condition depends on the axis
  bool is_known = true;  ///< whether `by` is a number, not an assumption

  static constexpr std::int64_t kFarStride = 64;
};

/// How `a` moves along each of so many axes. @param counters  the loop counters, with their axes
std::vector<AxisStride> strides_of(const Access& a, std::span<const std::pair<Variable, std::size_t>> counters,
                                   std::size_t axes);

}  // namespace strata
