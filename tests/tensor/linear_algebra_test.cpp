// Systems, determinants and factors: by what they mean (products give the matrix back), with gradients by differences.
#include "strata/tensor/linear_algebra.h"

#include <cmath>

#include "strata/tensor/functional.h"
#include "tests/dtype/special_values.h"
#include "tests/tensor/arrays.h"
#include "tests/tensor/finite_differences.h"

namespace strata::test {
namespace {

using linalg::qr, linalg::lu, linalg::solve;

Tensor matrix(const Ints& shape, std::uint64_t seed = 1) {
  return f64(spread(product(shape).value(), -1, 1, seed), shape);
}
/// Positive definite.
Tensor definite(const Tensor& x) {
  return x.matmul(x.transpose(-2, -1)) + Tensor::eye(x.size(-2).value(), {}, dtypes::float64).to("INTERP");
}
void expect_equal(const Tensor& found, const Tensor& wanted, double tolerance = 1e-11) {
  ASSERT_EQ(found.shape(), wanted.shape());
  const std::vector<double> a = values_of(found), b = values_of(wanted);
  for (std::size_t k = 0; k < a.size(); ++k) ASSERT_NEAR(a[k], b[k], tolerance) << k;
}
Tensor unit(const Tensor& like) {
  return Tensor::eye(like.size(-1).value(), {}, dtypes::float64).to("INTERP").broadcast_to(like.shape());
}

TEST(LinearAlgebra, SystemsAndInverses) {
  for (const std::int64_t n : {1, 2, 3, 7, 16}) {
    const Tensor a = matrix({2, n, n}), b = matrix({2, n, 3}, 2);
    expect_equal(a.matmul(solve(a, b)), b, 1e-9);
    expect_equal(a.matmul(linalg::inv(a)), unit(a), 1e-9);
    const Tensor v = matrix({n}, 3);
    expect_equal(a[0].matmul(solve(a[0], v)), v, 1e-9);
    expect_equal(solve(a[0], b), solve(a[0].unsqueeze(0).expand({2, n, n}), b));
  }
  // The first row has to change places: 0 would divide.
  expect_values(solve(f64({0, 2, 1, 0}, {2, 2}), f64({6, 5}, {2})), {2}, {5, 3});
  expect_values(linalg::inv(f64({2}, {1, 1})), {1, 1}, {0.5});
  EXPECT_EQ(linalg::inv(f64({}, {0, 0})).shape(), Ints({0, 0}));
  EXPECT_EQ(solve(f64({}, {0, 2, 2}), f64({}, {0, 2, 1})).shape(), Ints({0, 2, 1}));
  for (const double x : values_of(linalg::inv(f64({1, 2, 2, 4}, {2, 2})))) EXPECT_FALSE(std::isfinite(x));
  EXPECT_EQ(linalg::inv(i64({2}, {1, 1})).dtype(), dtypes::float32);
  expect_error([] { linalg::inv(f64({1, 2}, {1, 2})); }, "[inv] matrices of shape (1, 2) are not square");
  expect_error([] { linalg::det(f64({1}, {1})); }, "[det] a tensor of shape (1,) is not a matrix");
  expect_error([] { solve(matrix({3, 3}), matrix({2, 3})); },
               "[solve] matrices of shape (3, 3) do not match right sides of shape (2, 3)");
}

TEST(LinearAlgebra, Triangles) {
  const Tensor a = matrix({2, 4, 4}) + unit(matrix({2, 4, 4})) * 2, b = matrix({2, 4, 3}, 2);
  for (const bool upper : {false, true})
    for (const bool unitriangular : {false, true}) {
      Tensor t = upper ? a.triu() : a.tril();
      if (unitriangular) t = (upper ? a.triu(1) : a.tril(-1)) + unit(a);
      const linalg::TriangularOptions o{.upper = upper, .unitriangular = unitriangular};
      expect_equal(t.matmul(linalg::solve_triangular(a, b, o)), b);
      const linalg::TriangularOptions right{.upper = upper, .unitriangular = unitriangular, .left = false};
      const Tensor c = b.transpose(-2, -1);
      expect_equal(linalg::solve_triangular(a, c, right).matmul(t), c);
      expect_gradients([&](const Many& x) { return linalg::solve_triangular(x[0] * 0.5 + unit(x[0]) * 2, x[1], o); },
                       {{3, 3}, {3, 2}});
    }
}

TEST(LinearAlgebra, Determinants) {
  expect_values(linalg::det(f64({1, 2, 3, 4, 2, 0, 0, 2}, {2, 2, 2})), {2}, {-2, 4});
  expect_values(linalg::det(f64({1, 2, 2, 4}, {2, 2})), {}, {0});
  expect_values(linalg::det(f64({}, {2, 0, 0})), {2}, {1, 1});
  const Tensor a = matrix({3, 6, 6});
  const auto [sign, logarithm] = linalg::slogdet(a);
  expect_equal(sign * logarithm.exp(), linalg::det(a));
  expect_values(linalg::slogdet(f64({0, 1, 1, 0}, {2, 2})).first, {}, {-1});
  EXPECT_TRUE(std::isnan(linalg::logdet(f64({0, 1, 1, 0}, {2, 2})).item()));
  EXPECT_EQ(linalg::logdet(f64({0, 0, 0, 0}, {2, 2})).item(), -kInf);
  expect_gradients([](const Many& x) { return linalg::det(x[0]); }, {{2, 3, 3}});
  expect_gradients([](const Many& x) { return linalg::slogdet(x[0]).second; }, {{4, 4}});
}

TEST(LinearAlgebra, FactorsGiveTheMatrixBack) {
  const std::vector<Ints> shapes = {{1, 1}, {5, 5}, {2, 6, 3}, {3, 6}, {2, 1, 4}, {4, 1}, {17, 17}};
  for (const Ints& shape : shapes) {
    const Tensor a = matrix(shape);
    const linalg::Lu f = lu(a);
    expect_equal(f.p.matmul(f.l).matmul(f.u), a);
    expect_equal(f.l.tril(), f.l), expect_equal(f.u.triu(), f.u);
    EXPECT_LE(f.l.abs().max().item(), 1);
    for (const bool reduced : {true, false}) {
      const auto [q, r] = qr(a, reduced);
      expect_equal(q.matmul(r), a), expect_equal(r.triu(), r);
      expect_equal(q.transpose(-2, -1).matmul(q), unit(q.transpose(-2, -1).matmul(q)));
      EXPECT_EQ(q.size(-1), reduced ? Int(std::min(shape.back().value(), a.size(-2).value())) : a.size(-2));
    }
  }
  // Columns of 0, and what is a triangle already.
  expect_values(qr(f64({0, 0, 0, 0}, {2, 2})).second, {2, 2}, {0, 0, 0, 0});
  expect_values(qr(f64({3, 1, 0, 2}, {2, 2})).second, {2, 2}, {3, 1, 0, 2});
  expect_values(qr(f64({3, 4}, {2, 1})).second, {1, 1}, {-5});
  const auto [q, r] = qr(f64({1e200, 1e200}, {2, 1}));
  EXPECT_NEAR(r.item(), -std::sqrt(2) * 1e200, 1e186);
  for (const std::int64_t n : {1, 4, 9}) {
    const Tensor a = definite(matrix({2, n, n})), l = linalg::cholesky(a);
    expect_equal(l.matmul(l.transpose(-2, -1)), a), expect_equal(l.tril(), l);
    expect_equal(linalg::cholesky(a.tril(), true), l.transpose(-2, -1));
  }
  EXPECT_TRUE(linalg::cholesky(f64({1, 2, 2, 1}, {2, 2})).isnan().any().item<bool>());
}

TEST(LinearAlgebra, GradientsOfFactors) {
  expect_gradients([](const Many& x) { return solve(x[0], x[1]); }, {{3, 3}, {2, 3, 2}}, 1e-5);
  expect_gradients([](const Many& x) { return linalg::inv(x[0]); }, {{2, 3, 3}}, 1e-5);
  expect_gradients([](const Many& x) { return linalg::cholesky(definite(x[0])); }, {{2, 3, 3}});
  expect_gradients([](const Many& x) { return linalg::cholesky(definite(x[0]), true); }, {{3, 3}});
  expect_gradients([](const Many& x) { return lu(x[0]).l * 2 + lu(x[0]).u; }, {{3, 3}}, 1e-5);
  for (const Ints& shape : {Ints{3, 3}, Ints{2, 4, 2}}) {
    expect_gradients([](const Many& x) { return qr(x[0]).first; }, {shape}, 1e-5);
    expect_gradients([](const Many& x) { return qr(x[0]).second; }, {shape}, 1e-5);
  }
  Tensor wide = matrix({2, 3});
  wide.requires_grad(true);
  expect_error([&] { qr(wide).first.sum().backward(); },
               "[qr] the reduced factors of matrices of 2 by 3 have no gradient");
  expect_error([&] { lu(wide).l.sum().backward(); }, "[lu] matrices of 2 by 3 have no gradient");
  // Of second order: the gradient of the sum of squares of the first one.
  const auto squares = [](const std::function<Tensor(const Tensor&)>& f) {
    return [f](const Many& x) {
      Tensor at = x[0];
      if (!at.requires_grad()) at.requires_grad(true);
      return gradients(f(at).square().sum(), {&at, 1})[0];
    };
  };
  expect_gradients(squares([](const Tensor& x) { return linalg::inv(x); }), {{2, 2}}, 1e-4);
  expect_gradients(squares([](const Tensor& x) { return linalg::det(x); }), {{3, 3}}, 1e-4);
  expect_gradients(squares([](const Tensor& x) { return linalg::cholesky(definite(x)); }), {{2, 2}}, 1e-4);
}

TEST(LinearAlgebra, Exponentials) {
  expect_equal(linalg::matrix_exp(f64({0, 0, 0, 0}, {2, 2})), unit(matrix({2, 2})));
  const double c = std::cos(3.0), s = std::sin(3.0);
  expect_equal(linalg::matrix_exp(f64({0, -3, 3, 0}, {2, 2})), f64({c, -s, s, c}, {2, 2}), 1e-14);
  expect_equal(linalg::matrix_exp(f64({1, 0, 0, -40, 0, 2, 0, 0}, {2, 2, 2})),
               f64({std::exp(1.0), 0, 0, std::exp(-40.0), 1, 2, 0, 1}, {2, 2, 2}), 1e-13);
  expect_gradients([](const Many& x) { return linalg::matrix_exp(x[0] * 2); }, {{2, 3, 3}});
  EXPECT_EQ(linalg::matrix_exp(f64({}, {0, 0})).shape(), Ints({0, 0}));
}

}  // namespace
}  // namespace strata::test
