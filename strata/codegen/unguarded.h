// unguarded(): for each axis, the range of coordinates in which conditions of loads and stores (e.g. of a PAD) always
// hold. The heuristic cuts axes there, so that the middle segment has no conditions.
#pragma once

#include <limits>
#include <utility>
#include <vector>

#include "strata/codegen/lower.h"

namespace strata {

/// The values [begin, end) of a counter.
struct Unguarded {
  std::int64_t begin = 0, end = std::numeric_limits<std::int64_t>::max();
};

/// For each axis, the values of its counter for which the conditions assigned to the axis hold, whatever the values of
/// other counters. A condition `sum < constant` is assigned to the axis of the first of `counters` in which the sum is
/// linear, if that gives a limit; other conditions are ignored. @param axes the number of axes
std::vector<Unguarded> unguarded(const std::vector<Access>& accesses,
                                 const std::vector<std::pair<Variable, std::size_t>>& counters, std::size_t axes);

}  // namespace strata
