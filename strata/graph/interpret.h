// The meaning of a kernel, element by element: the INTERP device, and the oracle of every other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "strata/graph/lazy_op.h"
#include "strata/ir/uop.h"

namespace strata {

/// Values of a kernel's variables, by name.
using NamedValues = std::span<const std::pair<std::string, std::int64_t>>;

/// Computes the whole of each node, sources first, with `evaluate` (ir/uop.h) as the table from op to function; then the
/// stores, in order. Loads see memory as it was before. Reductions run in row-major order, in the dtype of their operand.
/// @throws Error (domain) for a buffer that is missing or too small, a variable without a value or outside of its bounds,
///   an address outside of its buffer (with the index); (overflow, budget) beyond 2^31 elements of one node
void interpret(const LazyOp& kernel, std::span<const Memory> buffers, NamedValues values = {});

}  // namespace strata
