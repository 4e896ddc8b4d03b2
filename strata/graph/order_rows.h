// The rows that an ORDER sorts, in the memory of its source: views are sorted where they are, if their rows have one
// step, and the dimensions in front of the axis and those behind the axis are one dimension each.
#pragma once

#include <cstdint>
#include <optional>

#include "strata/graph/lazy_op.h"

namespace strata {

/// Rows in memory: element k of row (o, i) is at offset + o*outer_step + i*inner_step + k*step.
struct OrderRows {
  Int outer = 1, inner = 1;  ///< numbers of rows
  Int outer_step = 0, inner_step = 0, step = 0, offset = 0;
};
/// The rows along `axis` of what `st` addresses; nothing where the addresses have no such form.
std::optional<OrderRows> order_rows(const ShapeTracker& st, std::int64_t axis);

/// The node in whose memory an ORDER reads the rows: below the movement of its source, or the source itself.
/// @pre order.op() is ORDER
LazyOp order_memory(const LazyNode& order);

/// The ORDER that `kernel`, a SINK, stores; null where the kernel is another one.
const LazyNode* ordered_by(const LazyOp& kernel);

}  // namespace strata
