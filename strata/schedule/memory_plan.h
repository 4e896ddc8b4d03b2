// Where results between kernels live: memory is used again as soon as nothing reads it any more.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "strata/schedule/schedule.h"

namespace strata {

/// Blocks of memory, and which node is in which.
struct MemoryPlan {
  std::vector<std::int64_t> blocks;  ///< sizes in bytes
  std::unordered_map<const LazyNode*, std::size_t> at;  ///< for each node that is no longer than the schedule: its block
  std::unordered_map<const LazyNode*, LazyOp> alias;  ///< nodes that are another one's memory, copies among them
  std::int64_t peak = 0;                              ///< of all blocks, in bytes
  std::int64_t unshared = 0;                          ///< if each node had memory of its own
};

/// Bytes of a node's elements, symbolic sizes at the upper ends of their bounds. @throws Error (overflow)
std::int64_t nbytes_of(const LazyOp& n);

/// @param kept which nodes outlast the schedule: these have memory of their own, which is no part of the plan
MemoryPlan plan_memory(std::span<const ScheduleItem> items,
                       const std::function<bool(const LazyOp&)>& kept);

}  // namespace strata
