#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/tensor/arrays.h"
#include "tests/tensor/finite_differences.h"

namespace strata::test {
namespace {

TEST(Rearrange, AxesChangePlaces) {
  const Tensor x = counted({2, 3, 4});
  expect_elements(counted({2, 3}).t(), {3, 2}, [](const Place& i) { return i[1] * 3 + i[0]; });
  EXPECT_EQ(counted({3}).t().shape(), Ints({3}));
  expect_error([&] { x.t(); }, "[t] shape (2, 3, 4) has more than 2");
  expect_elements(x.movedim({0}, {-1}), {3, 4, 2}, [](const Place& i) { return i[2] * 12 + i[0] * 4 + i[1]; });
  expect_elements(x.movedim({0, 2}, {2, 0}), {4, 3, 2}, [](const Place& i) { return i[2] * 12 + i[1] * 4 + i[0]; });
  expect_elements(x.movedim({-1, 0}, {0, 1}), {4, 2, 3}, [](const Place& i) { return i[1] * 12 + i[2] * 4 + i[0]; });
  EXPECT_EQ(x.movedim({}, {}).shape(), x.shape());
  EXPECT_EQ(x.swapaxes(0, 2).shape(), Ints({4, 3, 2}));
  EXPECT_EQ(x.swapdims(0, 1).shape(), Ints({3, 2, 4}));
  expect_error([&] { x.movedim({0, 0}, {0, 1}); }, "[movedim] axis 0 is given twice");
  expect_error([&] { x.movedim({0, 1}, {2, 2}); }, "[movedim] axis 2 is given twice");
  expect_error([&] { x.movedim({0}, {0, 1}); }, "[movedim] 1 axes cannot move to 2 places");
  expect_error([&] { x.movedim({3}, {0}); }, "[movedim] axis 3 is outside");
}

TEST(Rearrange, ShapesWithTheSameElements) {
  const Tensor x = counted({2, 1, 3, 1});
  EXPECT_EQ(x.squeeze(Axes{1, 3}).shape(), Ints({2, 3}));
  EXPECT_EQ(x.squeeze({0, -1}).shape(), Ints({2, 1, 3}));
  EXPECT_EQ(x.ravel().shape(), Ints({6}));
  EXPECT_EQ(Tensor(1.0F).ravel().shape(), Ints({1}));
  EXPECT_EQ(x.unflatten(2, {3, 1}).shape(), Ints({2, 1, 3, 1, 1}));
  EXPECT_EQ(counted({8, 3}).unflatten(0, {2, -1, 2}).shape(), Ints({2, 2, 2, 3}));
  EXPECT_EQ(counted({2, 3}).reshape_as(counted({3, 2})).shape(), Ints({3, 2}));
  EXPECT_EQ(counted({2, 3}).view_as(counted({6})).shape(), Ints({6}));
  EXPECT_EQ(counted({3}).expand_as(counted({2, 3})).shape(), Ints({2, 3}));
  EXPECT_EQ(counted({3}).broadcast_to({4, 3}).shape(), Ints({4, 3}));
  expect_error([] { counted({8}).unflatten(0, {3, -1}); }, "[unflatten] axis 0 of size 8 does not fill (3, -1)");
  expect_error([] { counted({8}).unflatten(0, {-1, -1}); }, "[unflatten]");
  expect_error([] { counted({8}).unflatten(0, {0, -1}); }, "[unflatten]");
  expect_error([] { counted({8}).unflatten(0, {2, 3}); }, "[unflatten]");
  expect_error([] { Tensor(1).unflatten(0, {1}); }, "[unflatten] a scalar");
}

TEST(Rearrange, AtLeastSoManyDimensions) {
  const Tensor s(1.5), v = counted({3}), m = counted({2, 3});
  EXPECT_EQ(s.atleast_1d().shape(), Ints({1}));
  EXPECT_EQ(s.atleast_2d().shape(), Ints({1, 1}));
  EXPECT_EQ(s.atleast_3d().shape(), Ints({1, 1, 1}));
  EXPECT_EQ(v.atleast_1d().shape(), Ints({3}));
  EXPECT_EQ(v.atleast_2d().shape(), Ints({1, 3}));
  EXPECT_EQ(v.atleast_3d().shape(), Ints({1, 3, 1}));
  EXPECT_EQ(m.atleast_3d().shape(), Ints({2, 3, 1}));
}

TEST(Rearrange, PartsOfAnAxis) {
  const Tensor x = counted({3, 4});
  expect_elements(x.narrow(1, 1, 2), {3, 2}, [](const Place& i) { return i[0] * 4 + i[1] + 1; });
  expect_elements(x.narrow(-2, -1, 1), {1, 4}, [](const Place& i) { return 8 + i[1]; });
  expect_elements(x.select(0, 1), {4}, [](const Place& i) { return 4 + i[0]; });
  expect_elements(x.select(1, -1), {3}, [](const Place& i) { return i[0] * 4 + 3; });
  EXPECT_EQ(x.narrow(0, 3, 0).shape(), Ints({0, 4}));
  expect_error([&] { x.narrow(1, 2, 3); }, "[narrow] 3 from 2 on are not inside of axis 1 of size 4");
  expect_error([&] { x.select(1, 4); }, "[select] index 4 is outside of axis 1 of size 4");
  expect_error([&] { x.select(1, -5); }, "[select] index -5 is outside of axis 1 of size 4");
  expect_error([] { Tensor(1).select(0, 0); }, "[select] a scalar");
}

TEST(Rearrange, Copies) {
  const Tensor x = counted({2, 3});
  expect_elements(x.repeat({2, 2}), {4, 6}, [](const Place& i) { return i[0] % 2 * 3 + i[1] % 3; });
  expect_elements(x.repeat({3, 1, 2}), {3, 2, 6}, [](const Place& i) { return i[1] * 3 + i[2] % 3; });
  EXPECT_EQ(x.repeat({0, 2}).shape(), Ints({0, 6}));
  expect_elements(x.tile({2}), {2, 6}, [](const Place& i) { return i[0] * 3 + i[1] % 3; });
  expect_values(Tensor(1.0F).repeat({2}), {2}, {1, 1});
  expect_values(x.repeat_interleave(2), {12}, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5});
  expect_elements(x.repeat_interleave(3, 0), {6, 3}, [](const Place& i) { return i[0] / 3 * 3 + i[1]; });
  expect_elements(x.repeat_interleave(2, -1), {2, 6}, [](const Place& i) { return i[0] * 3 + i[1] / 2; });
  EXPECT_EQ(x.repeat_interleave(0, 1).shape(), Ints({2, 0}));
  expect_error([&] { x.repeat({2}); }, "[repeat] 1 counts for the 2 dimensions of (2, 3)");
  expect_error([&] { x.repeat({2, -1}); }, "[repeat] the count -1 of dimension 1 is negative");
  expect_error([&] { x.repeat_interleave(-1); }, "[repeat_interleave] the count -1");
}

TEST(Rearrange, Turns) {
  const Tensor x = counted({3, 4});
  for (const std::int64_t s : {0, 1, -1, 3, 4, 5, -9}) {
    expect_elements(x.roll({s}, {1}), {3, 4}, [&](const Place& i) { return i[0] * 4 + floor_mod(i[1] - s, 4); });
    expect_elements(x.roll(s), {3, 4}, [&](const Place& i) { return floor_mod(i[0] * 4 + i[1] - s, 12); });
  }
  expect_elements(x.roll({1, -1}, {0, 1}), {3, 4}, [&](const Place& i) { return (i[0] + 2) % 3 * 4 + (i[1] + 1) % 4; });
  EXPECT_EQ(counted({0, 4}).roll({1}, {0}).shape(), Ints({0, 4}));
  EXPECT_EQ(x.roll({std::numeric_limits<std::int64_t>::min()}, {0}).shape(), x.shape());
  expect_error([&] { x.roll({1}, {0, 1}); }, "[roll] 1 shifts for 2 axes");
  expect_elements(x.rot90(), {4, 3}, [](const Place& i) { return i[1] * 4 + 3 - i[0]; });
  expect_elements(x.rot90(2), {3, 4}, [](const Place& i) { return (2 - i[0]) * 4 + 3 - i[1]; });
  expect_elements(x.rot90(-1), {4, 3}, [](const Place& i) { return (2 - i[1]) * 4 + i[0]; });
  expect_elements(x.rot90(4), {3, 4}, [](const Place& i) { return i[0] * 4 + i[1]; });
  expect_elements(x.rot90(1, 1, 0), {4, 3}, [](const Place& i) { return (2 - i[1]) * 4 + i[0]; });
  expect_elements(x.flip({0, -1}), {3, 4}, [](const Place& i) { return 11 - i[0] * 4 - i[1]; });
  expect_elements(x.flip({}), {3, 4}, [](const Place& i) { return i[0] * 4 + i[1]; });
  const Tensor same = x.flip({});  // a tensor of its own, as where axes are flipped
  same.assign(same + 1);
  expect_elements(x, {3, 4}, [](const Place& i) { return i[0] * 4 + i[1]; });
  expect_error([&] { x.flip({1, -1}); }, "[flip] axis -1 is given twice");
  expect_error([&] { x.rot90(1, 0, -2); }, "[rot90] axes 0 and -2");
  expect_elements(x.flipud(), {3, 4}, [](const Place& i) { return (2 - i[0]) * 4 + i[1]; });
  expect_elements(x.fliplr(), {3, 4}, [](const Place& i) { return i[0] * 4 + 3 - i[1]; });
  expect_error([] { counted({3}).fliplr(); }, "[fliplr] axis 1");
}

TEST(Rearrange, Windows) {
  for (std::int64_t n = 0; n <= 6; ++n)
    for (std::int64_t size = 0; size <= n; ++size)
      for (const std::int64_t step : {1, 2, 7})
        expect_elements(counted({n}).unfold(0, size, step), {(n - size) / step + 1, size},
                        [&](const Place& i) { return i[0] * step + i[1]; });
  expect_elements(counted({2, 5, 3}).unfold(1, 3, 2), {2, 2, 3, 3},
                  [](const Place& i) { return i[0] * 15 + (i[1] * 2 + i[3]) * 3 + i[2]; });
  EXPECT_EQ(Tensor(1).unfold(0, 1, 1).shape(), Ints({1}));
  expect_error([] { counted({3}).unfold(0, 4, 1); },
               "[unfold] windows of size 4 and step 1 do not fit axis 0 of size 3");
  expect_error([] { counted({3}).unfold(0, 2, 0); }, "[unfold]");
}

TEST(Rearrange, PixelsIntoChannelsAndBack) {
  const Tensor x = counted({2, 8, 2, 3});
  const Tensor y = x.pixel_shuffle(2);
  expect_elements(y, {2, 2, 4, 6}, [](const Place& i) {
    const std::int64_t channel = i[1] * 4 + i[2] % 2 * 2 + i[3] % 2;
    return ((i[0] * 8 + channel) * 2 + i[2] / 2) * 3 + i[3] / 2;
  });
  EXPECT_EQ(values_of(y.pixel_unshuffle(2)), values_of(x));
  EXPECT_EQ(y.pixel_unshuffle(2).shape(), x.shape());
  EXPECT_EQ(counted({9, 1, 2}).pixel_shuffle(3).shape(), Ints({1, 3, 6}));
  expect_error([&] { x.pixel_shuffle(3); }, "[unflatten] axis -3 of size 8");
  expect_error([] { counted({2, 2}).pixel_shuffle(1); }, "[pixel_shuffle] shape (2, 2) and factor 1");
}

TEST(Rearrange, Gradients) {
  const std::vector<double> v = spread(6, -2, 2);
  expect_gradient([](const Tensor& x) { return x.roll({1}, {1}).square(); }, v, {2, 3});
  expect_gradient([](const Tensor& x) { return x.repeat({2, 2}).square(); }, v, {2, 3});
  expect_gradient([](const Tensor& x) { return x.repeat_interleave(2, 1).square(); }, v, {2, 3});
  expect_gradient([](const Tensor& x) { return x.unfold(0, 3, 2).square(); }, v, {6});
  expect_gradient([](const Tensor& x) { return x.rot90().square(); }, v, {2, 3});
  expect_gradient([](const Tensor& x) { return x.pixel_shuffle(2).square(); }, spread(8, -1, 1), {4, 2, 1});
}

// --- pad.cpp ---

TEST(Pad, Constants) {
  const Tensor x = counted({2, 3});
  const auto inside = [](const Place& i, double other) {
    const bool is_in = i[0] >= 1 && i[0] < 3 && i[1] >= 2 && i[1] < 5;
    return is_in ? static_cast<double>((i[0] - 1) * 3 + i[1] - 2) : other;
  };
  expect_elements(x.pad({{1, 0}, {2, 1}}), {3, 6}, [&](const Place& i) { return inside(i, 0); });
  expect_elements(x.pad({{1, 0}, {2, 1}}, Tensor::PadMode::constant, 7.5), {3, 6},
                  [&](const Place& i) { return inside(i, 7.5); });
  expect_values(x.pad({{-1, 0}, {1, -2}}, Tensor::PadMode::constant, 9), {1, 2}, {9, 3});
  expect_values(bools({true, false}, {2}).pad({{1, 1}}, Tensor::PadMode::constant, true), {4}, {1, 1, 0, 1});
  expect_values(i64({1, 2}).pad({{1, 1}}, Tensor::PadMode::constant, 2.9), {4}, {2, 1, 2, 2});
  expect_values(counted({0}).pad({{1, 1}}, Tensor::PadMode::constant, 4), {2}, {4, 4});
  const std::vector<double> negative = values_of(x.pad({{1, 0}, {0, 0}}, Tensor::PadMode::constant, -0.0));
  EXPECT_TRUE(std::signbit(negative[0]));
  EXPECT_EQ(x.pad({{0, 0}, {0, 0}}, Tensor::PadMode::constant, 5).node(), x.node());
  const double inf = std::numeric_limits<double>::infinity();
  expect_values(x.narrow(0, 0, 1).pad({{0, 0}, {1, 0}}, Tensor::PadMode::constant, -inf), {1, 4}, {-inf, 0, 1, 2});
  expect_error([&] { x.pad({{1, 1}}); }, "[pad] 1 pairs for the 2 dimensions of (2, 3)");
  expect_error([&] { x.pad({{-1, -2}, {0, 0}}); },
               "[pad] the padding (-1, -2) removes more than the 2 elements of dimension 0");
}

/// What index an index of the padded axis takes in an axis of n, as PyTorch has it.
std::int64_t source_of(Tensor::PadMode mode, std::int64_t i, std::int64_t n) {
  if (mode == Tensor::PadMode::replicate) return std::clamp<std::int64_t>(i, 0, n - 1);
  if (mode == Tensor::PadMode::circular) return floor_mod(i, n);
  return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i;
}

TEST(Pad, WhatGoesOn) {
  using enum Tensor::PadMode;
  const Tensor x = counted({2, 4});
  for (const auto mode : {reflect, replicate, circular})
    for (std::int64_t before = -3; before <= 3; ++before)
      for (std::int64_t after = -3; after <= 3; after += 2) {
        if (4 + before + after < 0) continue;
        expect_elements(x.pad({{0, 0}, {before, after}}, mode), {2, 4 + before + after},
                        [&](const Place& i) { return i[0] * 4 + source_of(mode, i[1] - before, 4); });
      }
  expect_elements(x.pad({{1, 1}, {2, 1}}, reflect), {4, 7},
                  [](const Place& i) { return source_of(reflect, i[0] - 1, 2) * 4 + source_of(reflect, i[1] - 2, 4); });
  expect_values(counted({1}).pad({{5, 5}}, replicate), {11}, std::vector<double>(11, 0));
  expect_error([&] { x.pad({{2, 0}, {0, 0}}, reflect); },
               "[pad] the padding (2, 0) of dimension 0 of size 2 is more than 1");
  expect_error([&] { x.pad({{0, 0}, {0, 5}}, circular); },
               "[pad] the padding (0, 5) of dimension 1 of size 4 is more than 4");
  expect_error([] { counted({0}).pad({{1, 0}}, replicate); }, "[pad] the padding (1, 0) of dimension 0 of size 0");
}

TEST(Pad, Gradients) {
  using enum Tensor::PadMode;
  const std::vector<double> v = spread(6, -2, 2);
  expect_gradient([](const Tensor& x) { return x.pad({{1, 0}, {-1, 2}}, constant, 3).square(); }, v, {2, 3});
  for (const auto mode : {reflect, replicate, circular})
    expect_gradient([&](const Tensor& x) { return x.pad({{1, 0}, {2, -1}}, mode).square(); }, v, {2, 3});
}

// --- diagonal.cpp ---

TEST(Diagonal, Triangles) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::int64_t d : {-9, -2, -1, 0, 1, 2, 9}) {
    const Tensor x = counted({2, 3, 4}) + 1;
    const auto value = [](const Place& i) { return static_cast<double>(i[0] * 12 + i[1] * 4 + i[2] + 1); };
    expect_elements(x.tril(d), {2, 3, 4}, [&](const Place& i) { return i[2] - i[1] <= d ? value(i) : 0; });
    expect_elements(x.triu(d), {2, 3, 4}, [&](const Place& i) { return i[2] - i[1] >= d ? value(i) : 0; });
  }
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                         most = std::numeric_limits<std::int64_t>::max();
  expect_values(counted({1, 2}).triu(least), {1, 2}, {0, 1});
  expect_values(counted({1, 2}).tril(most), {1, 2}, {0, 1});
  expect_values(counted({1, 2}).triu(most), {1, 2}, {0, 0});
  expect_values(counted({1, 2}).tril(least), {1, 2}, {0, 0});
  expect_values(f64({1, nan, 2, 3}, {2, 2}).tril(), {2, 2}, {1, 0, 2, 3});
  EXPECT_EQ(bools({true, true, true, true}, {2, 2}).triu(1).dtype(), dtypes::boolean);
  expect_error([] { counted({3}).tril(); }, "[tril] the tensor has shape (3,)");
}

