// Linear algebra of tensors: systems of equations, determinants, inverses and factorizations (LU, Cholesky, QR), in the
// namespace linalg and named as in torch.linalg.
//
// A matrix is the last two dimensions of a tensor; the dimensions in front are a batch of matrices. Elements are f32 or
// f64; other dtypes are cast to f32. A matrix of n rows takes n steps of a few kernels, and all steps share the same
// compiled kernels: meant for matrices up to some hundred rows. Gradients are formulas over the same functions and can
// be differentiated again.
//
// No function looks at the elements of a matrix, so none throws for a singular matrix (its solutions are infinite or
// NaN, the gradient of its determinant is NaN) or for one that is not positive definite (its Cholesky factor contains
// NaNs).
#pragma once

#include "strata/tensor/tensor.h"

namespace strata::linalg {

#define STRATA_ARRAY Tensor
#define STRATA_OPERAND Operand
#define STRATA_LINALG(result, name, parameters, ...) \
  STRATA_RESULT(result) name(STRATA_DECLARED(parameters), At at = At::current());
#include "strata/ops/operations.def"
#undef STRATA_ARRAY
#undef STRATA_OPERAND

/// The factors of lu(): a permutation matrix, a lower triangular matrix with ones on its diagonal, an upper triangular
/// one.
struct Lu {
  Tensor p, l, u;
};
/// The LU factorization with partial pivoting: a == p @ l @ u. Gradients exist for square matrices only.
Lu lu(const Tensor& a, At at = At::current());

}  // namespace strata::linalg
