// Linear algebra: the factorizations of eliminate.h with their gradients. Each gradient is a formula over the same
// functions and solves systems again, rather than differentiating the elimination.
#include "strata/ops/linear_algebra.h"

#include <array>

#include "strata/ops/eliminate.h"
#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops::linalg {

namespace {

Value transposed(const Value& x) { return x.transpose(-2, -1); }

/// `x` as f32 or f64. @throws Error (shape) naming `operation` unless x has two dimensions of numeric size
Value matrices(const char* operation, const Value& x) {
  STRATA_CHECK(x.ndim() >= 2, shape, "[", operation, "] a tensor of shape ", render(x.shape()), " is not a matrix");
  number_of(x.size(-2), operation), number_of(x.size(-1), operation);
  return x.dtype() == dtypes::float64 ? x : x.cast(dtypes::float32);
}
Value square_matrices(const char* operation, const Value& x) {
  Value out = matrices(operation, x);
  STRATA_CHECK(out.size(-1) == out.size(-2), shape, "[", operation, "] matrices of shape ", render(x.shape()),
               " are not square");
  return out;
}

/// Two operands of one dtype, with the same batch dimensions.
struct System {
  Value a, b;
};
System together(const char* operation, const Value& a, const Value& b) {
  const bool is_wide = a.dtype() == dtypes::float64 || b.dtype() == dtypes::float64;
  const DType dtype = is_wide ? dtypes::float64 : dtypes::float32;
  const auto front = [](const Value& x) {
    Ints out = x.shape();
    out.pop_back(), out.pop_back();
    return out;
  };
  const Ints shape = broadcast_shape(operation, std::array{front(a), front(b)});
  const auto spread = [&](const Value& x) {
    Ints sizes = shape;
    sizes.push_back(x.size(-2)), sizes.push_back(x.size(-1));
    return x.cast(dtype).broadcast_to(sizes);
  };
  return {spread(a), spread(b)};
}

// --- triangular systems ---

/// Solves a triangular system; an upper one is flipped into a lower one.
Value triangular_value(const Value& a, const Value& b, bool unit, bool upper) {
  if (!upper) return forward_substituted(a, b, unit);
  return forward_substituted(a.flip({-2, -1}), b.flip(-2), unit).flip(-2);
}

Value triangle(const Value& x, bool upper, bool unit) { return upper ? x.triu(unit ? 1 : 0) : x.tril(unit ? -1 : 0); }

/// The solution x of a @ x == b for a triangular a, with gradients. @pre a and b have the same batch dimensions
Value triangular(const Value& a, const Value& b, bool upper, bool unit) {
  const Value x = triangular_value(a.detach(), b.detach(), unit, upper);
  const auto backward = [](const Value& dx, const Saved& saved) {
    const Value& matrix = saved[0];
    const bool is_upper = saved.number(0) != 0, is_unit = saved.number(1) != 0;
    const Value by_b = triangular(transposed(matrix), dx, !is_upper, is_unit);
    const Value by_a = -by_b.matmul(transposed(triangular(matrix, saved[1], is_upper, is_unit)));
    return std::vector{triangle(by_a, is_upper, is_unit), by_b};
  };
  return with_gradient(x, std::array{a, b}, backward, Saved({a, b}, {upper ? 1 : 0, unit ? 1 : 0}));
}

// --- systems by LU ---

/// The solution x of a @ x == b, or of a.T @ x == b, without gradients.
Value system_value(const Value& a, const Value& b, bool of_transposed) {
  const Eliminated e = eliminated(a);
  const Value rows = e.rows.unsqueeze(-2);  // (..., 1, n): row i of l @ u is row rows[i] of a
  if (!of_transposed) {
    const Value exchanged = transposed(picked(transposed(b).unsqueeze(-2), rows));
    return triangular_value(e.lu, triangular_value(e.lu, exchanged, true, false), false, true);
  }
  const Value y = triangular_value(transposed(e.lu), b, false, false);
  const Value z = triangular_value(transposed(e.lu), y, true, true);
  return transposed(picked(transposed(z).unsqueeze(-2), e.rows.argsort(-1).unsqueeze(-2)));
}

Value solved(const Value& a, const Value& b, bool of_transposed) {
  const Value x = system_value(a.detach(), b.detach(), of_transposed);
  const auto backward = [](const Value& dx, const Saved& saved) {
    const bool is_of_transposed = saved.number(0) != 0;
    const Value by_b = solved(saved[0], dx, !is_of_transposed), again = solved(saved[0], saved[1], is_of_transposed);
    const Value by_a = is_of_transposed ? again.matmul(transposed(by_b)) : by_b.matmul(transposed(again));
    return std::vector{-by_a, by_b};
  };
  return with_gradient(x, std::array{a, b}, backward, Saved({a, b}, {of_transposed ? 1 : 0}));
}

Value identity_like(const Value& a) {
  const std::int64_t n = a.size(-1).value();
  return Value::eye(n, {}, a.dtype()).broadcast_to(a.shape());
}

Value inverse_of(const Value& a) { return solved(a, identity_like(a), false); }

/// A number per matrix, (...), shaped (..., 1, 1) to multiply the matrix.
Value by_matrix(const Value& x) { return x.unsqueeze(-1).unsqueeze(-1); }

Value determinant(const Value& a) {
  const Eliminated e = eliminated(a.detach());
  const Value value = e.lu.diagonal(0, -2, -1).prod(-1) * e.sign;
  const auto backward = [](const Value& dy, const Saved& saved) {
    const Value& x = saved[0];
    return std::vector{by_matrix(dy * determinant(x)) * transposed(inverse_of(x))};
  };
  return with_gradient(value, {&a, 1}, backward, Saved({a}));
}

std::pair<Value, Value> log_determinant(const Value& a) {
  const Eliminated e = eliminated(a.detach());
  const Value diagonal = e.lu.diagonal(0, -2, -1);
  const Value value = diagonal.abs().log().sum(-1);
  const auto backward = [](const Value& dy, const Saved& saved) {
    return std::vector{by_matrix(dy) * transposed(inverse_of(saved[0]))};
  };
  return {diagonal.sign().prod(-1) * e.sign, with_gradient(value, {&a, 1}, backward, Saved({a}))};
}

// --- factors ---

/// The lower triangle with its diagonal halved.
Value lower_half(const Value& x) { return x.tril() - x.tril().triu() * 0.5; }

/// The Cholesky factor l, with its gradient: sym(l^-T half(l.T dl) l^-1), where half() is lower_half().
Value lower_factor(const Value& a) {
  const auto backward = [](const Value& dl, const Saved& saved) {
    const Value l = lower_factor(saved[0]);
    const Value half = lower_half(transposed(l).matmul(dl));
    // l^-T half l^-1
    const Value left = triangular(transposed(l), half, true, false);
    const Value by_a = transposed(triangular(transposed(l), transposed(left), true, false));
    return std::vector{(by_a + transposed(by_a)) * 0.5};
  };
  return with_gradient(cholesky_columns(a.detach()).tril(), {&a, 1}, backward, Saved({a}));
}

/// (..., m, m): the permutation matrix with ones at (rows[i], i).
Value permutation_of(const Value& rows, DType dtype) {
  return counting(rows.size(-1)).unsqueeze(1).eq(rows.unsqueeze(-2)).cast(dtype);
}

Lu factors_of(const Value& a);

/// The gradient by the matrix saved[0], whose LU factors are `f` and permutation saved[1] is p: p l^-T inner u^-T.
std::vector<Value> by_factors(const Saved& saved, const Lu& f, const Value& inner) {
  const Value left = triangular(transposed(f.l), inner, true, true);
  const Value both = transposed(triangular(f.u, transposed(left), true, false));
  return {saved[1].matmul(both)};
}
/// Computes the factors again, for a gradient. @throws Error (undefined) unless the matrices are square
Lu factors_again(const Saved& saved) {
  const Value& a = saved[0];
  STRATA_CHECK(a.size(-2) == a.size(-1), undefined, "[lu] matrices of ", a.size(-2).render(), " by ",
               a.size(-1).render(), " have no gradient: only square matrices have one");
  return factors_of(a);
}

Lu factors_of(const Value& a) {
  const Eliminated e = eliminated(a.detach());
  const std::int64_t m = a.size(-2).value(), n = a.size(-1).value(), k = std::min(m, n);
  const Value p = permutation_of(e.rows, a.dtype());
  const Value unit = Value::eye(m, k, a.dtype());
  const Value l = e.lu.narrow(-1, 0, k).tril(-1) + unit, u = e.lu.narrow(-2, 0, k).triu();
  const auto by_l = [](const Value& dl, const Saved& saved) {
    const Lu f = factors_again(saved);
    return by_factors(saved, f, transposed(f.l).matmul(dl).tril(-1));
  };
  const auto by_u = [](const Value& du, const Saved& saved) {
    const Lu f = factors_again(saved);
    return by_factors(saved, f, du.matmul(transposed(f.u)).triu());
  };
  return {p, with_gradient(l, {&a, 1}, by_l, Saved({a, p})), with_gradient(u, {&a, 1}, by_u, Saved({a, p}))};
}

std::pair<Value, Value> orthogonal_factors(const Value& a, bool reduced);

/// The gradient of QR: (dq + q copyltu(r dr.T - dq.T q)) r^-T, where copyltu mirrors the lower triangle to the upper
/// one. `saved` has the matrices, and whether the factors are reduced.
std::vector<Value> by_orthogonal_factors(const Saved& saved, const std::optional<Value>& dq,
                                         const std::optional<Value>& dr) {
  const Value& a = saved[0];
  const bool reduced = saved.number(0) != 0;
  const std::int64_t m = a.size(-2).value(), n = a.size(-1).value();
  STRATA_CHECK(m == n || (m > n && reduced), undefined, "[qr] the ", reduced ? "reduced" : "complete",
               " factors of matrices of ", m, " by ", n, " have no gradient");
  const auto [q, r] = orthogonal_factors(a, reduced);
  const Value inner = dr ? r.matmul(transposed(*dr)) : -transposed(*dq).matmul(q);
  const Value mirrored = inner.tril() + transposed(inner.tril(-1));
  const Value sum = dq ? *dq + q.matmul(mirrored) : q.matmul(mirrored);
  return {transposed(triangular(r, transposed(sum), true, false))};
}

std::pair<Value, Value> orthogonal_factors(const Value& a, bool reduced) {
  const auto [q, r] = householder(a.detach(), reduced);
  const Saved saved({a}, {reduced ? 1 : 0});
  const auto by_q = [](const Value& dq, const Saved& s) { return by_orthogonal_factors(s, dq, {}); };
  const auto by_r = [](const Value& dr, const Saved& s) { return by_orthogonal_factors(s, {}, dr); };
  return {with_gradient(q, {&a, 1}, by_q, saved), with_gradient(r, {&a, 1}, by_r, saved)};
}

}  // namespace