TEST(Diagonal, OfMatricesAndBack) {
  const Tensor x = counted({3, 4});
  for (std::int64_t d = -5; d <= 5; ++d) {
    const std::int64_t down = std::max<std::int64_t>(-d, 0), right = std::max<std::int64_t>(d, 0);
    const std::int64_t n = std::max<std::int64_t>(std::min(3 - down, 4 - right), 0);
    expect_elements(x.diagonal(d), {n}, [&](const Place& i) { return (i[0] + down) * 4 + i[0] + right; });
    expect_elements(x.diag(d), {n}, [&](const Place& i) { return (i[0] + down) * 4 + i[0] + right; });
    const std::int64_t size = 2 + down + right;
    expect_elements((counted({2}) + 1).diag(d), {size, size},
                    [&](const Place& i) { return i[1] - i[0] == d ? i[0] - down + 1 : 0; });
  }
  expect_elements(counted({2, 3, 4}).diagonal(1, 2, 0), {3, 1}, [](const Place& i) { return 12 + i[0] * 4; });
  expect_elements(counted({2, 3, 4}).diagonal(0, 0, 2), {3, 2}, [](const Place& i) { return i[1] * 13 + i[0] * 4; });
  expect_elements((counted({2, 3}) + 1).diag_embed(0, 0, 2), {3, 2, 3},
                  [](const Place& i) { return i[0] == i[2] ? i[1] * 3 + i[0] + 1 : 0; });
  EXPECT_EQ(counted({0}).diag(2).shape(), Ints({2, 2}));
  EXPECT_EQ(x.diagonal(std::numeric_limits<std::int64_t>::min()).shape(), Ints({0}));
  expect_error([] { counted({1, 1, 1}).diag(); }, "[diag] the tensor has shape (1, 1, 1)");
  expect_error([&] { x.diagonal(0, 1, -1); }, "[diagonal] axes 1 and -1");
  expect_error([] { Tensor(1).diag_embed(); }, "[diag_embed] the tensor is a scalar");
}

