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

/// The axes of a kernel's stores that are cut: `axis` into rows, and each of `others` into single indices, because a
/// CONTIGUOUS node follows them. All have numbers for sizes.
struct BlockAxes {
  std::size_t axis = 0;
  std::vector<std::size_t> others{};  ///< ascending
};

/// A chain of kernels that compute a block.
struct BlockChain {
  std::vector<LazyOp>
      kernels;  ///< SINKs, in the order of execution: the last one stores the rows of the kernel's outputs
  std::vector<int> temporaries;  ///< by kernel but the last: the slot of its result, behind all slots of the kernel
};

/// How BLOCK can cut `kernel` along `axis`, or the reason why it cannot. It can where each CONTIGUOUS node follows the
/// axis, i.e. an index of the axis needs one index of a dimension of the node, and neighbours need neighbours; all
/// stores have one shape, all axes that a CONTIGUOUS node follows have numbers for
/// sizes, and no buffer is both read and written.
struct BlockPlan {
  std::optional<BlockAxes> axes{};  ///< nothing: `reason` says why
  std::string reason{};
};
BlockPlan block_axes(const LazyOp& kernel, std::size_t axis);

/// The output axis that block_axes() accepts, of the most indices; nothing where there is none, or no CONTIGUOUS node.
std::optional<std::size_t> best_block_axis(const LazyOp& kernel);

/// The chain for the rows [begin, begin + rows) of axes.axis and the index at[k] of axes.others[k]. `begin` and `at`
/// may be expressions of variables.
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
  double whole = 0;    ///< of the loads that all rows along axes.axis share
};
RowBytes bytes_of_row(const LazyOp& kernel, const BlockAxes& axes);

}  // namespace strata