Value solve(const Value& a, const Value& b) {
  const Value matrix = square_matrices("solve", a);
  const bool is_vector = b.ndim() == 1 || b.ndim() == a.ndim() - 1;
  const Value columns = is_vector ? b.unsqueeze(-1) : b;
  STRATA_CHECK(columns.ndim() >= 2 && columns.size(-2) == matrix.size(-1), shape, "[solve] matrices of shape ",
               render(a.shape()), " do not match right sides of shape ", render(b.shape()));
  const auto [left, right] = together("solve", matrix, columns);
  const Value x = solved(left, right, false);
  return is_vector ? x.squeeze(-1) : x;
}

Value solve_triangular(const Value& a, const Value& b, const TriangularOptions& o) {
  if (!o.left)
    return transposed(
        solve_triangular(transposed(a), transposed(b), {.upper = !o.upper, .unitriangular = o.unitriangular}));
  const Value matrix = square_matrices("solve_triangular", a), columns = matrices("solve_triangular", b);
  STRATA_CHECK(columns.size(-2) == matrix.size(-1), shape, "[solve_triangular] matrices of shape ", render(a.shape()),
               " do not match right sides of shape ", render(b.shape()));
  const auto [left, right] = together("solve_triangular", matrix, columns);
  return triangular(left, right, o.upper, o.unitriangular);
}