TEST(Diagonal, Gradients) {
  const std::vector<double> v = spread(6, -2, 2);
  expect_gradient([](const Tensor& x) { return x.diagonal(1).square(); }, v, {2, 3});
  expect_gradient([](const Tensor& x) { return x.tril().square(); }, v, {2, 3});
  expect_gradient([](const Tensor& x) { return x.diag_embed(-1).square(); }, v, {2, 3});
}

// --- join.cpp and split.cpp ---

TEST(Join, AlongAnAxis) {
  const Tensor x = counted({2, 3}), y = counted({2, 1}) + 10;
  const Many both = {x, y};
  expect_values(Tensor::cat(both, 1), {2, 4}, {0, 1, 2, 10, 3, 4, 5, 11});
  expect_values(Tensor::cat(both, -1), {2, 4}, {0, 1, 2, 10, 3, 4, 5, 11});
  expect_error([&] { Tensor::cat(both, 0); }, "[cat] shapes (2, 3) and (2, 1) differ in dimension 1");
  expect_error([] { Tensor::cat(Many{}); }, "[cat] there is no tensor");
  expect_error([] { Tensor::cat(Many{Tensor(1)}); }, "[cat] a scalar has no axis");
  expect_error([&] { Tensor::cat(Many{x, counted({3})}); }, "[cat] shapes (2, 3) and (3,) have 2 and 1 dimensions");
  const double inf = std::numeric_limits<double>::infinity();
  expect_values(Tensor::cat(Many{f64({inf}, {1}), f64({-inf, 1}, {2})}), {3}, {inf, -inf, 1});
  expect_values(Tensor::cat(Many{bools({true, false}, {2}), bools({true}, {1})}), {3}, {1, 0, 1});
}

