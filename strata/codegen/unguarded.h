// Where the conditions of loads and stores hold whatever the other indices are.
#pragma once

#include <limits>
#include <utility>
#include <vector>

#include "strata/codegen/lower.h"

namespace strata {

/// Values of one counter.
struct Unguarded {
  std::int64_t begin = 0, end = std::numeric_limits<std::int64_t>::max();
};

/// By axis, the values of its counter for which the conditions that it decides hold for all values of the others. A condition is decided
/// by the first of `counters` with which its terms grow or fall linearly; others say nothing here.
std::vector<Unguarded> unguarded(const std::vector<Access>& accesses,
                                 const std::vector<std::pair<Variable, std::size_t>>& counters,
                                 std::size_t axes);

}  // namespace strata
