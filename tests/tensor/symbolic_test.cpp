// Kernels of symbolic sizes: vectors, register tiles and packed operands, with each value of the size and at the ends
// of memory.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "strata/tensor/functional.h"
#include "strata/tensor/jit.h"
#include "tests/tensor/arrays.h"

namespace strata::test {
namespace {

/// The first `size` elements of `x` along dimension d: memory of their own, of numeric or symbolic shape.
Tensor first_of(const Tensor& x, std::size_t d, const Int& size) {
  Mask bounds;
  for (std::size_t t = 0; t < x.shape().size(); ++t) bounds.push_back({0, t == d ? size : x.shape()[t]});
  return x.shrink(bounds).contiguous().realize();
}

/// The function of the first n elements along dimension d gives the same with n as a variable, for each value.
void expect_same(const std::string& name, const std::function<Tensor(const Tensor&)>& function, const Tensor& x,
                 std::size_t d) {
  const std::int64_t most = x.shape()[d].value();
  const Variable n("n", 0, most);
  auto captured = jit(function);
  for (const std::int64_t size : {std::int64_t{1}, std::int64_t{2}, std::int64_t{7}, std::int64_t{8}, std::int64_t{9},
                                  most - 1, most, std::int64_t{0}}) {
    if (size > most) continue;
    const std::vector<double> expected = values_of(function(first_of(x, d, size)));
    const std::vector<double> got = values_of(captured(first_of(x, d, Int(n.bind(size)))));
    ASSERT_EQ(got.size(), expected.size()) << name << ", n = " << size;
    for (std::size_t k = 0; k < got.size(); ++k)
      ASSERT_NEAR(got[k], expected[k], 1e-5 * std::max(1.0, std::abs(expected[k])))
          << name << ", n = " << size << ", at " << k;
  }
}

/// The same for a function of two tensors, of the first n of 40 columns of `x` and the first n elements of `y` along
/// dimension d.
void expect_same_products(const std::function<Tensor(const Tensor&, const Tensor&)>& function, const Tensor& x,
                          const Tensor& y, std::size_t d) {
  const Variable n("n", 0, 40);
  auto captured = jit(function);
  for (const std::int64_t size : {1, 2, 17, 40, 0}) {
    const Int bound(n.bind(size));
    EXPECT_EQ(values_of(captured(first_of(x, 1, bound), first_of(y, d, bound))),
              values_of(function(first_of(x, 1, size), first_of(y, d, size))))
        << size;
  }
}

TEST(Symbolic, RowsAndColumns) {
  const Tensor x = whole_numbers({70, 83}, 1);
  for (const std::size_t d : {std::size_t{0}, std::size_t{1}}) {
    expect_same("softmax", [](const Tensor& v) { return v.softmax(1); }, x, d);
    expect_same("sum", [](const Tensor& v) { return v.sum(1); }, x, d);
    expect_same("sum over rows", [](const Tensor& v) { return v.sum(0); }, x, d);
    expect_same("deviation", [](const Tensor& v) { return v - v.sum(1, true) * 0.25f; }, x, d);
    expect_same("turned", [](const Tensor& v) { return (v.t() * 2).contiguous(); }, x, d);
  }
}

TEST(Symbolic, Products) {
  const Tensor x = whole_numbers({70, 40}, 1), w = whole_numbers({40, 83}, 2), across = whole_numbers({83, 40}, 3);
  for (const bool is_kept : {true, false}) {
    // Weights from outside are packed, others not.
    const auto weights = [&](const Tensor& v) { return is_kept ? v : v + 0; };
    expect_same("rows", [&](const Tensor& v) { return v.matmul(weights(w)) + 1; }, x, 0);
    expect_same("rows, across", [&](const Tensor& v) { return v.matmul(weights(across).t()); }, x, 0);
    expect_same("columns", [&](const Tensor& v) { return weights(x).matmul(v); }, w, 1);
    expect_same("columns, across", [&](const Tensor& v) { return weights(x).matmul(v.t()); }, across, 0);
  }
  expect_same_products([](const Tensor& a, const Tensor& b) { return a.matmul(b); }, x, w, 0);
}

// The packed operand has room for the largest size, and is filled as far as the size goes.
TEST(Symbolic, LengthsOfSumsAcross) {
  const Tensor x = whole_numbers({70, 40}, 1), y = whole_numbers({83, 40}, 2), images = whole_numbers({6, 5, 9, 40}, 3);
  expect_same("x @ x^T", [](const Tensor& v) { return v.matmul(v.t()) + 1; }, x, 1);
  expect_same(
      "sums over two axes", [](const Tensor& v) { return (v.unsqueeze(1) * v.unsqueeze(0)).sum({2, 3, 4}); }, images,
      3);
  expect_same_products([](const Tensor& a, const Tensor& b) { return a.matmul(b.t()).relu(); }, x, y, 1);
}

// Offsets that are arguments of kernels are variables that no user has, whatever the user's are called.
TEST(Symbolic, VariablesAreNoOffsetsOfKernels) {
  const Tensor rows = whole_numbers({20, 3}, 1), x = whole_numbers({9}, 2);
  for (const std::int64_t k : {3, 4}) (rows[k] * 7).realize();
  const Variable n("offset0", 1, 9);
  auto both = jit([&](const Tensor& v) { return std::vector<Tensor>{v.sum(), rows[11] * 7}; });
  for (const std::int64_t size : {3, 4, 5, 6, 9}) {
    const std::vector<Tensor> got = both(first_of(x, 0, Int(n.bind(size))));
    EXPECT_EQ(values_of(got[0]), values_of(first_of(x, 0, size).sum())) << size;
    EXPECT_EQ(values_of(got[1]), values_of(first_of(rows, 0, 12)[11] * 7)) << size;
  }
}

TEST(Symbolic, BatchesOfConvolutions) {
  const Tensor x = whole_numbers({10, 8, 14, 13}, 1);
  for (const std::int64_t groups : {1, 2})
    for (const std::int64_t step : {1, 2}) {
      const Tensor w = whole_numbers({34, 8 / groups, 3, 3}, 2);
      const ConvOptions options{.stride = step, .padding = 1, .groups = groups};
      expect_same("convolution", [&](const Tensor& v) { return conv2d(v, w, {}, options).relu(); }, x, 0);
    }
  expect_same("pool", [](const Tensor& v) { return max_pool2d(v, 2); }, x, 0);
}

}  // namespace
}  // namespace strata::test
