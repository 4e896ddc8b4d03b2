// The reference interpreter of kernels (graphs of LazyOps): it defines what a kernel means, runs the INTERP device, and
// is the oracle against which all other devices are tested.
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

/// Runs `kernel`, a SINK, on `buffers` (by slot), on the calling thread. Each node is computed whole, sources first,
/// with `evaluate` (ir/uop.h) for each element, and stays in memory until the end; then the stores run in the order of
/// the SINK's sources. So loads see memory as it was before the kernel. LOADs, CONSTs, IOTAs and movement ops that are
/// used only as tables of GATHERs are not computed whole: a GATHER reads single elements through them. A masked element
/// loads as 0 and is not stored; its address is not checked. Sums and products of floats follow ir/sum_order.h; other
/// reductions run in row-major order in the dtype of their operand.
/// @param values of the variables that are not bound; other names are ignored
/// @throws Error (domain) unless `kernel` is a SINK, and for a missing buffer, an address outside of its buffer (the
///   message has the index), a variable without a value or outside of its bounds (which are inclusive); (budget) for a
///   node of more than 2^31 elements, (overflow) where the element count exceeds 64 bits. An Error before the stores
///   leaves the buffers unchanged
void interpret(const LazyOp& kernel, std::span<const Memory> buffers, NamedValues values = {});

}  // namespace strata
