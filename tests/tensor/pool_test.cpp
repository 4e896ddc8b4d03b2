// Pooling against loops.

#include <limits>

#include "strata/tensor/functional.h"
#include "tests/dtype/special_values.h"
#include "tests/tensor/arrays.h"
#include "tests/tensor/finite_differences.h"

namespace strata::test {
namespace {

/// One axis: a window's elements that are there, and how many count as such with padding.
struct Line {
  std::int64_t size, kernel, stride, padding = 0, dilation = 1;
  bool ceil_mode = false;
  std::int64_t more = 0;  ///< by how much the padding behind is larger than that in front

  std::int64_t count() const {
    std::int64_t out = 0;
    for (std::int64_t begin = -padding;; begin += stride, ++out) {
      const std::int64_t last = begin + (kernel - 1) * dilation;
      if (last < size + after()) continue;  // fits
      const bool is_begun = ceil_mode && begin < size && last - (size + after()) < stride;
      return is_begun ? out + 1 : out;
    }
  }
  /// The element of window o, -1 where it is padding.
  std::int64_t element(std::int64_t o, std::int64_t k) const {
    const std::int64_t at = o * stride - padding + k * dilation;
    return at >= 0 && at < size ? at : -1;
  }
  bool is_padded_element(std::int64_t o, std::int64_t k) const {
    return o * stride - padding + k * dilation < size + after();
  }
  std::int64_t after() const { return padding + more; }
  ConvPadding::Sides sides() const { return {{padding, after()}}; }
};

const std::vector<Line> kLines = {{8, 2, 2},
                                  {8, 3, 1},
                                  {8, 3, 2, 1},
                                  {7, 3, 2, 1, 2},
                                  {7, 2, 3},
                                  {8, 3, 3, 0, 1, true},
                                  {6, 4, 3, 2, 1, true},
                                  {5, 2, 2, 1, 1, true},
                                  {7, 2, 3, 1, 2, true},
                                  {8, 3, 1, 0, 1, false, 2},
                                  {7, 4, 3, 2, 1, true, -2},
                                  {6, 3, 2, 1, 2, false, 3},
                                  {5, 3, 4, 2, 2, true, 1}};

TEST(Pooling, OfOneAxis) {
  for (const Line& l : kLines) {
    SCOPED_TRACE(::testing::PrintToString(Place{l.size, l.kernel, l.stride, l.padding, l.dilation, l.ceil_mode}));
    const Array x({2, 3, l.size});
    const auto [values, indices] = max_pool1d_with_indices(
        x.tensor(), l.kernel,
        {.stride = l.stride, .padding = l.sides(), .dilation = l.dilation, .ceil_mode = l.ceil_mode});
    const auto best = [&](const Place& at) {
      std::int64_t out = -1;
      for (std::int64_t k = 0; k < l.kernel; ++k) {
        const std::int64_t e = l.element(at[2], k);
        if (e >= 0 && (out < 0 || x.at({at[0], at[1], e}) > x.at({at[0], at[1], out}))) out = e;
      }
      return out;
    };
    const Place shape = {2, 3, l.count()};
    expect_near(values, shape, [&](const Place& at) { return x.at({at[0], at[1], best(at)}, -kInf); });
    expect_near(indices, shape, [&](const Place& at) { return static_cast<double>(best(at)); });
    for (const bool with_padding : {true, false}) {
      const Tensor mean = avg_pool1d(x.tensor(), l.kernel,
                                     {.stride = l.stride,
                                      .padding = l.sides(),
                                      .ceil_mode = l.ceil_mode,
                                      .count_include_pad = with_padding,
                                      .dilation = l.dilation});
      expect_near(mean, shape, [&](const Place& at) {
        double sum = 0, count = 0;
        for (std::int64_t k = 0; k < l.kernel; ++k) {
          const std::int64_t e = l.element(at[2], k);
          if (e >= 0) sum += x.at({at[0], at[1], e});
          if (with_padding ? l.is_padded_element(at[2], k) : e >= 0) ++count;
        }
        return sum / count;
      });
    }
  }
}

TEST(Pooling, OfTwoAndThreeAxes) {
  const Array x({1, 2, 5, 6});
  const auto largest = [&](const Place& at) {
    double out = -kInf;
    for_each_place({3, 2}, [&](const Place& k) {
      out = std::max(out, x.at({0, at[1], at[2] * 2 + k[0] - 1, at[3] * 3 + k[1]}, -kInf));
    });
    return out;
  };
  const MaxPoolOptions o = {.stride = PerAxis{2, 3}, .padding = {1, 0}};
  expect_near(max_pool2d(x.tensor(), {3, 2}, o), {1, 2, 3, 2}, largest);
  const auto [values, indices] = max_pool2d_with_indices(x.tensor(), {3, 2}, o);
  const Array at(indices);
  expect_near(values, {1, 2, 3, 2}, [&](const Place& p) {
    const auto flat = static_cast<std::int64_t>(at.at(p));
    return x.at({0, p[1], flat / 6, flat % 6});
  });
  expect_near(avg_pool2d(x.tensor(), {3, 2}, {.stride = PerAxis{2, 3}, .padding = {1, 0}, .count_include_pad = false}),
              {1, 2, 3, 2}, [&](const Place& p) {
                double sum = 0, count = 0;
                for_each_place({3, 2}, [&](const Place& k) {
                  const Place from = {0, p[1], p[2] * 2 + k[0] - 1, p[3] * 3 + k[1]};
                  if (x.holds(from)) sum += x.at(from), ++count;
                });
                return sum / count;
              });
  expect_values(avg_pool2d(counted({1, 2, 2}), 2, {.divisor_override = 3}), {1, 1, 1}, {2});
  expect_values(max_pool3d(counted({1, 2, 2, 4}), 2), {1, 1, 1, 2}, {13, 15});
  expect_values(avg_pool3d(counted({1, 2, 2, 4}), 2), {1, 1, 1, 2}, {6.5, 8.5});
  expect_values(max_pool3d_with_indices(counted({1, 2, 2, 4}), 2).second, {1, 1, 1, 2}, {13, 15});
}

TEST(Pooling, IntegersInfinitiesAndNaN) {
  expect_values(max_pool1d(i64({-5, -3, -4, -9}, {1, 4}), 2, {.padding = 1}), {1, 3}, {-5, -3, -9});
  const Tensor x = f64({-kInf, -kInf, 1, NAN}, {1, 4});
  const auto [values, indices] = max_pool1d_with_indices(x, 2);
  EXPECT_EQ(values_of(values)[0], -kInf);
  EXPECT_TRUE(std::isnan(values_of(values)[1]));
  EXPECT_EQ(values_of(indices)[0], 0);
  EXPECT_EQ(values_of(indices)[1], 3);
  EXPECT_EQ(max_pool1d(counted({0, 2, 4}), 2).shape(), Ints({0, 2, 2}));
}

TEST(Pooling, AdaptiveCellsMayOverlap) {
  for (const std::int64_t to : {1, 2, 3, 4, 6, 8}) {
    const Array x({2, 2, 6});
    const auto cell = [&](std::int64_t o) { return std::pair((o * 6) / to, ((o + 1) * 6 + to - 1) / to); };
    expect_near(adaptive_avg_pool1d(x.tensor(), to), {2, 2, to}, [&](const Place& at) {
      const auto [begin, end] = cell(at[2]);
      double sum = 0;
      for (std::int64_t e = begin; e < end; ++e) sum += x.at({at[0], at[1], e});
      return sum / static_cast<double>(end - begin);
    });
    expect_near(adaptive_max_pool1d(x.tensor(), to), {2, 2, to}, [&](const Place& at) {
      const auto [begin, end] = cell(at[2]);
      double out = -kInf;
      for (std::int64_t e = begin; e < end; ++e) out = std::max(out, x.at({at[0], at[1], e}));
      return out;
    });
  }
  expect_values(adaptive_avg_pool2d(counted({1, 4, 3}), {2, 2}), {1, 2, 2}, {2, 3, 8, 9});
  expect_values(adaptive_max_pool2d(counted({1, 4, 3}), {2, 2}), {1, 2, 2}, {4, 5, 10, 11});
}

TEST(Pooling, UnpoolingPutsValuesBack) {
  const Tensor x = f64({1, 5, 2, 6, 3, 4, 9, 8}, {1, 2, 4});
  const auto [values, indices] = max_pool2d_with_indices(x, 2);
  expect_values(max_unpool2d(values, indices, 2), {1, 2, 4}, {0, 5, 0, 0, 0, 0, 9, 0});
  expect_values(max_unpool2d(values, indices, 2, {}, 0, PerAxis{3, 4}), {1, 3, 4},
                {0, 5, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0});
  // Windows that overlap give one element twice: it is there once.
  const auto twice = max_pool2d_with_indices(f64({1, 7, 2}, {1, 1, 3}), {1, 2}, {.stride = 1});
  expect_values(max_unpool2d(twice.first, twice.second, {1, 2}, 1), {1, 1, 3}, {0, 7, 0});
}

TEST(Pooling, ErrorsNameTheSizes) {
  const Tensor x = counted({1, 2, 5});
  expect_error([&] { max_pool1d(x, 6); }, "[max_pool1d] a window that spans 6 elements does not fit the 5");
  expect_error([&] { max_pool1d(x, 2, {.padding = 2}); }, "[max_pool1d] padding 2 is not less than the 2 elements");
  expect_error([&] { max_pool1d(x, 0); }, "[max_pool1d] kernel size 0");
  expect_error([&] { max_pool2d(counted({5}), 2); }, "[max_pool2d] the input has shape (5,)");
  expect_error([&] { avg_pool1d(x, 2, {.divisor_override = 0}); }, "[avg_pool1d] the divisor is 0");
  expect_error([&] { avg_pool1d(i64({1, 2}, {1, 2}), 2); }, "[avg_pool1d] the input has dtype i64");
  expect_error([&] { adaptive_avg_pool1d(x, 0); }, "[adaptive_avg_pool1d] output size 0");
}

TEST(Pooling, Gradients) {
  const auto check = [](const std::function<Tensor(const Tensor&)>& f, const Ints& shape) {
    expect_gradient(f, spread(product(shape).value(), -1, 1), shape);
  };
  check([](const Tensor& x) { return max_pool2d(x, 2, {.stride = 1, .padding = 1}); }, {1, 3, 3});
  check([](const Tensor& x) { return max_pool1d_with_indices(x, 2).first; }, {1, 4});
  check([](const Tensor& x) { return avg_pool2d(x, 2, {.padding = 1, .ceil_mode = true, .count_include_pad = false}); },
        {1, 3, 3});
  check([](const Tensor& x) { return adaptive_avg_pool2d(x, {2, 3}); }, {1, 3, 3});
  check([](const Tensor& x) { return adaptive_max_pool1d(x, 2); }, {1, 5});
  check([](const Tensor& x) { return max_unpool2d(x, i64({5, 2}, {1, 1, 2}), {2, 2}); }, {1, 1, 2});
}

}  // namespace
}  // namespace strata::test
