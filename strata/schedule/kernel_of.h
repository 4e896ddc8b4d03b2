// The kernel of a materialized node: everything between it and other memory, with movement of leaves in their ShapeTrackers.
#pragma once

#include <unordered_map>
#include <vector>

#include "strata/schedule/schedule.h"

namespace strata {

/// A value of a kernel and where it goes.
struct Stored {
  LazyOp value;
  LazyOp output;    ///< the node whose memory it goes to
  ShapeTracker st;  ///< the places in it
};

/// @param materialized the nodes that are materialized
ScheduleItem kernel_of(const std::vector<Stored>& stored,
                       const std::unordered_map<const LazyNode*, Boundary>& materialized,
                       Boundary why);

/// Kernels of one shape at one distance from the inputs which share an input, as one with several stores.
/// @param most_nodes of a kernel
std::vector<ScheduleItem> joined(std::vector<ScheduleItem> items, std::size_t most_nodes);

}  // namespace strata
