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
#include "strata/view/piece_range.h"
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

}  // namespace strata
