// Elimination, a column after another. The number of the column is an element in memory that counts up, so that all steps are the
// same kernels.
#include "strata/tensor/linear_algebra.h"

#include <array>

#include "strata/tensor/access.h"
#include "strata/tensor/autograd.h"
#include "strata/tensor/eliminate.h"
#include "strata/tensor/indexed.h"

namespace strata::linalg {

namespace {

Tensor transposed(const Tensor& x) { return x.transpose(-2, -1); }

/// As f32 or f64. @throws Error (shape) naming `operation` unless it has matrices
Tensor matrices(const char* operation, const Tensor& x) {
  STRATA_CHECK(x.ndim() >= 2, shape, "[", operation, "] a tensor of shape ", render(x.shape()),
               " is no matrix");
  number_of(x.size(-2), operation), number_of(x.size(-1), operation);
  return x.dtype() == dtypes::float64 ? x : x.cast(dtypes::float32);
}
Tensor square_matrices(const char* operation, const Tensor& x) {
  Tensor out = matrices(operation, x);
  STRATA_CHECK(out.size(-1) == out.size(-2), shape, "[", operation, "] matrices of shape ",
               render(x.shape()), " are not square");
  return out;
}

/// Of two operands: one dtype, and the same dimensions in front of the matrices.
struct System {
  Tensor a, b;
};
System together(const char* operation, const Tensor& a, const Tensor& b) {
  const bool is_wide = a.dtype() == dtypes::float64 || b.dtype() == dtypes::float64;
  const DType dtype = is_wide ? dtypes::float64 : dtypes::float32;
  const auto front = [](const Tensor& x) {
    Ints out = x.shape();
    out.pop_back(), out.pop_back();
    return out;
  };
  const Ints shape = broadcast_shape(operation, std::array{front(a), front(b)});
  const auto spread = [&](const Tensor& x) {
    Ints sizes = shape;
    sizes.push_back(x.size(-2)), sizes.push_back(x.size(-1));
    return x.cast(dtype).broadcast_to(sizes);
  };
  return {spread(a), spread(b)};
}

// --- triangular systems ---

/// @pre lower: flipped where it is upper
Tensor triangular_value(const Tensor& a, const Tensor& b, bool unit, bool upper) {
  if (!upper) return forward_substituted(a, b, unit);
  return forward_substituted(a.flip({-2, -1}), b.flip(-2), unit).flip(-2);
}

Tensor triangle(const Tensor& x, bool upper, bool unit) {
  return upper ? x.triu(unit ? 1 : 0) : x.tril(unit ? -1 : 0);
}

/// a @ x == b of one triangle; a and b of the same dimensions in front.
Tensor triangular(const Tensor& a, const Tensor& b, bool upper, bool unit) {
  const Tensor x = triangular_value(a.detach(), b.detach(), unit, upper);
  const auto backward = [](const Tensor& dx, const Saved& saved) {
    const Tensor matrix = saved[0];
    const bool is_upper = saved.number(0) != 0, is_unit = saved.number(1) != 0;
    const Tensor by_b = triangular(transposed(matrix), dx, !is_upper, is_unit);
    const Tensor by_a = -by_b.matmul(transposed(triangular(matrix, saved[1], is_upper, is_unit)));
    return std::vector{triangle(by_a, is_upper, is_unit), by_b};
  };
  return with_gradient(x, std::array{a, b}, backward, Saved({a, b}, {upper ? 1 : 0, unit ? 1 : 0}));
}

// --- systems by LU ---

/// a @ x == b, or a.T @ x == b.
Tensor system_value(const Tensor& a, const Tensor& b, bool of_transposed) {
  const Eliminated e = eliminated(a);
  const Tensor rows = e.rows.unsqueeze(-2);  // (..., 1, n): row i of l @ u is row rows[i] of a
  if (!of_transposed) {
    const Tensor exchanged = transposed(picked(transposed(b).unsqueeze(-2), rows));
    return triangular_value(e.lu, triangular_value(e.lu, exchanged, true, false), false, true);
  }
  const Tensor y = triangular_value(transposed(e.lu), b, false, false);
  const Tensor z = triangular_value(transposed(e.lu), y, true, true);
  return transposed(picked(transposed(z).unsqueeze(-2), e.rows.argsort(-1).unsqueeze(-2)));
}

Tensor solved(const Tensor& a, const Tensor& b, bool of_transposed) {
  const Tensor x = system_value(a.detach(), b.detach(), of_transposed);
  const auto backward = [](const Tensor& dx, const Saved& saved) {
    const bool is_of_transposed = saved.number(0) != 0;
    const Tensor by_b = solved(saved[0], dx, !is_of_transposed),
                 again = solved(saved[0], saved[1], is_of_transposed);
    const Tensor by_a =
        is_of_transposed ? again.matmul(transposed(by_b)) : by_b.matmul(transposed(again));
    return std::vector{-by_a, by_b};
  };
  return with_gradient(x, std::array{a, b}, backward, Saved({a, b}, {of_transposed ? 1 : 0}));
}

Tensor identity_like(const Tensor& a) {
  const std::int64_t n = a.size(-1).value();
  return Tensor::eye(n, {}, a.dtype()).to(a.device()).broadcast_to(a.shape());
}

Tensor inverse_of(const Tensor& a) { return solved(a, identity_like(a), false); }

/// A number for each matrix as one that multiplies the matrix.
Tensor by_matrix(const Tensor& x) { return x.unsqueeze(-1).unsqueeze(-1); }

Tensor determinant(const Tensor& a) {
  const Eliminated e = eliminated(a.detach());
  const Tensor value = e.lu.diagonal(0, -2, -1).prod(-1) * e.sign;
  const auto backward = [](const Tensor& dy, const Saved& saved) {
    const Tensor x = saved[0];
    return std::vector{by_matrix(dy * determinant(x)) * transposed(inverse_of(x))};
  };
  return with_gradient(value, {&a, 1}, backward, Saved({a}));
}

std::pair<Tensor, Tensor> log_determinant(const Tensor& a) {
  const Eliminated e = eliminated(a.detach());
  const Tensor diagonal = e.lu.diagonal(0, -2, -1);
  const Tensor value = diagonal.abs().log().sum(-1);
  const auto backward = [](const Tensor& dy, const Saved& saved) {
    return std::vector{by_matrix(dy) * transposed(inverse_of(saved[0]))};
  };
  return {diagonal.sign().prod(-1) * e.sign, with_gradient(value, {&a, 1}, backward, Saved({a}))};
}

// --- factors ---

/// The lower triangle, its diagonal halved.
Tensor lower_half(const Tensor& x) { return x.tril() - x.tril().triu() * 0.5; }

Tensor lower_factor(const Tensor& a) {
  const auto backward = [](const Tensor& dl, const Saved& saved) {
    const Tensor l = lower_factor(saved[0]);
    const Tensor half = lower_half(transposed(l).matmul(dl));
    // l^-T half l^-1
    const Tensor left = triangular(transposed(l), half, true, false);
    const Tensor by_a = transposed(triangular(transposed(l), transposed(left), true, false));
    return std::vector{(by_a + transposed(by_a)) * 0.5};
  };
  return with_gradient(cholesky_columns(a.detach()).tril(), {&a, 1}, backward, Saved({a}));
}

/// (..., m, m): 1 where row rows[i] meets column i.
Tensor permutation_of(const Tensor& rows, DType dtype) {
  return counting(rows.size(-1), rows).unsqueeze(1).eq(rows.unsqueeze(-2)).cast(dtype);
}

Lu factors_of(const Tensor& a);

/// The gradient by matrices (saved[0]), p (saved[1]) of whose factors are f: p l^-T (inner) u^-T.
std::vector<Tensor> by_factors(const Saved& saved, const Lu& f, const Tensor& inner) {
  const Tensor left = triangular(transposed(f.l), inner, true, true);
  const Tensor both = transposed(triangular(f.u, transposed(left), true, false));
  return {saved[1].matmul(both)};
}
/// The factors once more. @throws Error (undefined) unless the matrices are square
Lu factors_again(const Saved& saved) {
  const Tensor a = saved[0];
  STRATA_CHECK(a.size(-2) == a.size(-1), undefined, "[lu] no gradient of matrices of ",
               a.size(-2).render(), " by ", a.size(-1).render(), ": of square ones alone");
  return factors_of(a);
}

Lu factors_of(const Tensor& a) {
  const Eliminated e = eliminated(a.detach());
  const std::int64_t m = a.size(-2).value(), n = a.size(-1).value(), k = std::min(m, n);
  const Tensor p = permutation_of(e.rows, a.dtype());
  const Tensor unit = Tensor::eye(m, k, a.dtype()).to(a.device());
  const Tensor l = e.lu.narrow(-1, 0, k).tril(-1) + unit, u = e.lu.narrow(-2, 0, k).triu();
  const auto by_l = [](const Tensor& dl, const Saved& saved) {
    const Lu f = factors_again(saved);
    return by_factors(saved, f, transposed(f.l).matmul(dl).tril(-1));
  };
  const auto by_u = [](const Tensor& du, const Saved& saved) {
    const Lu f = factors_again(saved);
    return by_factors(saved, f, du.matmul(transposed(f.u)).triu());
  };
  return {p, with_gradient(l, {&a, 1}, by_l, Saved({a, p})),
          with_gradient(u, {&a, 1}, by_u, Saved({a, p}))};
}

std::pair<Tensor, Tensor> orthogonal_factors(const Tensor& a, bool reduced);

/// (dq + q copyltu(r dr.T - dq.T q)) r^-T, where copyltu mirrors the lower triangle. saved: the matrices; whether reduced
std::vector<Tensor> by_orthogonal_factors(const Saved& saved, const std::optional<Tensor>& dq,
                                          const std::optional<Tensor>& dr) {
  const Tensor a = saved[0];
  const bool reduced = saved.number(0) != 0;
  const std::int64_t m = a.size(-2).value(), n = a.size(-1).value();
  STRATA_CHECK(m == n || (m > n && reduced), undefined, "[qr] no gradient of ",
               reduced ? "reduced" : "complete", " factors of matrices of ", m, " by ", n);
  const auto [q, r] = orthogonal_factors(a, reduced);
  const Tensor inner = dr ? r.matmul(transposed(*dr)) : -transposed(*dq).matmul(q);
  const Tensor mirrored = inner.tril() + transposed(inner.tril(-1));
  const Tensor sum = dq ? *dq + q.matmul(mirrored) : q.matmul(mirrored);
  return {transposed(triangular(r, transposed(sum), true, false))};
}

std::pair<Tensor, Tensor> orthogonal_factors(const Tensor& a, bool reduced) {
  const auto [q, r] = householder(a.detach(), reduced);
  const Saved saved({a}, {reduced ? 1 : 0});
  const auto by_q = [](const Tensor& dq, const Saved& s) { return by_orthogonal_factors(s, dq, {}); };
  const auto by_r = [](const Tensor& dr, const Saved& s) { return by_orthogonal_factors(s, {}, dr); };
  return {with_gradient(q, {&a, 1}, by_q, saved), with_gradient(r, {&a, 1}, by_r, saved)};
}

}  // namespace

Tensor solve(const Tensor& a, const Tensor& b, At at) {
  const OriginScope scope("solve", at);
  const Tensor matrix = square_matrices("solve", a);
  const bool is_vector = b.ndim() == 1 || b.ndim() == a.ndim() - 1;
  const Tensor columns = is_vector ? b.unsqueeze(-1) : b;
  STRATA_CHECK(columns.ndim() >= 2 && columns.size(-2) == matrix.size(-1), shape,
               "[solve] matrices of shape ", render(a.shape()), " and right sides of shape ",
               render(b.shape()));
  const auto [left, right] = together("solve", matrix, columns);
  const Tensor x = solved(left, right, false);
  return is_vector ? x.squeeze(-1) : x;
}

Tensor solve_triangular(const Tensor& a, const Tensor& b, const TriangularOptions& o, At at) {
  const OriginScope scope("solve_triangular", at);
  if (!o.left)
    return transposed(solve_triangular(transposed(a), transposed(b),
                                       {.upper = !o.upper, .unitriangular = o.unitriangular}, at));
  const Tensor matrix = square_matrices("solve_triangular", a),
               columns = matrices("solve_triangular", b);
  STRATA_CHECK(columns.size(-2) == matrix.size(-1), shape, "[solve_triangular] matrices of shape ",
               render(a.shape()), " and right sides of shape ", render(b.shape()));
  const auto [left, right] = together("solve_triangular", matrix, columns);
  return triangular(left, right, o.upper, o.unitriangular);
}

Tensor inv(const Tensor& a, At at) {
  const OriginScope scope("inv", at);
  return inverse_of(square_matrices("inv", a));
}
Tensor det(const Tensor& a, At at) {
  const OriginScope scope("det", at);
  return determinant(square_matrices("det", a));
}
std::pair<Tensor, Tensor> slogdet(const Tensor& a, At at) {
  const OriginScope scope("slogdet", at);
  return log_determinant(square_matrices("slogdet", a));
}
Tensor logdet(const Tensor& a, At at) {
  const OriginScope scope("logdet", at);
  const auto [sign, logarithm] = log_determinant(square_matrices("logdet", a));
  return sign.lt(0).where(std::numeric_limits<double>::quiet_NaN(), logarithm);
}

Tensor cholesky(const Tensor& a, bool upper, At at) {
  const OriginScope scope("cholesky", at);
  const Tensor l = lower_factor(square_matrices("cholesky", a));
  return upper ? transposed(l) : l;
}
Lu lu(const Tensor& a, At at) {
  const OriginScope scope("lu", at);
  return factors_of(matrices("lu", a));
}
std::pair<Tensor, Tensor> qr(const Tensor& a, bool reduced, At at) {
  const OriginScope scope("qr", at);
  return orthogonal_factors(matrices("qr", a), reduced);
}

/// Degree 18 of a matrix whose norm is at most 1 leaves 2^-56.
Tensor matrix_exp(const Tensor& a, At at) {
  const OriginScope scope("matrix_exp", at);
  constexpr int kDegree = 18, kMostSquarings = 20;
  Tensor x = square_matrices("matrix_exp", a);
  if (x.numel() == Int(0)) return x;
  const Tensor unit = identity_like(x);
  const Tensor norm = x.detach().abs().sum(-1).max(-1);  // (...)
  const Tensor times = norm.log2().ceil().clip(0, kMostSquarings).contiguous();
  const Tensor small = (x * by_matrix((-times).exp2())).contiguous();
  Tensor sum = unit;
  for (int k = kDegree; k > 0; --k)
    sum = (unit + small.matmul(sum) * (1.0 / static_cast<double>(k))).contiguous();
  for (int k = 0; k < kMostSquarings; ++k)
    sum = by_matrix(times.gt(k)).where(sum.matmul(sum), sum).contiguous();
  return sum;
}

}  // namespace strata::linalg
