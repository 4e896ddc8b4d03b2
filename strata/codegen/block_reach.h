// Reach: how far along their rows the scores of a block are computed. Where a mask makes all scores behind some column
// -infinity, for all rows of a block, as a causal mask does, their weights are 0: neither the scores nor their weights
// nor the products of these are computed there. A weight of 0 times an element that is not finite is NaN, so a kernel
// that runs once for all blocks that use them finds whether the elements are; where one is not, all columns are
// computed. Internal to codegen/.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "strata/codegen/block.h"

namespace strata {

/// The columns of the blocks of a chain that have scores: [0, end).
struct BlockReach {
  /// A kernel of the chain that runs along columns: those of its output, or of the reduced dimension at this position.
  struct Along {
    std::size_t kernel;
    std::optional<std::size_t> output, reduced;
  };
  std::vector<Along> along;
  std::int64_t columns = 0;    ///< all
  std::int64_t first_end = 0;  ///< the end of block 0; that of each further block is `rows` later
  std::int64_t granule = 0;    ///< ends are rounded up to multiples of it, or to all columns
  LazyOp finite;               ///< the kernel that stores whether the elements are finite: one int32
};

/// The reach of the blocks of `body`, each of `rows` rows; nothing where its kernels are not scores with a mask that is
/// shown to be false behind a column, exp(scores - max), and sums of these and of products with them.
/// @param finite the slot of what BlockReach::finite stores
std::optional<BlockReach> block_reach(const BlockBody& body, std::int64_t rows, int finite);

/// Whether the loops of `axes`, of kernel `of.kernel` of the chain, can end at any multiple of reach.granule: then they
/// do, at `end`. A kernel that computes scores may compute more of them.
bool end_loops(KernelAxes& axes, const BlockReach& reach, const BlockReach::Along& of, const Variable& end);

}  // namespace strata
