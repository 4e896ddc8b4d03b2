// Matrices (..., m, n) a column after another. No gradient passes: linear_algebra.cpp has the formulas.
#pragma once

#include <utility>

#include "strata/tensor/tensor.h"

namespace strata::linalg {

/// Row i of l @ u is row rows[i] of the matrix: l below the diagonal of `lu`, which is 1, u on it and above.
struct Eliminated {
  Tensor lu, rows;  ///< rows (..., m) of i64
  Tensor sign;      ///< (...): of the order of rows
};
Eliminated eliminated(const Tensor& a);

/// x with l @ x == b, l being the lower triangle of `a`; unit: its diagonal counts as 1.
Tensor forward_substituted(const Tensor& a, const Tensor& b, bool unit);

/// The Cholesky factor of the lower triangle; above it anything.
Tensor cholesky_columns(const Tensor& a);

/// q and r by reflections, with LAPACK's signs.
std::pair<Tensor, Tensor> householder(const Tensor& a, bool reduced);

}  // namespace strata::linalg
