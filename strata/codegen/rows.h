// Rows outside: outputs that a reduction depends on go around those that it does not, so that it is made once for them.
#pragma once

#include <optional>
#include <span>
#include <utility>

#include "strata/codegen/axes.h"
#include "strata/ir/uop.h"

namespace strata {

/// The REORDER of `axes` that does it; nothing where the loops stand so already.
/// @param plain what the kernel is lowered to without Opts
/// @param counters of the loops of `plain`, and the axis of each
std::optional<Opt> rows_outside(const UOpGraph& plain, const KernelAxes& axes,
                                std::span<const std::pair<Variable, std::size_t>> counters);

}  // namespace strata
