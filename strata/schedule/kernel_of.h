// Construction of kernels: kernel_of() extracts the graph between materialized nodes into one SINK, joined() merges
// kernels that can run as one. Internal to schedule/.
#pragma once

#include <unordered_map>
#include <vector>

#include "strata/schedule/schedule.h"

namespace strata {

/// A store of a kernel under construction.
struct Stored {
  LazyOp value;
  LazyOp output;    ///< the node in whose memory `value` is stored
  ShapeTracker st;  ///< from an index of `value` to an element of that memory
};

/// The kernel that computes `stored`: all nodes between these values and other memory. Nodes that are memory (realized,
/// EMPTY, or materialized by another kernel) become LOADs, and movement ops on LOADs and constants become part of their
/// ShapeTrackers. Slots: outputs in the order of `stored`, then inputs in the order in which they are found. Bound
/// variables become plain, with their values in the item. Where `stored` is one value and that is the whole memory of
/// an input, the item has no kernel: its `ast` is the LOAD, and the output is to share the input's memory. Outputs that
/// are CONTIGUOUS or CONCAT get a kernel always.
/// @pre `stored` is not empty, and its values have one shape; a part of a CONCAT comes first
/// @param materialized the materialized nodes of the schedule
/// @param why the item's `why`: why the first output is materialized
/// @param between results between parts of the kernel, which become CONTIGUOUS nodes of it, with their domains
/// @throws Error (domain) where one variable is bound to two values
ScheduleItem kernel_of(const std::vector<Stored>& stored,
                       const std::unordered_map<const LazyNode*, Boundary>& materialized, Boundary why,
                       const std::unordered_map<const LazyNode*, Ints>& between = {});

/// Merges kernels that have the same shape, share an input and are at the same level, into one kernel with several
/// stores, so that the input is read once. The level of an item is the length of the longest chain of items in front of
/// it, so that no item depends on another one of its level. Kernels of parts of a CONCAT, copies and shared memory are
/// not merged, nor two kernels with a contraction each (contraction.h). Returns the items by level, and in their order
/// within a level.
/// @param most_nodes the most nodes of a merged kernel: the sum over the kernels that it is merged of
std::vector<ScheduleItem> joined(std::vector<ScheduleItem> items, std::size_t most_nodes);

}  // namespace strata
