// planned_run(): the memory of a run of a graph, before anything is compiled.
#pragma once

#include <span>

#include "strata/graph/lazy_op.h"
#include "strata/runtime/device.h"

namespace strata {

/// What is known of realize(roots) before it runs.
struct PlannedRun {
  std::int64_t peak = 0;      ///< bytes of the memory between kernels (MemoryPlan::peak)
  std::int64_t unshared = 0;  ///< the same if no memory were reused
  std::size_t loops = 0;      ///< kernels that are loops; the memory of their steps is not in `peak`
};

/// @throws Error as schedule() and plan_memory()
PlannedRun planned_run(std::span<const LazyOp> roots, const Device& device);

}  // namespace strata
