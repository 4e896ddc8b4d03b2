// Closed forms of a function of one integer, guessed from its table; the exact step proves them. Internal to expr/.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "strata/expr/expr.h"

namespace strata {

/// Expressions in `x` that equal `table[t]` at x == lo + t: affine functions, steps, floors and moduli with any shift,
/// kinks (min, max), periodic functions, single points and intervals, and short expansions in the basis {floor((x - lo)
/// / q)}. In no particular order; empty when no form is found.
/// @pre the table holds at least two values, all below 2^60 in magnitude
std::vector<Expr> univariate_forms(const Expr& x, std::int64_t lo, std::span<const std::int64_t> table);

}  // namespace strata
