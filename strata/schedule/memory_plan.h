// plan_memory(): assigns the intermediate results of a schedule to blocks of memory. A block is reused as soon as no
// later kernel reads the result that it holds.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "strata/schedule/schedule.h"

namespace strata {

/// Blocks of memory, and the nodes that they hold.
struct MemoryPlan {
  std::vector<std::int64_t> blocks;                     ///< sizes in bytes
  std::unordered_map<const LazyNode*, std::size_t> at;  ///< the block of each node that does not outlast the schedule
  std::unordered_map<const LazyNode*, LazyOp> alias;  ///< nodes that share the memory of another node, including copies
  std::int64_t peak = 0;                              ///< bytes of all blocks together
  std::int64_t unshared = 0;                          ///< bytes if each node had a block of its own
};

/// The bytes of the elements of `n`, with symbolic sizes at their upper bounds. @throws Error (overflow)
std::int64_t nbytes_of(const LazyOp& n);

/// Plans the memory of the outputs of `items`, in order; each result takes the best-fitting free block.
/// @param kept true for nodes that outlast the schedule: they get memory of their own, which is no part of the plan
/// @throws Error (overflow) as nbytes_of()
MemoryPlan plan_memory(std::span<const ScheduleItem> items, const std::function<bool(const LazyOp&)>& kept);

}  // namespace strata
