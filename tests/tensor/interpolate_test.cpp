// Interpolation against its definition, point by point.

#include <array>

#include "strata/tensor/functional.h"
#include "tests/tensor/arrays.h"
#include "tests/tensor/finite_differences.h"

namespace strata::test {
namespace {

/// Where an output lies in the input: of centres of elements, or of ends.
double place_of(std::int64_t o, double step, bool ends) {
  return ends ? static_cast<double>(o) * step : (static_cast<double>(o) + 0.5) * step - 0.5;
}
double step_of(std::int64_t from, std::int64_t to, bool ends) {
  if (ends) return to > 1 ? static_cast<double>(from - 1) / static_cast<double>(to - 1) : 0;
  return static_cast<double>(from) / static_cast<double>(to);
}
/// An element of a row, those at its ends beyond them.
double clamped(const std::vector<double>& row, double at) {
  return row[static_cast<std::size_t>(std::clamp(at, 0.0, static_cast<double>(row.size() - 1)))];
}
double linear_at(const std::vector<double>& row, double at) {
  const double inside = std::clamp(at, 0.0, static_cast<double>(row.size() - 1)), first = std::floor(inside);
  return clamped(row, first) * (1 - (inside - first)) + clamped(row, first + 1) * (inside - first);
}
double cubic_at(const std::vector<double>& row, double at) {
  double sum = 0;
  for (double k = std::floor(at) - 1; k <= std::floor(at) + 2; ++k) {
    const double d = std::abs(at - k), a = -0.75;
    const double weight = d <= 1 ? (a + 2) * d * d * d - (a + 3) * d * d + 1 : a * (d * d * d - 5 * d * d + 8 * d - 4);
    sum += weight * clamped(row, k);
  }
  return sum;
}

using RowFunction = std::function<double(const std::vector<double>&, double)>;

/// Of a plane, rows first.
double plane_at(const Array& x, const Place& at, double h, double w, const RowFunction& f) {
  std::vector<double> column;
  for (std::int64_t r = 0; r < x.shape[2]; ++r) {
    std::vector<double> row;
    for (std::int64_t c = 0; c < x.shape[3]; ++c) row.push_back(x.at({at[0], at[1], r, c}));
    column.push_back(f(row, w));
  }
  return f(column, h);
}

TEST(Interpolate, OfTwoAxes) {
  const Array x({1, 2, 4, 5});
  const std::pair<Interpolation, RowFunction> modes[] = {{Interpolation::linear, linear_at},
                                                         {Interpolation::cubic, cubic_at}};
  for (const auto& [mode, f] : modes)
    for (const bool ends : {false, true})
      for (const Place& to : {Place{7, 3}, Place{8, 10}, Place{1, 5}, Place{4, 5}})
        expect_near(interpolate(x.tensor(), {.size = PerAxis(to), .mode = mode, .align_corners = ends}),
                    {1, 2, to[0], to[1]}, [&](const Place& p) {
                      return plane_at(x, p, place_of(p[2], step_of(4, to[0], ends), ends),
                                      place_of(p[3], step_of(5, to[1], ends), ends), f);
                    });
}

TEST(Interpolate, NearestIsTheOneBeforeOrTheNearest) {
  const Array x({2, 1, 5});
  for (const std::int64_t to : {1, 3, 5, 7, 10}) {
    const double step = 5.0 / static_cast<double>(to);
    expect_near(interpolate(x.tensor(), {.size = to}), {2, 1, to}, [&](const Place& p) {
      return x.at({p[0], 0, static_cast<std::int64_t>(std::floor(static_cast<double>(p[2]) * step))});
    });
    expect_near(
        interpolate(x.tensor(), {.size = to, .mode = Interpolation::nearest_exact}), {2, 1, to}, [&](const Place& p) {
          return x.at({p[0], 0, static_cast<std::int64_t>(std::floor((static_cast<double>(p[2]) + 0.5) * step))});
        });
  }
  expect_values(interpolate(counted({1, 1, 3}, dtypes::int32), {.scale_factor = {2}}), {1, 1, 6}, {0, 0, 1, 1, 2, 2});
}

TEST(Interpolate, ByFactors) {
  const Tensor x = counted({1, 1, 2, 2, 2});
  EXPECT_EQ(interpolate(x, {.scale_factor = {2, 1, 1.5}, .mode = Interpolation::linear}).shape(),
            Ints({1, 1, 4, 2, 3}));
  expect_values(interpolate(counted({1, 1, 2}), {.scale_factor = {2}, .mode = Interpolation::linear}), {1, 1, 4},
                {0, 0.25, 0.75, 1});
  // The factor itself says where outputs lie: 2.6 elements of 1/1.3 each are two outputs.
  const double step = 1 / 1.3;
  expect_near(interpolate(counted({1, 1, 2}), {.scale_factor = {1.3}, .mode = Interpolation::linear}), {1, 1, 2},
              [&](const Place& p) { return linear_at({0, 1}, place_of(p[2], step, false)); });
}

TEST(Interpolate, ByOptionsOfOnnx) {
  const Tensor x = counted({1, 4});
  const auto by = [&](InterpolateOptions o) {
    o.axes = {{-1}};
    return interpolate(x, o);
  };
  using enum CoordinateTransformation;
  expect_values(by({.size = 2, .coordinate_transformation_mode = half_pixel}), {1, 2}, {0, 2});
  expect_values(by({.size = 2, .coordinate_transformation_mode = half_pixel, .nearest_mode = NearestMode::ceil}),
                {1, 2}, {1, 3});
  expect_values(by({.size = 3, .mode = Interpolation::linear, .coordinate_transformation_mode = align_corners}), {1, 3},
                {0, 1.5, 3});
  expect_values(by({.size = 2,
                    .mode = Interpolation::linear,
                    .coordinate_transformation_mode = tf_crop_and_resize,
                    .roi = {1. / 3, 4. / 3},
                    .extrapolation_value = 9}),
                {1, 2}, {1, 9});
  // Each output stands for two elements: weights of a triangle over four, without those beyond the ends.
  expect_near(by({.size = 2, .mode = Interpolation::linear, .antialias = true}), {1, 2}, [&](const Place& p) {
    const double first = (0 * 0.75 + 1 * 0.75 + 2 * 0.25) / 1.75;
    return p[1] == 0 ? first : 3 - first;
  });
  EXPECT_EQ(interpolate(counted({2, 3}),
                        {.size = PerAxis{4, 9}, .axes = {{0, 1}}, .keep_aspect_ratio_policy = AspectRatio::not_larger})
                .shape(),
            Ints({4, 6}));
}

TEST(Interpolate, ErrorsSayWhatIsExpected) {
  const Tensor x = counted({1, 1, 4});
  expect_error([&] { interpolate(x, {}); }, "[interpolate] either a size or a factor is expected");
  expect_error([&] { interpolate(x, {.size = 2, .scale_factor = {2}}); }, "either a size or a factor");
  expect_error([&] { interpolate(x, {.size = 2, .align_corners = true}); }, "align_corners");
  expect_error([&] { interpolate(x, {.scale_factor = {0.1}}); }, "a factor of");
  expect_error([&] { interpolate(x, {.scale_factor = {NAN}}); }, "a factor of");
  expect_error([&] { interpolate(x, {.size = std::int64_t{1} << 30}); }, "the size 1073741824");
  expect_error([&] { interpolate(x, {.size = 2, .roi = {0, 1}}); }, "a roi is for");
  expect_error([&] { interpolate(x, {.size = PerAxis{2, 2}}); }, "size of 2 axes, not 1");
  expect_error([&] { interpolate(counted({4, 4}), {.size = 2}); }, "[interpolate] the input has shape (4, 4)");
  expect_error([&] { interpolate(i64({1}, {1, 1, 1}), {.size = 2, .mode = Interpolation::linear}); },
               "[interpolate] the input has dtype i64");
  expect_error([&] { interpolate(counted({1, 1, 0}), {.size = 2}); }, "[interpolate] of nothing");
}

TEST(Interpolate, Gradients) {
  const std::vector<double> values = spread(4, -1, 1);
  for (const Interpolation mode : {Interpolation::nearest, Interpolation::linear, Interpolation::cubic})
    expect_gradient([mode](const Tensor& x) { return interpolate(x, {.size = PerAxis{3, 3}, .mode = mode}); }, values,
                    {1, 1, 2, 2});
}

}  // namespace
}  // namespace strata::test
