// Chains: kernels that pass large results to each other row by row become one kernel, which computes them in blocks of
// rows (graph/blocks.h). The scores of attention, for example, and their softmax, are no arrays of their own then.
//
// A chain is the kernels at its ends and those whose results are between: wide ones, which are much larger than what
// they are made of, and those with one element for each of their rows. It becomes one kernel if
//   - the results between are at least twice as large as all else that it reads and writes, and do not fit in a cache;
//   - rows of its outputs need as many rows of each result between, or its outputs add them up (block_axes());
//   - what a block reads anew, because all rows share it, is little: it stays in a cache, or is less than what the
//     block's results between would be written and read;
//   - to compute again what kernels outside of the chain need, too, takes less time than to write and read the results
//     between. Those kernels are in chains of their own, which compute it as well: the gradients of attention and
//     attention itself, for example. A result that any other kernel reads is memory, and no chain computes it again.
// With FusionOptions::Chains::wherever_possible, the second condition is enough, and all results may be between. What
// is between is not kept for gradients: they compute it again.
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

/// The items, with chains as one item each, in an order in which each is behind those that it needs.
/// @param parts by item  @param materialized as of kernel_of()
std::vector<ScheduleItem> in_chains(std::vector<ScheduleItem> items, const std::vector<KernelParts>& parts,
                                    const std::unordered_map<const LazyNode*, Boundary>& materialized,
                                    const FusionOptions& options);

}  // namespace strata
