// Chains: kernels that pass large results to each other row by row become one kernel, which computes them in blocks of
// rows (graph/blocks.h). The scores of attention, for example, and their softmax, are no arrays of their own then.
//
// A chain is the kernel at its end and kernels whose results only kernels of the chain read. It becomes one kernel if
//   - rows of its outputs need as many rows of each result between (best_block_axis());
//   - the results between are at least twice as large as all else that it reads and writes, and do not fit in a cache;
//   - what a block reads anew, because all rows share it, is little: it stays in a cache, or is less than what the
//     block's results between would be written and read.
// With FusionOptions::Chains::wherever_possible, the first condition is enough. A result that a gradient may need later
// is no result between: it is kept.
// Internal to schedule/.
#pragma once

#include <unordered_map>
#include <vector>

#include "strata/schedule/kernel_of.h"

namespace strata {

/// What kernel_of() made an item of: empty for an item that is no kernel.
struct KernelParts {
  std::vector<Stored> stored;
  Ints domain;
};

/// The items, with chains as one item each, in the place of their last kernel.
/// @param parts by item  @param materialized as of kernel_of()
std::vector<ScheduleItem> in_chains(std::vector<ScheduleItem> items, const std::vector<KernelParts>& parts,
                                    const std::unordered_map<const LazyNode*, Boundary>& materialized,
                                    const FusionOptions& options);

}  // namespace strata
