// The exact range of a piecewise affine function: on each piece the extremes lie at corners.
#include "strata/view/piece_range.h"

#include <utility>

namespace strata {
namespace {

/// The least or the largest value on the piece, and a corner of the piece with this value.
std::pair<Int128, Index> extreme(const Piece& p, bool largest) {
  Int128 value = p.base;
  Index at = p.lo;
  for (std::size_t j = 0; j < at.size(); ++j) {
    if (p.slope[j] == 0 || (p.slope[j] > 0) != largest) continue;
    at[j] += p.extent[j] - 1;
    value += static_cast<Int128>(p.slope[j]) * (p.extent[j] - 1);
  }
  return {value, at};
}

std::int64_t checked(Int128 value) {
  STRATA_CHECK(value >= kNegInf && value <= kPosInf, overflow, "[pieces] a value leaves 64 bits");
  return static_cast<std::int64_t>(value);
}

}  // namespace

RangeResult range(const Piecewise& f, std::uint64_t budget) {
  Pieces pieces(f, budget);
  RangeResult out;
  Piece p;
  while (pieces.next(p)) {
    const auto [low, at_low] = extreme(p, false);
    const auto [high, at_high] = extreme(p, true);
    const std::int64_t min = checked(low), max = checked(high);
    if (!out.range) out.range = {min, max, at_low, at_high};
    if (min < out.range->min) {
      out.range->min = min;
      out.range->at_min = at_low;
    }
    if (max > out.range->max) {
      out.range->max = max;
      out.range->at_max = at_high;
    }
  }
  out.complete = pieces.complete();
  return out;
}

}  // namespace strata
