// Blocks: a kernel with CONTIGUOUS nodes as a chain of kernels, each of which computes a block of rows. A CONTIGUOUS
// node of a kernel is a result between two of its parts; a block of it is small enough for a cache, where the whole of
// it is memory. Attention, for example, is a product, a softmax of each of its rows, and another product: in blocks of
// rows, the scores never are an array of their own.
//
//   strata kernel --opts 'BLOCK 2 64'    (codegen/block.h, which makes one list of the chain)
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata {

/// The axes of a kernel's first store that are cut: `axis` into rows, and each of `others` into single indices, because
/// a CONTIGUOUS node follows them. All have numbers for sizes.
///
/// Each of these cuts has a number: k for others[k], others.size() for the rows. A further store has each cut along one
/// of its dimensions, or adds it up: a reduction below it runs over that axis. The gradient of attention by the keys,
/// for example, is a sum over the queries. It is computed from the sums over the rows of each block, which are added to
/// a buffer between the first and the last block.
struct BlockAxes {
  using Cut = std::optional<std::size_t>;
  /// A reduction below a store that adds up blocks.
  struct Sum {
    std::size_t node;       ///< its place in postorder(kernel)
    std::vector<Cut> dims;  ///< by dimension of its operand: what it adds up
    bool is_outermost;      ///< it is not the operand of another one
  };
  struct OfStore {
    std::vector<Cut> dims;  ///< by dimension of the store
    std::vector<Sum> sums;
  };
  std::size_t axis = 0;
  std::vector<std::size_t> others{};  ///< those that all stores have come first
  std::size_t shared = 0;             ///< so many of `others` all stores have
  std::vector<OfStore> further{};     ///< by store, from the second on

  bool add_up() const;  ///< whether a store adds up blocks
};

/// When a kernel of a chain runs: for each block, or for the first or the last block of one index of all the others
/// that are shared.
enum class BlockTurn : std::uint8_t { each, first, last };

/// A chain of kernels that compute a block.
struct BlockChain {
  struct Step {
    LazyOp kernel;  ///< a SINK
    BlockTurn turn;
    int temporary;  ///< the slot of its result between, behind all slots of the kernel; -1: it stores outputs
  };
  std::vector<Step> steps;       ///< in the order of execution
  std::vector<int> temporaries;  ///< ascending
};

/// How BLOCK can cut `kernel` along `axis` of its first store, or the reason why it cannot. It can where each
/// CONTIGUOUS node follows the axis, i.e. an index of the axis needs one index of a dimension of the node, and
/// neighbours need neighbours; all axes that a CONTIGUOUS node follows have numbers for sizes; each further store has
/// all cuts, or adds up those that not all stores have; and no buffer is both read and written.
struct BlockPlan {
  std::optional<BlockAxes> axes{};  ///< nothing: `reason` says why
  std::string reason{};
};
BlockPlan block_axes(const LazyOp& kernel, std::size_t axis);

/// Whether blocks of sums or products of floats are added up, which is another order than that of ir/sum_order.h.
bool reorders_sums(const LazyOp& kernel, const BlockAxes& axes);

/// Whether the kernel has a CONTIGUOUS node.
bool has_contiguous(const LazyOp& kernel);

/// The output axis that block_axes() accepts, of the most indices; nothing where there is none, or no CONTIGUOUS node.
std::optional<std::size_t> best_block_axis(const LazyOp& kernel);

/// The chain for the rows [begin, begin + rows) of axes.axis and the index at[k] of axes.others[k]. `begin` and `at`
/// may be expressions of variables. Blocks that are added up share their temporaries.
/// @pre block_axes() gave `axes`, and 0 <= begin, begin + rows <= the size of the axis for all values of the variables
/// @throws Error (domain) where the rows of a node cannot be told
BlockChain block_chain(const LazyOp& kernel, const BlockAxes& axes, const Int& begin, std::int64_t rows,
                       const std::vector<Int>& at);

/// The ranges of the operand of the movement op `n`, that make the elements of `n` in `ranges`, an interval of each
/// dimension. @throws Error (domain) where they are no intervals
Mask ranges_below(const LazyNode& n, const Mask& ranges);

/// The memory of one row of `kernel`: one index of each of `axes`.
struct RowBytes {
  double between = 0;  ///< of the results between the parts
  double whole = 0;    ///< of the loads that all rows along axes.axis share, and of what blocks are added to
};
RowBytes bytes_of_row(const LazyOp& kernel, const BlockAxes& axes);

}  // namespace strata
