// BLOCK: a kernel with CONTIGUOUS nodes computed block by block (graph/blocks.h). The chain of kernels of a block is
// one list, inside of a loop over the blocks, which is the parallel loop; the results between the kernels of the chain
// are in scratch buffers, which each thread has for itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strata/codegen/lower.h"
#include "strata/graph/blocks.h"

namespace strata {

/// The blocks that BLOCK `opt` cuts a kernel into.
struct BlockLoop {
  BlockAxes axes;
  std::vector<std::int64_t> counts;  ///< of axes.others
  std::int64_t rows = 0;             ///< of a block
  std::int64_t whole = 0, left = 0;  ///< blocks of so many rows; rows of one more block
  /// The iterations of the parallel loop, and the blocks of each: one, or all blocks that are added up.
  std::int64_t count() const, each() const;
};
/// @throws Error (domain) naming the Opt and the reason where block_axes() has one, unless 1 <= opt.amount <= the size
///   of the axis, where blocks of floats are added up and the target keeps the order of sums, and on targets that
///   launch instances
BlockLoop block_loop(const LazyOp& kernel, const Opt& opt, const Target& target);

/// The BLOCK of a kernel with CONTIGUOUS nodes, of as many rows as keep the results between its parts in the L2 cache;
/// nothing for a kernel without them, and where no axis has rows.
std::optional<Opt> worthwhile_block(const LazyOp& kernel, const Target& target);

/// A chain for blocks of one size, and the variables of its kernels that say which block is computed.
struct BlockBody {
  BlockChain chain;
  std::vector<Variable> others;  ///< by axes.others: the index
  Variable block;                ///< the number of the block along axes.axis
  /// Where the loops along the columns of scores end (block_reach.h): at `variable`, whose value is that of the first
  /// multiple of `granule` from block * rows + `first_end` on, or `columns` where that is less, or where the int32 in
  /// one of the buffers `finite` is 0.
  struct End {
    Variable variable;
    std::int64_t first_end, granule, columns;
    std::vector<int> finite;
  };
  std::optional<End> end{};
  BlockChain all{};  ///< of the first body, where blocks are added up: the chain for all rows
};
/// The bodies of the loop: for whole blocks, then, where there are, for the rows that are left.
std::vector<BlockBody> block_bodies(const LazyOp& kernel, const BlockLoop& loop);

/// The list of a kernel of a body, without a parallel loop.
struct BlockPart {
  const UOpGraph* list;
  BlockTurn turn = BlockTurn::each;  ///< `first`: it is a part of the first body, `last`: of the last one
  bool is_once = false;  ///< it does not depend on the number of the block: the first block of each index of the other
                         ///< axes computes it
  bool stores_finite = false;  ///< it is the last one that stores what BlockBody::End::finite has
};
/// One list of the parts of each body. The loop over all blocks takes its bounds from begin0 and end0.
/// @param positions if not null, receives for each body and part the positions of its UOps in the result
UOpGraph list_of_blocks(const BlockLoop& loop, std::span<const BlockBody> bodies,
                        std::span<const std::vector<BlockPart>> parts,
                        std::vector<std::vector<std::vector<std::size_t>>>* positions = nullptr);

}  // namespace strata
