// How long a kernel may take, from what it computes: an upper bound rather than a guess, for those who cut work into pieces.
#pragma once

#include <algorithm>
#include <cstdint>

#include "strata/graph/lazy_op.h"

namespace strata {

inline constexpr double kLongIteration =
    0.05;  // seconds; what takes longer is cut, or looks whether to go on

/// Seconds of one thread of a slow machine; functions count as one operation, and cost more than that.
inline double estimated_seconds(const KernelCost& cost) {
  constexpr double kOperations = 5e8, kBytes = 1e9;  // a second
  return cost.operations / kOperations + cost.bytes / kBytes;
}

/// How many of the `trip_count` of a loop take no more than `seconds`, at least 1.
inline std::int64_t iterations_within(double seconds, const KernelCost& cost, std::int64_t trip_count) {
  const double each =
      estimated_seconds(cost) / static_cast<double>(std::max<std::int64_t>(trip_count, 1));
  const double most = each > 0 ? seconds / each : 1e18;
  return std::max<std::int64_t>(static_cast<std::int64_t>(std::min(most, 1e18)), 1);
}

}  // namespace strata