TEST(Join, DtypesPromoteAndEmptyOnesGo) {
  EXPECT_EQ(Tensor::cat(Many{i64({1}), f64({2}, {1})}).dtype(), dtypes::float64);
  EXPECT_EQ(Tensor::cat(Many{bools({true}, {1}), i64({2})}).dtype(), dtypes::int64);
  expect_values(Tensor::cat(Many{counted({0}), counted({2, 2})}), {2, 2}, {0, 1, 2, 3});
  expect_values(Tensor::cat(Many{counted({0}), counted({0})}), {0}, {});
  expect_values(Tensor::cat(Many{counted({0, 2}), counted({1, 2})}), {1, 2}, {0, 1});
  expect_values(Tensor::cat(Many{counted({0, 2}), counted({0, 2})}, 1), {0, 4}, {});
}

TEST(Join, ManyPartsAreComputedIntoTheirPlaces) {
  Many parts;
  for (std::int64_t k = 0; k < 20; ++k) parts.push_back(counted({2, k % 3, 2}) + static_cast<double>(k * 100));
  const Tensor y = Tensor::cat(parts, 1);
  std::vector<std::pair<std::int64_t, std::int64_t>> from;
  for (std::int64_t k = 0; k < 20; ++k)
    for (std::int64_t j = 0; j < k % 3; ++j) from.emplace_back(k, j);
  expect_elements(y, {2, static_cast<std::int64_t>(from.size()), 2}, [&](const Place& i) {
    const auto [k, j] = from[static_cast<std::size_t>(i[1])];
    return k * 100 + (i[0] * (k % 3) + j) * 2 + i[2];
  });
}

