// Index expressions compiled to programs of the piecewise engine (piecewise.h), which then finds the boxes on which
// they are affine: an expression alone, or the address of a stack of views at given index expressions. Loops are
// planned with it.
//
// Counters are variables; coordinate j of the program is the value of counters[j], which runs from its least to its
// largest value. Floors and moduli by constants, sums, products, minima and maxima, selections and conditions (0 or 1)
// compile. Refused, with a reason, are among others divisors that are not numbers, variables that are not counters,
// comparisons of values without known bounds, and expressions of more than 2048 operations; the caller then evaluates
// point by point.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "strata/expr/expr.h"
#include "strata/view/piece_range.h"
#include "strata/view/strided.h"

namespace strata {

/// A function for Pieces, or the reason why the expression does not compile.
struct ExprPieces {
  std::optional<Piecewise> function;
  std::string refusal;  ///< e.g. `the divisor idx1 of idx0//idx1 is not a number`; empty when there is a function
};

/// The value of `e` over all values of `counters`; invalid where `valid` is 0. Both must compile.
/// @post value_at(function, at) is e at counters = at, or nothing where valid is 0; where an intermediate value is too
///   large, reading the function (value_at, Pieces, range) throws Error (overflow) instead, never another value
/// @throws Error (domain) when a counter occurs twice; (overflow) when the counters have more than 2^63 - 1 points, or
///   a sum does not fit in 64 bits where all counters are least.
ExprPieces expr_pieces(const Expr& e, std::span<const Variable> counters, const Expr& valid = 1);

/// The address that a stack of views, memory first, gives at `indices`: one expression for each dimension of the last
/// view. Invalid where a view's mask leaves the index out.
/// @pre views is not empty; every index stays inside the shape (check with `range`)
/// @throws Error (shape) for another number of indices; and as above.
ExprPieces expr_pieces(std::span<const Expr> indices, std::span<const Strided> views,
                       std::span<const Variable> counters);

}  // namespace strata
