// The least and the largest value of a piecewise affine function. Loops and MemoryRef use it to check addresses before
// the first element is visited. Internal to view/ and loops/.
#pragma once

#include <cstdint>
#include <optional>

#include "strata/view/piecewise.h"

namespace strata {

/// The least and the largest value of a function over its valid points, and a point that takes each.
struct PieceRange {
  std::int64_t min = 0, max = 0;
  Index at_min, at_max;
};
/// The result of `range`.
struct RangeResult {
  bool complete = false;            ///< false when the budget ran out; `range` is then unknown
  std::optional<PieceRange> range;  ///< nothing when no point is valid
};
/// The exact range of `f`. @throws Error (overflow) when a value does not fit in 64 bits.
RangeResult range(const Piecewise& f, std::uint64_t budget);

namespace detail {
/// The work limit for checks before a loop's or a MemoryRef's first element, in the unit of Pieces.
inline constexpr std::uint64_t kMostWork = std::uint64_t{1} << 24;
}  // namespace detail

}  // namespace strata
