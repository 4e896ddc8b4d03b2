// Index expressions as programs of the piecewise engine (piecewise.h), so that one engine finds where they are affine:
// alone, or as the indices at which a stack of views is read.
//
// Counters are variables; coordinate j is the value of counters[j]. Floors and moduli by constants, sums, products,
// minima, selections and conditions (0 or 1) are compiled. What cannot be is refused with a reason, never guessed: the
// caller then evaluates point by point.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "strata/expr/expr.h"
#include "strata/view/piecewise.h"
#include "strata/view/strided.h"

namespace strata {

/// A function for Pieces, or why there is none.
struct ExprPieces {
  std::optional<Piecewise> function;
  std::string refusal;  ///< a clause such as `the divisor idx1 of idx0//idx1 is not a number`; empty with a function
};

/// The value of `e` where `valid` is nonzero, for all values of `counters`.
/// @post value_at(function, at) == e at counters = at, where no intermediate leaves 64 bits
/// @throws Error (domain) where a counter occurs twice, (overflow) where the counters have more than 2^63 - 1 points.
ExprPieces expr_pieces(const Expr& e, std::span<const Variable> counters, const Expr& valid = 1);

/// The address that a stack of views, memory first, gives at `indices`: one expression a dimension of the last view.
/// @pre views is not empty, and each index stays inside of the shape (see `range`)
/// @throws Error (shape) for another number of indices, and as above.
ExprPieces expr_pieces(std::span<const Expr> indices, std::span<const Strided> views,
                       std::span<const Variable> counters);

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
