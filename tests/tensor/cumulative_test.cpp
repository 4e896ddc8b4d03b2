// Cumulative reductions against loops, rows in one piece and in blocks.

#include <limits>

#include "tests/dtype/special_values.h"
#include "tests/tensor/arrays.h"
#include "tests/tensor/finite_differences.h"

namespace strata::test {
namespace {

/// That row by row along `axis` each element is what f makes of what came so far and its own.
void check_cumulative(const Tensor& found, const Array& x, std::int64_t axis, double first,
                      const std::function<double(double, double)>& f, double tolerance = 1e-9) {
  const auto a = static_cast<std::size_t>(axis);
  expect_near(
      found, x.shape,
      [&](Place at) {
        const std::int64_t last = at[a];
        double out = first;
        for (at[a] = 0; at[a] <= last; ++at[a]) out = f(out, x.at(at));
        return out;
      },
      tolerance);
}
double log_add(double a, double b) {
  const double largest = std::max(a, b);
  return std::isinf(largest) ? largest : largest + std::log(std::exp(a - largest) + std::exp(b - largest));
}

TEST(Cumulative, AlongEachAxis) {
  const Array x({2, 5, 3}, 1, -2, 2);
  for (const std::int64_t axis : {0, 1, 2}) {
    check_cumulative(x.tensor().cumsum(axis), x, axis, 0, std::plus<>());
    check_cumulative(x.tensor().cumprod(axis - 3), x, axis, 1, std::multiplies<>());
    check_cumulative(x.tensor().cummax(axis).first, x, axis, -kInf, [](double a, double b) { return std::max(a, b); });
    check_cumulative(x.tensor().cummin(axis).first, x, axis, kInf, [](double a, double b) { return std::min(a, b); });
    check_cumulative(x.tensor().logcumsumexp(axis), x, axis, -kInf, log_add);
  }
}

/// On the default device: the interpreter takes its time for rows times rows.
TEST(Cumulative, LongRowsInBlocks) {
  for (const std::int64_t n : {513, 1000}) {
    const Array x({n}, 1, -2, 2), near_one({n}, 2, 0.99, 1.01);
    const Tensor t = Tensor::from(x.values, {n});
    check_cumulative(t.cumsum(0), x, 0, 0, std::plus<>());
    check_cumulative(Tensor::from(near_one.values, {n}).cumprod(0), near_one, 0, 1, std::multiplies<>());
    check_cumulative(t.logcumsumexp(0), x, 0, -kInf, log_add);
    const auto [values, indices] = t.cummin(0);
    const Array at(indices);
    check_cumulative(values, x, 0, kInf, [](double a, double b) { return std::min(a, b); });
    expect_near(values, {n}, [&](const Place& p) { return x.at({static_cast<std::int64_t>(at.at(p))}); });
  }
}

TEST(Cumulative, IndicesAreOfTheLastOfEqualOnes) {
  const auto [values, indices] = i64({1, 3, 3, 2, 4, 0}).cummax(0);
  expect_values(values, {6}, {1, 3, 3, 3, 4, 4});
  expect_values(indices, {6}, {0, 1, 2, 2, 4, 4});
  EXPECT_EQ(indices.dtype(), dtypes::int64);
  const auto [low, at] = f64({3, NAN, 1, NAN, 0}, {5}).cummin(0);
  EXPECT_TRUE(std::isnan(values_of(low)[4]));
  expect_values(at, {5}, {0, 1, 1, 3, 3});
}

TEST(Cumulative, DtypesAndSizes) {
  EXPECT_EQ(counted({3}, dtypes::int32).cumsum(0).dtype(), dtypes::int64);
  EXPECT_EQ(counted({3}, dtypes::boolean).cumsum(0).dtype(), dtypes::int64);
  EXPECT_EQ(counted({3}, dtypes::int32).cummax(0).first.dtype(), dtypes::int32);
  EXPECT_EQ(counted({3}, dtypes::float16).cumsum(0).dtype(), dtypes::float16);
  expect_values(bools({true, true, false, true}, {4}).cumsum(0), {4}, {1, 2, 2, 3});
  for (const Tensor& x : {counted({0}), counted({2, 0}), counted({0, 3})}) {
    EXPECT_EQ(x.cumsum(0).shape(), x.shape());
    EXPECT_EQ(x.cumprod(-1).shape(), x.shape());
    EXPECT_EQ(x.cummax(0).second.shape(), x.shape());
    EXPECT_EQ(x.logcumsumexp(0).shape(), x.shape());
  }
  const Tensor s = Tensor(2.5).to("INTERP");
  EXPECT_EQ(s.cumsum(0).item(), 2.5);
  EXPECT_EQ(s.cummax(-1).second.item<std::int64_t>(), 0);
  expect_error([&] { s.cumsum(1); }, "[cumsum] axis 1 is outside");
  expect_error([&] { counted({2}).cumprod(-2); }, "[cumprod] axis -2 is outside");
}

TEST(Cumulative, InfinitiesStay) {
  expect_values(f64({1, kInf, 2}, {3}).cumsum(0), {3}, {1, kInf, kInf});
  expect_values(f64({-kInf, 0, kInf, 1}, {4}).logcumsumexp(0), {4}, {-kInf, 0, kInf, kInf});
  expect_values(f64({1000, -kInf}, {2}).logcumsumexp(0), {2}, {1000, 1000});
}

TEST(Cumulative, Gradients) {
  const std::vector<double> values = spread(6, -1, 1);
  expect_gradient([](const Tensor& x) { return x.cumsum(0); }, values, {3, 2});
  expect_gradient([](const Tensor& x) { return x.cumprod(1); }, values, {2, 3});
  expect_gradient([](const Tensor& x) { return x.cummax(1).first; }, values, {2, 3});
  expect_gradient([](const Tensor& x) { return x.cummin(0).first; }, values, {3, 2});
  expect_gradient([](const Tensor& x) { return x.logcumsumexp(1); }, values, {2, 3});
  // Products beside one and two zeros.
  expect_gradient([](const Tensor& x) { return x.cumprod(0); }, {2, 0, 3, -1}, {4});
  expect_gradient([](const Tensor& x) { return x.cumprod(0); }, {2, 0, 3, 0, 5}, {5});
  expect_gradient([](const Tensor& x) { return x.cumprod(0); }, {0, 2}, {2});
  // Of equal ones the index's has the gradient.
  Tensor x = f64({1, 1, 0}, {3}).requires_grad(true);
  x.cummax(0).first.sum().backward();
  expect_values(*x.grad(), {3}, {1, 2, 0});
}

/// Where elements are 0, too: by x and by what its gradient is taken with; and the third.
TEST(Cumulative, GradientsOfGradients) {
  const Tensor weights = f64({1, -2, 0.5, 3}, {4});
  const TensorFunction slope = grad([&](const Tensor& x) { return (x.cumprod(0) * weights).sum(); });
  for (const std::vector<double>& at :
       std::vector<std::vector<double>>{{2, 0.5, 3, -1}, {2, 0, 3, -1}, {0, 2, 0, 5}, {0, 0, 0, 1}})
    expect_gradient([&](const Tensor& x) { return slope(x); }, at, {4});
  const TensorFunction curvature = grad([&](const Tensor& x) { return (slope(x) * weights).sum(); });
  expect_gradient([&](const Tensor& x) { return curvature(x); }, {2, 0, 3, 0}, {4}, 1e-5);
  const Tensor x = f64({2, 0, 3, 1, -1, 2}, {2, 3});
  expect_gradient(
      [&](const Tensor& dy) {
        Tensor y = x.detach();
        y.requires_grad(true);
        return gradients(y.cumprod(1), {&y, 1}, dy)[0];
      },
      spread(6, -1, 1), {2, 3});
}

}  // namespace
}  // namespace strata::test
