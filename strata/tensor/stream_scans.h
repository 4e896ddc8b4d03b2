// Running totals and linear recurrences along the positions of a stream, as loops: the state of a loop goes on from
// block to block (stream_plan.h). Internal to tensor/.
#pragma once

#include <optional>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata::stream {

/// The value of an ASSOCIATIVE_SCAN as that of a loop of a step for each position. The step combines in the order of
/// ir/scan_order.h, so that the result has the same bits. The state is the running total, of a recurrence the last
/// results, and for sums and products of floats the totals inside of the group and of the groups, runs and blocks in
/// front, and the place.
/// @param each by source: its elements at a position, where they are the same at all
LazyOp loop_of_scan(const LazyOp& scan, const std::vector<std::optional<LazyOp>>& each);

}  // namespace strata::stream
