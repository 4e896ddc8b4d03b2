// Pessimistic estimates of the time of a kernel from its operations and bytes (KernelCost). Used to divide long work
// into pieces, so that a kernel can be interrupted.
#pragma once

#include <algorithm>
#include <cstdint>

#include "strata/codegen/kernel.h"

namespace strata {

/// Seconds; longer work is divided, or checks for interruption (polls.h).
inline constexpr double kLongIteration = 0.05;

/// The time in seconds on one thread of a slow machine. NOTE: a function such as EXP counts as one operation, although
/// it takes more.
inline double estimated_seconds(const KernelCost& cost) {
  constexpr double kOperations = 5e8, kBytes = 1e9;  // a second
  return cost.operations / kOperations + cost.bytes / kBytes;
}

/// cost_of(kernel.ast), with the operations counted a vector at a time if all accumulators of the kernel are vectors of
/// floats: a product of matrices takes a fraction of the time that its elements would take one by one. Integers are
/// counted one by one, since vectors of them are divided element by element.
inline KernelCost vector_cost_of(const Kernel& kernel) {
  KernelCost out = cost_of(kernel.ast);
  int lanes = 0;  // the fewest of an accumulator
  for (const UOp u : kernel.uops) {
    if (u.op() != UOps::DEFINE_ACC) continue;
    const int mine = u.dtype().is_float() ? u.dtype().lanes() : 1;
    lanes = lanes == 0 ? mine : std::min(lanes, mine);
  }
  out.operations /= std::max(lanes, 1);
  return out;
}

/// The number of iterations, at least 1, that take at most `seconds`, for a loop of `trip_count` iterations with the
/// total cost `cost`.
inline std::int64_t iterations_within(double seconds, const KernelCost& cost, std::int64_t trip_count) {
  const double each = estimated_seconds(cost) / static_cast<double>(std::max<std::int64_t>(trip_count, 1));
  const double most = each > 0 ? seconds / each : 1e18;
  return std::max<std::int64_t>(static_cast<std::int64_t>(std::min(most, 1e18)), 1);
}

}  // namespace strata
