// joined_memory(): the elements of a CONCAT of parts that are in memory, by copies of runs of bytes. No kernel is
// compiled for what is copied once, and hundreds of parts are no hundreds of kernels.
#pragma once

#include <optional>

#include "strata/graph/lazy_op.h"
#include "strata/runtime/buffer.h"

namespace strata {

/// The memory of `concat`, a CONCAT whose parts are realized memory seen through movement ops, one set of strides each,
/// with rows of a cache line or more that are in one piece; else nothing.
std::optional<Buffer> joined_memory(const LazyOp& concat);

}  // namespace strata
