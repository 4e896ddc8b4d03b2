// std::mdspan in and out: the same elements at the same indices. Built where the standard library has std::mdspan.
#include "strata/view/mdspan.h"

#if defined(__cpp_lib_mdspan)

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "strata/loops/tiled.h"
#include "tests/base/errors.h"

namespace strata {
namespace {

std::vector<int> numbered(std::size_t n) {
  std::vector<int> out(n);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

TEST(Mdspan, OutOfViewsAndBack) {
  std::vector<int> storage = numbered(24);
  const View view = View::create({4, 2, 3}, Ints{1, 12, 4});
  const auto m = to_mdspan<3>(std::span<int>(storage), view);
  const MemoryRef<int> back = from_mdspan(m);
  for (std::int64_t i = 0; i < 4; ++i)
    for (std::int64_t j = 0; j < 2; ++j)
      for (std::int64_t k = 0; k < 3; ++k) {
        const std::array<std::int64_t, 3> at{i, j, k};
        EXPECT_EQ(m[at], i + 12 * j + 4 * k);
        EXPECT_EQ(&m[at], back.ptr({i, j, k}));
      }
  EXPECT_TRUE(view_of(m) == view);
}

TEST(Mdspan, OffsetsSizesOfOneAndEmptyTensors) {
  std::vector<int> storage = numbered(24);
  const auto row = to_mdspan<3>(std::span<int>(storage), View::create({1, 1, 4}, Ints{7, 0, 2}, 10));
  EXPECT_EQ((row[std::array{0, 0, 3}]), 16);
  const auto scalar = to_mdspan<0>(MemoryRef<int>(storage, {}, {}, 5));
  EXPECT_EQ(scalar[(std::array<int, 0>())], 5);
  const auto none = to_mdspan<2>(std::span<int>(storage), View::create({3, 0}));
  EXPECT_EQ(none.size(), 0u);
  EXPECT_EQ(from_mdspan(none).shape(), (Index{3, 0}));
}

TEST(Mdspan, EmptyTensorsHaveRowMajorStridesWhateverTheViewHas) {
  std::vector<int> storage = numbered(24);
  const auto strides = [&](const View& v) {
    const auto m = to_mdspan<3>(std::span<int>(storage), v);
    EXPECT_EQ(m.size(), 0u);
    return Index{m.stride(0), m.stride(1), m.stride(2)};
  };
  EXPECT_EQ(strides(View::create({2, 0, 4}, Ints{-3, 1, 0}, 99)), (Index{4, 4, 1}));
  EXPECT_EQ(strides(View::create({2, 3, 0}).flip({0}).permute({2, 0, 1})), (Index{6, 3, 1}));
  EXPECT_EQ(strides(View::create({2, 3, 0}).pad({{1, 0}, {0, 0}, {0, 0}})), (Index{3, 1, 1}));
  // sizes beside the 0 that no stride counts
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_EQ(strides(View::create({0, huge, huge})), (Index{huge, huge, 1}));
}

TEST(Mdspan, InFromEveryStridedLayout) {
  std::vector<int> storage = numbered(12);
  const std::mdspan<int, std::extents<unsigned, 3, std::dynamic_extent>> rows(storage.data(), 4);
  const std::mdspan<const int, std::dextents<short, 2>, std::layout_left> columns(storage.data(), 3, 4);
  EXPECT_EQ(from_mdspan(rows).strides(), (Index{4, 1}));
  EXPECT_EQ(from_mdspan(columns).strides(), (Index{1, 3}));
  std::vector<int> seen;
  tiled(from_mdspan(columns)).complexLoops({"_0", "_1"}, [&](const int& x) { seen.push_back(x); });
  EXPECT_EQ(seen, (std::vector<int>{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11}));
}

TEST(Mdspan, WhatItCannotSay) {
  std::vector<int> storage = numbered(24);
  const auto refused = [&](const View& v) { return complaint([&] { to_mdspan<2>(std::span<int>(storage), v); }); };
  EXPECT_EQ(refused(View::create({2, 3}, std::nullopt, 0, Mask{{0, 2}, {1, 3}})),
            "[mdspan] dimension 1 is masked, which std::mdspan cannot say");
  EXPECT_EQ(refused(View::create({2, 3}, Ints{-3, 1}, 3)),
            "[mdspan] dimension 0 has stride -3; std::layout_stride has positive strides");
  EXPECT_EQ(refused(View::create({2, 3}, Ints{0, 1})),
            "[mdspan] dimension 0 has stride 0; std::layout_stride has positive strides");
  EXPECT_EQ(refused(View::create({2, 3}, Ints{2, 1})),
            "[mdspan] dimension 0 has stride 2, inside of the span of smaller strides; "
            "std::layout_stride keeps indices apart");
  EXPECT_EQ(refused(View::create({2, 3, 1})), "[mdspan] rank 2 for shape (2, 3, 1)");
  EXPECT_EQ(refused(View::create({5, 5})), "[tiled] the index (4, 4) has address 24, behind the storage's 24 elements");
}

}  // namespace
}  // namespace strata

#endif
