// Parts of a kernel: the graph that computes a box of a kernel's result from the memory that one rank has.
//
// parts_of() rebuilds the nodes on the elements that the box needs. Its loads read the rank's memory through the map
// from the whole tensor's elements to it, so the parts of ranks with like boxes are one graph: they differ in no
// number, and are compiled once. Where a reshape joins axes so that the elements of the box are no box below it, the
// graph has the least box below, padded to the whole axes, and takes what it needs of that: the compiler computes no
// element more.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "strata/graph/lazy_op.h"
#include "strata/shard/sharding.h"

namespace strata {

/// The memory in which a rank has elements of a tensor.
struct RankMemory {
  ShapeTracker whole;     ///< row-major number of an element -> where it is; invalid where the rank does not have it
  std::int64_t size = 0;  ///< elements of the memory; 0: none of the tensor's
};
/// Memory in the order of the local indices of `rank`. @pre the sharding was made of splits
RankMemory local_of(const Sharding& sharding, std::int64_t rank);
/// A dense box of a tensor of `shape`. @pre the Stripes are intervals
RankMemory dense_of(const StridedBox& box, const Index& shape);

/// A box: an interval of each axis.
using Intervals = SmallVec<std::pair<std::int64_t, std::int64_t>, 6>;
/// All of `shape`. @pre it has numbers alone
Intervals box_of(const Ints& shape);

/// Parts of values, and the slots of the loads of the kernel, in the order of their own slots.
struct PartsOf {
  std::vector<LazyOp> values;
  std::vector<int> slots;
  /// Whether a scan, a scatter or a sort is computed along all of its axis for a part of that axis. The compiler has no
  /// kernels for that.
  bool cuts_axis = false;
};
/// The elements boxes[k] of values[k]. The slot of a load becomes first_slot + its place in `slots` of the result.
/// @param memory by slot of the kernel's loads
/// @pre all sizes are numbers, and no box is empty
PartsOf parts_of(std::span<const LazyOp> values, std::span<const Intervals> boxes, std::span<const RankMemory> memory,
                 int first_slot);

/// What a rank has of a value, in the order of its local indices, padding included: 0, where it is none of the value's
/// elements. @pre the sharding was made of splits, of value's shape
LazyOp local_part(const LazyOp& value, const Sharding& sharding, std::int64_t rank);
/// The sizes of the axes of local memory, which is row-major. @pre the sharding was made of splits
Index local_axes(const Sharding& sharding);

}  // namespace strata