Value inv(const Value& a) { return inverse_of(square_matrices("inv", a)); }
Value det(const Value& a) { return determinant(square_matrices("det", a)); }
std::pair<Value, Value> slogdet(const Value& a) { return log_determinant(square_matrices("slogdet", a)); }
Value logdet(const Value& a) {
  const auto [sign, logarithm] = log_determinant(square_matrices("logdet", a));
  return sign.lt(0).where(std::numeric_limits<double>::quiet_NaN(), logarithm);
}

Value cholesky(const Value& a, bool upper) {
  const Value l = lower_factor(square_matrices("cholesky", a));
  return upper ? transposed(l) : l;
}
Lu lu(const Value& a) { return factors_of(matrices("lu", a)); }
std::pair<Value, Value> qr(const Value& a, bool reduced) { return orthogonal_factors(matrices("qr", a), reduced); }

/// Scaling and squaring: the matrix is divided by 2^times, so that its norm is at most 1; there the Taylor polynomial
/// of degree 18 has an error of 2^-56; the result is squared `times` times.
Value matrix_exp(const Value& a) {
  constexpr int kDegree = 18, kMostSquarings = 20;
  Value x = square_matrices("matrix_exp", a);
  if (x.numel() == Int(0)) return x;
  const Value unit = identity_like(x);
  const Value norm = x.detach().abs().sum(-1).max(-1);  // (...)
  const Value times = norm.log2().ceil().clip(0, kMostSquarings).contiguous();
  const Value small = (x * by_matrix((-times).exp2())).contiguous();
  Value sum = unit;
  for (int k = kDegree; k > 0; --k) sum = (unit + small.matmul(sum) * (1.0 / static_cast<double>(k))).contiguous();
  for (int k = 0; k < kMostSquarings; ++k) sum = by_matrix(times.gt(k)).where(sum.matmul(sum), sum).contiguous();
  return sum;
}

}  // namespace strata::ops::linalg
