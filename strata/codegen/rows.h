// rows_outside(): chooses the order of output loops such that loops on which a reduction depends (its rows) are outside
// of loops on which it does not depend. Then each reduction is computed once per row, not once per output. E.g. in
// softmax the row's maximum. lanes_along_row(): vectors along a row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "strata/codegen/axes.h"
#include "strata/ir/uop.h"

namespace strata {

/// The REORDER; nothing where the order of `axes` is good already.
/// @param plain the graph of the kernel lowered without Opts
/// @param counters the loop counters of `plain`, with the axis of each
std::optional<Opt> rows_outside(const UOpGraph& plain, const KernelAxes& axes,
                                std::span<const std::pair<Variable, std::size_t>> counters);

/// The number of lanes along a row that is reduced, at most `lanes`, and kSumLanes or more where that is possible: that
/// with the fewest vectors and single elements. E.g. 32 for 100 bytes and 64 lanes: 3 vectors and 4 bytes, not 1
/// and 36.
std::int64_t lanes_along_row(std::int64_t row, std::int64_t lanes);

}  // namespace strata
