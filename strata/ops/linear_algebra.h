// Formulas of linear algebra on Values: systems of equations, determinants, factorizations. tensor/linear_algebra.h
// declares the same functions for Tensors and documents batches, dtypes, cost and singular matrices.
#pragma once

#include "strata/ops/value.h"

namespace strata::ops::linalg {

using strata::linalg::TriangularOptions;

#define STRATA_ARRAY Value
#define STRATA_OPERAND Operand
#define STRATA_LINALG(result, name, parameters, ...) STRATA_RESULT(result) name(STRATA_DECLARED(parameters));
#include "strata/ops/operations.def"
#undef STRATA_ARRAY
#undef STRATA_OPERAND

/// The factors of lu(): a permutation matrix, a lower triangular matrix with ones on its diagonal, an upper triangular
/// one.
struct Lu {
  Value p, l, u;
};
/// The LU factorization with partial pivoting: a == p @ l @ u. Gradients exist for square matrices only.
Lu lu(const Value& a);

}  // namespace strata::ops::linalg
