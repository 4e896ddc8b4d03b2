// The factorization loops of linear algebra, column by column, on batches of matrices (..., m, n): LU, triangular
// solve, Cholesky and Householder QR. They compute values without gradients; linear_algebra.cpp adds the gradients.
#pragma once

#include <utility>

#include "strata/ops/value.h"

namespace strata::ops::linalg {

/// An LU factorization with partial pivoting: row i of l @ u is row rows[i] of the matrix.
struct Eliminated {
  Value lu,
      rows;    ///< lu: l below the diagonal (the diagonal of l is 1), u on and above the diagonal; rows: (..., m), i64
  Value sign;  ///< (...), 1 or -1: the sign of the permutation `rows`
};
Eliminated eliminated(const Value& a);

/// Solves l @ x == b for x, where l is the lower triangle of `a`; with `unit` the diagonal of l counts as 1.
Value forward_substituted(const Value& a, const Value& b, bool unit);

/// The Cholesky factor of the lower triangle of `a`, in the lower triangle of the result. The elements above the
/// diagonal are unspecified.
Value cholesky_columns(const Value& a);

/// The QR factorization {q, r} by Householder reflections, with LAPACK's signs. With k = min(m, n), `reduced` gives q
/// (..., m, k) and r
/// (..., k, n); otherwise q is (..., m, m) and r (..., m, n).
std::pair<Value, Value> householder(const Value& a, bool reduced);

}  // namespace strata::ops::linalg