TEST(Join, Stacks) {
  const Tensor a = counted({2}), b = counted({2}) + 5;
  const Many both = {a, b};
  expect_values(Tensor::stack(both), {2, 2}, {0, 1, 5, 6});
  expect_values(Tensor::stack(both, -1), {2, 2}, {0, 5, 1, 6});
  expect_values(Tensor::stack(Many{f64({1}, {}), f64({2}, {})}), {2}, {1, 2});
  expect_values(Tensor::hstack(both), {4}, {0, 1, 5, 6});
  expect_values(Tensor::vstack(both), {2, 2}, {0, 1, 5, 6});
  expect_values(Tensor::dstack(both), {1, 2, 2}, {0, 5, 1, 6});
  expect_values(Tensor::column_stack(both), {2, 2}, {0, 5, 1, 6});
  expect_values(Tensor::column_stack(Many{a, counted({2, 2})}), {2, 3}, {0, 0, 1, 1, 2, 3});
  expect_values(Tensor::hstack(Many{counted({1, 1}), counted({1, 2})}), {1, 3}, {0, 0, 1});
  expect_error([&] { Tensor::stack(Many{a, counted({3})}); }, "[stack] shapes (2,) and (3,) differ");
  expect_error([] { Tensor::hstack(Many{}); }, "[hstack] there is no tensor");
}

