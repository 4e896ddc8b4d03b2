// Construction of kernels: kernel_of() extracts the graph between materialized nodes into one SINK, joined() merges kernels that can run
// as one. Internal to schedule/.
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

/// The kernel that computes `stored`: all nodes between these values and other memory. Realized and materialized nodes become LOADs, and
/// movement ops on leaves become part of the leaves' ShapeTrackers. Slots: outputs first, then inputs. Where the one value is the whole
/// memory of an input, the item has no kernel: its `ast` is the LOAD.
/// @param materialized the materialized nodes of the schedule
ScheduleItem kernel_of(const std::vector<Stored>& stored,
                       const std::unordered_map<const LazyNode*, Boundary>& materialized,
                       Boundary why);

/// Merges kernels that have the same shape, share an input and are at the same level (the longest chain of items from the inputs), into
/// one kernel with several stores. @param most_nodes the most nodes of a merged kernel
std::vector<ScheduleItem> joined(std::vector<ScheduleItem> items, std::size_t most_nodes);

}  // namespace strata
