// Matrices (..., m, n) a column after another. No gradient passes: linear_algebra.cpp has the formulas.
#pragma once

#include <utility>

#include "strata/ops/value.h"

namespace strata::ops::linalg {

/// Row i of l @ u is row rows[i] of the matrix: l below the diagonal of `lu`, which is 1, u on it and above.
struct Eliminated {
  Value lu, rows;  ///< rows (..., m) of i64
  Value sign;      ///< (...): of the order of rows
};
Eliminated eliminated(const Value& a);

/// x with l @ x == b, l being the lower triangle of `a`; unit: its diagonal counts as 1.
Value forward_substituted(const Value& a, const Value& b, bool unit);

/// The Cholesky factor of the lower triangle; above it anything.
Value cholesky_columns(const Value& a);

/// q and r by reflections, with LAPACK's signs.
std::pair<Value, Value> householder(const Value& a, bool reduced);

}  // namespace strata::ops::linalg