TEST(Join, Grids) {
  const Many axes = {counted({2}), counted({3}) + 10};
  const Many ij = Tensor::meshgrid(axes), xy = Tensor::meshgrid(axes, false);
  expect_values(ij[0], {2, 3}, {0, 0, 0, 1, 1, 1});
  expect_values(ij[1], {2, 3}, {10, 11, 12, 10, 11, 12});
  expect_values(xy[0], {3, 2}, {0, 1, 0, 1, 0, 1});
  expect_values(xy[1], {3, 2}, {10, 10, 11, 11, 12, 12});
  expect_values(Tensor::meshgrid(Many{f64({2}, {})})[0], {1}, {2});
}

std::vector<std::vector<double>> all_values(const Many& tensors) {
  std::vector<std::vector<double>> out;
  for (const Tensor& x : tensors) out.push_back(values_of(x));
  return out;
}
using Lists = std::vector<std::vector<double>>;

TEST(Split, IntoParts) {
  const Tensor x = counted({5});
  EXPECT_EQ(all_values(x.split(2)), Lists({{0, 1}, {2, 3}, {4}}));
  EXPECT_EQ(all_values(x.split(9)), Lists({{0, 1, 2, 3, 4}}));
  EXPECT_EQ(all_values(x.split(Place{1, 0, 4})), Lists({{0}, {}, {1, 2, 3, 4}}));
  EXPECT_EQ(all_values(x.chunk(2)), Lists({{0, 1, 2}, {3, 4}}));
  EXPECT_EQ(all_values(x.chunk(4)), Lists({{0, 1}, {2, 3}, {4}}));
  EXPECT_EQ(all_values(x.tensor_split(3)), Lists({{0, 1}, {2, 3}, {4}}));
  EXPECT_EQ(all_values(x.tensor_split(7)), Lists({{0}, {1}, {2}, {3}, {4}, {}, {}}));
  EXPECT_EQ(all_values(x.tensor_split(Place{1, 3})), Lists({{0}, {1, 2}, {3, 4}}));
  EXPECT_EQ(all_values(x.tensor_split(Place{4, 2, -1, 9})), Lists({{0, 1, 2, 3}, {}, {2, 3}, {4}, {}}));
  EXPECT_EQ(all_values(counted({2, 2}).unbind(1)), Lists({{0, 2}, {1, 3}}));
  EXPECT_EQ(counted({4, 6}).split(4, -1)[1].shape(), Ints({4, 2}));
  EXPECT_EQ(counted({0}).split(0).size(), 1U);
  EXPECT_EQ(counted({0}).chunk(3).size(), 3U);
  expect_error([&] { x.split(0); }, "[split] axis 0 of size 5 cannot be split into parts of 0");
  expect_error([&] { x.split(Place{1, 2}); }, "[split] the sizes for axis 0 of size 5 leave 2 elements over");
  expect_error([&] { x.split(Place{4, 2}); }, "[split] axis 0 of size 5 has no 2 left: 1");
  expect_error([&] { x.chunk(0); }, "[chunk] axis 0 of size 5 cannot be split into 0 parts");
  const std::int64_t far = std::int64_t{1} << 40;
  expect_error([&] { x.tensor_split(far); }, "[tensor_split] 1099511627776 parts are more than 1048576");
  expect_error([&] { counted({0}).chunk(far); }, "[chunk] 1099511627776 parts");
  expect_error([&] { Tensor::zeros({far}).split(2); }, "[split] 549755813888 parts");
  expect_error([&] { Tensor::zeros({far}).chunk(far); }, "[chunk] 1099511627776 parts");
  expect_error([&] { Tensor::zeros({far}).unbind(); }, "[unbind] 1099511627776 parts");
  EXPECT_EQ(x.chunk(far).size(), 5U);
  EXPECT_EQ(x.split(far).size(), 1U);
  expect_error([] { Tensor(1).unbind(); }, "[unbind] a scalar has no axis 0");
}

