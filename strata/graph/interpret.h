// The reference interpreter of kernels (graphs of LazyOps): it defines what a kernel means, runs the INTERP device, and is the oracle
// against which all other devices are tested.
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

/// Runs `kernel`, a SINK, on `buffers` (by slot). Each node is computed whole, sources first, with `evaluate` (ir/uop.h) for each
/// element; then the stores run in order, so that loads see memory as it was before the kernel. Sums and products of floats follow
/// ir/sum_order.h; other reductions run in row-major order in the dtype of their operand.
/// @throws Error (domain) unless `kernel` is a SINK, and for a missing buffer, an address outside of its buffer (the message has the
///   index), a variable without a value or outside of its bounds; (budget) for a node of more than 2^31 elements, (overflow) where
///   the element count exceeds 64 bits
void interpret(const LazyOp& kernel, std::span<const Memory> buffers, NamedValues values = {});

}  // namespace strata
