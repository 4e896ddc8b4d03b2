// The maps of LOADs: the element of the source is that of the LOAD, index by index; and the sources of windows.

#include "strata/codegen/access_map.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/codegen/kernels.h"

namespace strata::test {
namespace {

/// All indices of `shape`, which has numbers.
std::vector<std::vector<Expr>> indices_of(const Ints& shape) {
  std::vector<std::vector<Expr>> out(1);
  for (const Int& size : shape) {
    std::vector<std::vector<Expr>> longer;
    for (const std::vector<Expr>& front : out)
      for (std::int64_t k = 0; k < size.value(); ++k) {
        longer.push_back(front);
        longer.back().push_back(Expr(k));
      }
    out = std::move(longer);
  }
  return out;
}

/// The map of `st`; each index of `st` has its element in the source.
AccessMap checked_map(const ShapeTracker& st) {
  const ShapeTracker simple = st.simplify();
  const AccessMap map = access_map(simple);
  for (const std::vector<Expr>& index : indices_of(simple.shape())) {
    const std::vector<Expr> at = map.at(index);
    bool is_inside = true;
    for (std::size_t j = 0; j < at.size(); ++j)
      is_inside = is_inside && at[j].value() >= 0 && at[j].value() < map.source.shape()[j].value();
    const IndexExprs want = simple.expr_idxs(index);
    EXPECT_TRUE(is_inside) << simple.render();
    if (!is_inside) break;
    const IndexExprs got = map.source.expr_idxs(at);
    EXPECT_EQ(want.valid.value(), got.valid.value()) << simple.render();
    if (want.valid.value() != 0) {
      EXPECT_EQ(want.index.value(), got.index.value()) << simple.render();
    }
  }
  return map;
}

TEST(AccessMap, WindowsOverlapInTheImage) {
  for (const std::int64_t padding : {0, 1, 2})
    for (const std::int64_t step : {1, 2})
      for (const std::int64_t dilation : {1, 2}) {
        const AccessMap map = checked_map(kernels::windows_of_image({2, 9, 9}, padding, {3, step, dilation}));
        std::int64_t rows = 0;  // dimensions that several dimensions of the LOAD move along
        for (const auto& factor : map.factor)
          rows += std::count_if(factor.begin(), factor.end(), [](std::int64_t by) { return by != 0; }) > 1 ? 1 : 0;
        EXPECT_EQ(rows, 2) << padding << " " << step << " " << dilation;
      }
}

TEST(AccessMap, RepeatedDimensionsAreGone) {
  const ShapeTracker b = ShapeTracker::from_shape({1, 5, 6}).expand({4, 5, 6});
  const AccessMap map = checked_map(b);
  EXPECT_EQ(map.source.shape(), (Ints{5, 6}));
  EXPECT_EQ(map.factor, (std::vector<std::vector<std::int64_t>>{{0, 1, 0}, {0, 0, 1}}));
  EXPECT_EQ(checked_map(ShapeTracker::from_shape({1, 1}).expand({3, 4})).source.rank(), 0U);
}

TEST(AccessMap, StridesOfMemory) {
  const auto source_of = [](const Ints& shape, const Ints& strides, const Int& offset) {
    return checked_map(ShapeTracker({View::create(shape, strides, offset)})).source.shape();
  };
  EXPECT_EQ(source_of({4, 3}, {1, 1}, 0), (Ints{6}));                 // overlapping windows
  EXPECT_EQ(source_of({4, 3}, {2, 2}, 5), (Ints{6}));                 // of every other element
  EXPECT_EQ(source_of({4, 3}, {6, 4}, 0), (Ints{14}));                // 3 and 2 times 2
  EXPECT_EQ(source_of({4, 3}, {3, 1}, 0), (Ints{4, 3}));              // rows
  EXPECT_EQ(source_of({4, 3}, {-3, 1}, 9), (Ints{4, 3}));             // from the last one on
  EXPECT_EQ(source_of({4, 3}, {-1, 1}, 3), (Ints{6}));                // against each other
  EXPECT_EQ(source_of({3, 4, 3, 4}, {8, 1, 8, 1}, 0), (Ints{5, 7}));  // windows in an image of 8 columns
}

TEST(AccessMap, SymbolicSizes) {
  const Variable n("n", 1, 9);
  const AccessMap rows = access_map(ShapeTracker::from_shape({Int(n), 4, 1}).expand({Int(n), 4, 5}).simplify());
  EXPECT_EQ(rows.source.shape(), (Ints{Int(n), 4}));
  const AccessMap columns = access_map(ShapeTracker::from_shape({4, Int(n)}));  // a symbolic stride
  EXPECT_EQ(columns.source.shape(), (Ints{4, Int(n)}));
  const AccessMap repeated = access_map(ShapeTracker::from_shape({1, 4, Int(n)}).expand({7, 4, Int(n)}).simplify());
  EXPECT_EQ(repeated.factor[0], (std::vector<std::int64_t>{0, 0, 0}));  // one of the seven
  EXPECT_EQ(repeated.factor[2], (std::vector<std::int64_t>{0, 0, 1}));
}

TEST(AccessMap, RandomViews) {
  std::mt19937 random(1);
  const auto upto = [&](int n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
  int smaller = 0;
  for (int k = 0; k < 300; ++k) {
    ShapeTracker st = ShapeTracker::from_shape({1 + upto(4), 1 + upto(4), 1 + upto(4)});
    for (int step = 0; step < 5; ++step) {
      const Ints shape = st.shape();
      const auto d = static_cast<std::size_t>(upto(3));
      switch (upto(6)) {
        case 0: st = st.permute({1, 2, 0}); break;
        case 1: st = st.flip({static_cast<std::int64_t>(d)}); break;
        case 2: {
          Padding padding(3, {0, 0});
          padding[d] = {upto(2), upto(2)};
          if (shape[d].value() < 6) st = st.pad(padding);
          break;
        }
        case 3: {
          Ints to = shape;
          if (to[d] == Int(1)) to[d] = 1 + upto(3);
          st = st.expand(to);
          break;
        }
        case 4: {
          Mask bounds;
          for (const Int& size : shape) bounds.push_back({0, size});
          if (shape[d].value() > 1) bounds[d] = {upto(2), shape[d]};
          st = st.shrink(bounds);
          break;
        }
        default: st = st.reshape({shape[2], shape[0], shape[1]});
      }
    }
    const AccessMap map = checked_map(st);
    smaller += map.source.size().value() < st.size().value() ? 1 : 0;
  }
  EXPECT_GT(smaller, 10);
}

}  // namespace
}  // namespace strata::test
