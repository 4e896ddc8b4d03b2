// plan_memory(): assigns the intermediate results of a schedule to blocks of memory. A block is reused as soon as no
// later kernel reads the result that it holds. plan_arena() assigns results to places in one piece of memory.
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

/// Memory that steps use: its size, and the first and the last of the steps.
struct MemoryLife {
  std::int64_t bytes;
  std::size_t first, last;
};
/// Offsets in one piece of memory.
struct ArenaPlan {
  std::vector<std::int64_t> offsets;  ///< by life, multiples of 64
  std::int64_t bytes = 0;             ///< of the piece
};

/// Gives each life a part of one piece of memory; two lives with a common step get disjoint parts. The piece is as
/// small as the best of several greedy orders makes it (first fit, after Pisarchyk and Lee, "Efficient Memory
/// Management for Deep Neural Net Inference"), and at least as large as the lives of any one step together. Quadratic
/// in the number of lives.
ArenaPlan plan_arena(std::span<const MemoryLife> lives);

}  // namespace strata
