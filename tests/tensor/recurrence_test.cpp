// Linear recurrences against loops, and their gradients against differences.

#include "strata/tensor/functional.h"
#include "tests/tensor/arrays.h"
#include "tests/tensor/finite_differences.h"

namespace strata::test {
namespace {

TEST(Recurrence, AlongEachAxis) {
  const Array x({3, 5, 4}, 1, -2, 2), factor({3, 5, 4}, 2, -1, 1);
  for (const std::int64_t axis : {0, 1, 2, -1}) {
    const auto along = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
    expect_near(
        x.tensor().linear_recurrence(factor.tensor(), axis), x.shape,
        [&](Place at) {
          const std::int64_t last = at[along];
          double y = 0;
          for (at[along] = 0; at[along] <= last; ++at[along]) y = factor.at(at) * y + x.at(at);
          return y;
        },
        1e-9);
  }
}

TEST(Recurrence, OperandsBroadcastAndArePromoted) {
  expect_values(f64({1, 1, 1, 1}, {4}).linear_recurrence(0.5), {4}, {1, 1.5, 1.75, 1.875});
  expect_values(i64({1, 2, 3}).linear_recurrence(2), {3}, {1, 4, 11});
  expect_values(f64({1, 1, 1, 1}, {2, 2}).linear_recurrence(f64({2, 3}, {2}), 0), {2, 2}, {1, 1, 3, 4});
  EXPECT_EQ(counted({3}, dtypes::float16).linear_recurrence(0.5).dtype(), dtypes::float16);
  EXPECT_EQ(counted({3}, dtypes::int32).linear_recurrence(counted({3}, dtypes::float32)).dtype(), dtypes::float32);
  EXPECT_EQ(counted({0}).linear_recurrence(0.5).shape(), Ints{0});
}

TEST(Recurrence, ScalarsAndRefusals) {
  expect_error([] { counted({3}, dtypes::boolean).linear_recurrence(true); }, "[linear_recurrence] takes numbers");
  EXPECT_EQ(Tensor(1.5).linear_recurrence(0.5).item(), 1.5);
  expect_error([] { counted({3}).linear_recurrence(0.5, 1); }, "[linear_recurrence] axis 1 is outside");
  expect_error([] { counted({3}).linear_recurrence(counted({2})); }, "[linear_recurrence]");
}

TEST(Recurrence, Gradients) {
  const std::vector<double> values = spread(12, -1, 1);
  expect_gradients([](const Many& x) { return x[0].linear_recurrence(x[1], 0); }, {{4, 3}, {4, 3}});
  expect_gradients([](const Many& x) { return x[0].linear_recurrence(x[1], 1); }, {{3, 4}, {3, 1}});
  const Tensor weights = f64({1, -2, 0.5, 3}, {4});
  const TensorFunction slope = grad([&](const Tensor& x) { return (x.linear_recurrence(x * 0.5, 0) * weights).sum(); });
  expect_gradient([&](const Tensor& x) { return slope(x); }, {2, -0.5, 1, 0.25}, {4});
}

/// The gradient of an extreme is a recurrence, too: nothing is compared with each other element.
TEST(Recurrence, GradientsOfExtremesOfManyElements) {
  constexpr std::int64_t n = 20000;
  Tensor x = (Tensor::arange(n) * 37 % 1001).cast(dtypes::float64).requires_grad(true);
  x.cummax(0).first.sum().backward();
  const std::vector<double> values = values_of(x.detach()), found = values_of(*x.grad());
  std::vector<double> wanted(values.size(), 0);
  std::size_t record = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (values[k] >= values[record]) record = k;
    wanted[record] += 1;
  }
  EXPECT_EQ(found, wanted);
}

}  // namespace
}  // namespace strata::test
