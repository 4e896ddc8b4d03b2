// Systems of equations, determinants, factors of matrices.
//
// Matrices are the last two dimensions; dimensions in front are so many matrices. Elements are f32 or f64; others are made f32.
// A matrix of n rows takes n steps of a few kernels each, which are the same for all steps: for small matrices and middling ones, up
// to some hundred rows. Gradients are formulas over the same functions and can be differentiated again.
//
// What a matrix is, is not known before it runs: nothing is raised for one that is singular (its solutions are infinite or NaN, the
// gradient of its determinant NaN) or not positive definite (its Cholesky factor has NaNs).
#pragma once

#include "strata/ops/value.h"

namespace strata::ops::linalg {

using strata::linalg::TriangularOptions;

#define STRATA_ARRAY Value
#define STRATA_OPERAND Operand
#define STRATA_LINALG(result, name, parameters, ...) \
  STRATA_RESULT(result) name(STRATA_DECLARED(parameters));
#include "strata/ops/operations.def"
#undef STRATA_ARRAY
#undef STRATA_OPERAND

/// The factors of lu().
struct Lu {
  Value p, l, u;
};
/// a == p @ l @ u: rows exchanged so that the largest of a column divides. Gradients of square ones.
Lu lu(const Value& a);

}  // namespace strata::ops::linalg
