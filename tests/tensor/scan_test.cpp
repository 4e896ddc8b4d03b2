// scan() and while_loop() beside loops in C++, and their gradients against differences.

#include "strata/tensor/scan.h"

#include <algorithm>

#include "strata/tensor/functional.h"
#include "strata/tensor/jit.h"
#include "tests/tensor/arrays.h"
#include "tests/tensor/finite_differences.h"

namespace strata::test {
namespace {

TEST(Scan, OneState) {
  const auto step = [](const Tensor& y, const Tensor& x) {
    const Tensor next = y * 0.5 + x;
    return std::pair(next, next * 2);
  };
  const auto [last, ys] = scan(step, f64({8.0}, {}), f64({1, 2, 3}, {3}));
  expect_values(last, {}, {5.25});
  expect_values(ys, {3}, {10, 9, 10.5});
  const auto [first, back] = scan(step, f64({8.0}, {}), f64({1, 2, 3}, {3}), {.reverse = true});
  expect_values(first, {}, {3.75});
  expect_values(back, {3}, {7.5, 11, 14});
}

TEST(Scan, GradientsAreDifferenceQuotients) {
  const std::vector<double> w = spread(4, -0.6, 0.9, 1), x = spread(6, -1, 1, 2), s = spread(2, -1, 1, 3);
  for (const bool reverse : {false, true})
    expect_gradient(
        [&](const Many& in) {
          const auto step = [&](const Tensor& h, const Tensor& e) {
            const Tensor next = (in[0].matmul(h) + e).tanh();
            return std::pair(next, next * e);
          };
          const auto [last, ys] = scan(step, in[2], in[1], {.reverse = reverse});
          return Tensor::cat(std::vector<Tensor>{last, ys.reshape({6})}, 0);
        },
        {w, x, s}, {{2, 2}, {3, 2}, {2}});
}

TEST(WhileLoop, EndsByItsConditionOrAtMost) {
  const auto doubled = [](const Tensor& x) { return x * 2.0; };
  const auto below = [](const Tensor& x) { return x < 100.0; };
  EXPECT_EQ(while_loop(below, doubled, Tensor(3.0), 50).item(), 192);
  EXPECT_EQ(while_loop(below, doubled, Tensor(3.0), 2).item(), 12);
  EXPECT_EQ(while_loop(below, doubled, Tensor(300.0), 50).item(), 300);
  expect_gradient([&](const Many& in) { return while_loop(below, doubled, in[0], 50); }, {{3.0}}, {{}});
}

TEST(Scan, ErrorsNameTheUsersLine) {
  const Tensor x = f64({1, 2, 3}, {3});
  unsigned line = 0;
  const auto grows = [&](const Tensor& s, const Tensor&) {
    line = At::current().line() + 1;
    const Tensor next = Tensor::stack(std::vector<Tensor>{s, s}, 0);
    return std::pair(next, next);
  };
  expect_error([&] { scan(grows, f64({1.0}, {}), x); }, "state 0 has the shape (), and behind a step (2,)");
  expect_error([&] { scan(grows, f64({1.0}, {}), x); },
               detail::message("stack, written at ", At::current().file_name(), ":", line));
  expect_error([&] { scan([](const Tensor& s, const Tensor&) { return std::pair(s, s); }, x, f64({1.0}, {})); },
               "[scan] a sequence of shape () has no axis");
  expect_error([&] { while_loop([](const Tensor& s) { return s < 1.0; }, [](const Tensor& s) { return s; }, x, 3); },
               "[while_loop] the condition is a bool of one element, not bool of shape (3,)");
  expect_error([&] { while_loop([](const Tensor& s) { return s < 1.0; }, [](const Tensor& s) { return s; }, x, -1); },
               "[while_loop] -1 steps are fewer than 0");
}

TEST(Scan, CapturesReplayLoops) {
  auto summed = jit([](const Tensor& x) {
    return scan([](const Tensor& s, const Tensor& e) { return std::pair(s + e, s); }, f64({0.0}, {}), x).first;
  });
  for (int k = 1; k < 6; ++k) EXPECT_EQ(summed(f64({1.0 * k, 2, 3}, {3})).item(), k + 5) << "call " << k;
  EXPECT_EQ(summed.jit()->replays(), 3U);
}

TEST(Scan, ResultsOfACaptureShareALoop) {
  auto both = jit([](const Tensor& x) {
    const auto step = [](const Tensor& s, const Tensor& e) { return std::pair(s + e, s); };
    const auto [last, sums] = scan(step, f64({0}, {}), x);
    return std::vector<Tensor>{last, sums.sum(0), sums * 2};
  });
  for (int k = 0; k < 3; ++k) {
    const std::vector<Tensor> y = both(f64({1, 2, 4}, {3}));
    EXPECT_EQ(y[0].item(), 7);
    EXPECT_EQ(y[1].item(), 4);
    expect_values(y[2], {3}, {0, 2, 6});
  }
  const std::vector<RecordedTime> kernels = both.jit()->times(1);
  EXPECT_EQ(std::count_if(kernels.begin(), kernels.end(),
                          [](const RecordedTime& t) { return t.kernel->kernel().name.starts_with("scan_"); }),
            1);
}

}  // namespace
}  // namespace strata::test
