// Systems of equations, determinants, factors of matrices.
//
// Matrices are the last two dimensions; dimensions in front are so many matrices. Elements are f32 or f64; others are made f32.
// A matrix of n rows takes n steps of a few kernels each, which are the same for all steps: for small matrices and middling ones, up
// to some hundred rows. Gradients are formulas over the same functions and can be differentiated again.
//
// What a matrix is, is not known before it runs: nothing is raised for one that is singular (its solutions are infinite or NaN, the
// gradient of its determinant NaN) or not positive definite (its Cholesky factor has NaNs).
#pragma once

#include "strata/tensor/tensor.h"

namespace strata::linalg {

/// x with a @ x == b: b is (..., n, k), or (..., n) where it has one dimension less than a.
/// @throws Error (shape) unless a is square and of b's rows
Tensor solve(const Tensor& a, const Tensor& b, At at = At::current());
/// What solve_triangular() takes for granted.
struct TriangularOptions {
  bool upper = false;          ///< which triangle is read
  bool unitriangular = false;  ///< the diagonal counts as 1
  bool left = true;            ///< a @ x == b, else x @ a == b
};
Tensor solve_triangular(const Tensor& a, const Tensor& b, const TriangularOptions& options = {},
                        At at = At::current());
Tensor inv(const Tensor& a, At at = At::current());
Tensor det(const Tensor& a, At at = At::current());
/// Sign, and the logarithm of the absolute value, -infinity of 0.
std::pair<Tensor, Tensor> slogdet(const Tensor& a, At at = At::current());
/// The logarithm, NaN where the determinant is below 0.
Tensor logdet(const Tensor& a, At at = At::current());

/// l with l @ l.T == a, of a's lower triangle; or (upper) l.T.
Tensor cholesky(const Tensor& a, bool upper = false, At at = At::current());

/// The factors of lu().
struct Lu {
  Tensor p, l, u;
};
/// a == p @ l @ u: rows exchanged so that the largest of a column divides. Gradients of square ones.
Lu lu(const Tensor& a, At at = At::current());

/// a == q @ r. Reduced: q is (m, min(m, n)), else (m, m). Signs are LAPACK's. Gradients where m >= n, of reduced ones or square ones.
std::pair<Tensor, Tensor> qr(const Tensor& a, bool reduced = true, At at = At::current());

/// The sum of a^k / k!, by a series of a / 2^s that is squared s times. Exact to some ULP of its largest element for norms up to 2^20.
Tensor matrix_exp(const Tensor& a, At at = At::current());

}  // namespace strata::linalg
