// Reach: how far along their rows the scores of a block are computed. Where a mask makes all scores behind some column
// -infinity, for all rows of a block, as a causal mask does, their weights are 0: neither the scores nor their weights
// nor the products of these are computed there, nor what only such weights are multiplied with. The elements behind the
// end are followed through all kernels of the chain: -infinity, 0, or a finite number. A sum may leave out zeros, a
// maximum -infinity; an accumulator of blocks does not change by zeros.
//
// A weight of 0 times an element that is not finite is NaN, so kernels that run once for all blocks that use them find
// whether the elements are; where one is not, all columns are computed. Other values of a row are 1 at least, maxima of
// its scores, or constants. Where blocks are added up, all given floats have to be less than 1e12 in magnitude, and a
// bound shows that nothing between overflows then: a row that is NaN would make all sums NaN, those behind its end,
// too. Internal to codegen/.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "strata/codegen/block.h"

namespace strata {

/// The columns of the blocks of a chain that have scores: [0, end).
struct BlockReach {
  /// A reduction of a kernel, by its place among them, and the position of the columns among its axes.
  struct Reduction {
    std::size_t number, position;
    bool operator==(const Reduction&) const = default;
  };
  /// A step of the chain that runs along columns: those of its output, and of reductions.
  struct Along {
    std::size_t kernel;
    std::optional<std::size_t> output;
    std::vector<Reduction> reductions;
    bool may_be_more;  ///< it may compute some columns behind the end: it reads nothing that ends
  };
  std::vector<Along> along;
  std::int64_t columns = 0;    ///< all
  std::int64_t first_end = 0;  ///< the end of block 0; that of each further block is `rows` later
  std::int64_t granule = 0;    ///< ends are rounded up to multiples of it, or to all columns
  std::vector<LazyOp> finite;  ///< kernels that store whether elements are finite: one int32 each
};

/// The reach of the blocks of `body`, each of `rows` rows; nothing where its kernels are not scores with a mask that is
/// shown to be false behind a column, and what is made of them without the columns behind it.
/// @param slots for what BlockReach::finite stores, in order; more kernels there are not
std::optional<BlockReach> block_reach(const BlockBody& body, std::int64_t rows, const std::vector<int>& slots);

/// Whether the loops of `axes`, of `kernel`, which computes step `of.kernel` of the chain, can end at any multiple of
/// reach.granule: then they do, at `end`, or where `of.may_be_more` behind it.
bool end_loops(KernelAxes& axes, const LazyOp& kernel, const BlockReach& reach, const BlockReach::Along& of,
               const Variable& end);

}  // namespace strata