TEST(Join, SymbolicSizes) {
  const Variable variable("n", 1, 4);
  const Int n(variable.bind(2));
  const Tensor x = counted({4, 3}), y = x.narrow(0, 0, n);
  expect_values(Tensor::cat(Many{y, x}).sum(0), {3}, {21, 27, 33});
  expect_values(y.repeat({2, 1}).sum(0), {3}, {6, 10, 14});
  expect_values(y.tril().sum(0), {3}, {3, 4, 0});
  expect_values(y.pad({{0, Int(4) - n}, {0, 0}}, Tensor::PadMode::constant, 7).sum(0), {3}, {17, 19, 21});
  expect_values(y.roll({1}, {0}).select(0, 0), {3}, {3, 4, 5});
  expect_error([&] { y.unbind(0); }, "[unbind] the size n of axis 0 is symbolic");
}

TEST(Join, Gradients) {
  const auto weighted = [](const Many& xs) { return Tensor::cat(Many{xs[0], xs[1] * 2, xs[0].square()}, 1); };
  expect_gradient(weighted, {spread(4, -2, 2), spread(2, -2, 2)}, {{2, 2}, {2, 1}});
  const auto placed = [](const Many& xs) {
    Many parts;
    for (int k = 0; k < 18; ++k) parts.push_back(xs[static_cast<std::size_t>(k % 2)] * k);
    return Tensor::cat(parts, 1);
  };
  expect_gradient(placed, {spread(4, -2, 2), spread(2, -2, 2)}, {{2, 2}, {2, 1}});
  const auto parted = [](const Tensor& x) {
    const Many parts = x.split(2);
    return parts[0] * parts[1];
  };
  expect_gradient(parted, spread(4, -2, 2), {4});
}

}  // namespace
}  // namespace strata::test
