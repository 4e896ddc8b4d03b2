// The values that a piecewise affine function takes: the least and the largest.
#pragma once

#include <cstdint>
#include <optional>

#include "strata/view/piecewise.h"

namespace strata {

/// The least and the largest value of a function where it is valid, and points that take them.
struct PieceRange {
  std::int64_t min = 0, max = 0;
  Index at_min, at_max;
};
/// A range, where the budget sufficed.
struct RangeResult {
  bool complete = false;            ///< false when the budget ran out: `range` is then not known
  std::optional<PieceRange> range;  ///< nothing where the function is nowhere valid
};
/// Exact. @throws Error (overflow)
RangeResult range(const Piecewise& f, std::uint64_t budget);

namespace detail {
/// What a loop or a tensor in memory may cost before its first element, in the unit of Pieces.
inline constexpr std::uint64_t kMostWork = std::uint64_t{1} << 24;
}  // namespace detail

}  // namespace strata
