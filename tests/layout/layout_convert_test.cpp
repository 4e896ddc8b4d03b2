// Views and stacks of Views as layouts and back: every index keeps its address and validity.

#include "strata/layout/layout_convert.h"

#include <gtest/gtest.h>

#include <vector>

#include "strata/layout/layout_algebra.h"
#include "strata/view/equal.h"
#include "tests/layout/layout_oracle.h"

namespace strata::layout_oracle {
namespace {

// Row-major over the shape, -1 where invalid: PlacedLayout's definition.
Table placed_addresses(const PlacedLayout& l) {
  const Index shape = *numbers(l.shape);
  Table out;
  Index i(shape.size(), 0);
  const std::int64_t count = product(shape);
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t rest = n, address = l.offset.value();
    for (std::size_t j = shape.size(); j-- > 0;) {
      i[j] = rest % shape[j];
      rest /= shape[j];
    }
    bool valid = true;
    for (std::size_t j = 0; j < shape.size(); ++j) {
      const std::int64_t local = i[j] - l.begin[j].value();
      valid = valid && local >= 0 && local < l.modes[j].size().value();
      if (valid) address += l.modes[j](local).value();
    }
    out.push_back(valid ? address : -1);
  }
  return out;
}

Index random_shape(Random& random, std::int64_t count) {
  Index out;
  while (count > 1 && random.pick(0, 3) != 0) {
    std::int64_t size = random.pick(2, 6);
    while (count % size != 0) --size;
    out.push_back(size);
    count /= size;
  }
  if (count > 1 || out.empty()) out.push_back(count);
  return out;
}

ShapeTracker random_moves(Random& random, ShapeTracker st) {
  for (std::int64_t moves = random.pick(1, 5); moves-- > 0;) {
    const std::size_t rank = st.rank();
    const std::int64_t axis = random.pick(0, static_cast<std::int64_t>(rank) - 1);
    const std::int64_t size = st.shape()[static_cast<std::size_t>(axis)].value();
    Axes order;
    for (std::size_t j = 0; j < rank; ++j) order.push_back(static_cast<std::int64_t>(j));
    std::swap(order[static_cast<std::size_t>(axis)], order[0]);
    Padding padding(rank, {0, 0});
    Mask bounds;
    for (const Int& n : st.shape()) bounds.push_back({0, n});
    switch (random.pick(0, 5)) {
      case 0: st = st.permute(order); break;
      case 1: st = st.flip({axis}); break;
      case 2:
        padding[static_cast<std::size_t>(axis)] = {random.pick(0, 2), random.pick(0, 2)};
        if (st.size().value() < 200) st = st.pad(padding);
        break;
      case 3:
        if (size > 1) bounds[static_cast<std::size_t>(axis)] = {random.pick(0, 1), size - random.pick(0, 1)};
        if (size > 2) st = st.shrink(bounds);
        break;
      default: st = st.reshape(to_ints(random_shape(random, st.size().value())));
    }
  }
  return st;
}

// Exactly when the valid indices are a box in which each axis is a layout and all axes add up.
bool is_hierarchical(const Table& all, const Index& shape) {
  Index begin(shape.size(), 1 << 20), end(shape.size(), 0);
  const auto digits = [&](std::size_t n) {
    Index i(shape.size(), 0);
    for (std::size_t j = shape.size(); j-- > 0;) {
      i[j] = static_cast<std::int64_t>(n) % shape[j];
      n /= static_cast<std::size_t>(shape[j]);
    }
    return i;
  };
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (all[n] < 0) continue;
    const Index i = digits(n);
    for (std::size_t j = 0; j < shape.size(); ++j) {
      begin[j] = std::min(begin[j], i[j]);
      end[j] = std::max(end[j], i[j] + 1);
    }
  }
  Table inside;
  std::vector<std::int64_t> sizes;
  for (std::size_t n = 0; n < all.size(); ++n) {
    const Index i = digits(n);
    bool in = true;
    for (std::size_t j = 0; j < shape.size(); ++j) in = in && i[j] >= begin[j] && i[j] < end[j];
    if (in && all[n] < 0) return false;
    if (in) inside.push_back(all[n]);
  }
  if (inside.empty()) return false;
  for (std::size_t j = shape.size(); j-- > 0;) sizes.push_back(end[j] - begin[j]);  // the fastest first
  const std::int64_t base = inside[0];
  for (std::int64_t& v : inside) v -= base;
  return is_refined_layout(inside, sizes);
}

TEST(LayoutConvert, StacksThatAreOneLayoutAreFound) {
  Random random(31);
  int layouts = 0, several_views = 0, hierarchical = 0;
  for (int round = 0; round < 3000; ++round) {
    static constexpr std::int64_t kCounts[] = {12, 16, 24, 30, 36, 48};
    const Index shape = random_shape(random, kCounts[random.pick(0, 5)]);
    const ShapeTracker st = random_moves(random, ShapeTracker::from_shape(to_ints(shape)));
    const Table all = addresses(st);
    const std::optional<PlacedLayout> l = to_layout(st);
    ASSERT_EQ(l.has_value(), is_hierarchical(all, *numbers(st.shape()))) << st.render();
    if (!l) continue;
    ++layouts;
    ASSERT_EQ(placed_addresses(*l), all) << st.render() << " -> " << render(l->layout());
    ASSERT_EQ(addresses(to_shape_tracker(*l)), all) << st.render() << " -> " << render(l->layout());
    const bool one = st.simplify().views().size() == 1;
    several_views += one ? 0 : 1;
    const std::optional<View> view = to_view(*l);
    ASSERT_EQ(view.has_value(), one) << st.render();
    if (view) {
      ASSERT_EQ(addresses(ShapeTracker({*view})), all) << st.render();
    } else {
      ++hierarchical;
    }
  }
  EXPECT_GT(layouts, 1000);
  EXPECT_GT(several_views, 100);
  EXPECT_EQ(several_views, hierarchical);
}

TEST(LayoutConvert, Examples) {
  // (4, 6) transposed and read as (2, 12): a hierarchy in the second dimension, row-major
  const ShapeTracker st = ShapeTracker::from_shape({4, 6}).permute({1, 0}).reshape({2, 12});
  const std::optional<PlacedLayout> l = to_layout(st);
  ASSERT_TRUE(l.has_value());
  EXPECT_EQ(render(l->layout()), "(2,(4,3)):(3,(6,1))");
  EXPECT_FALSE(to_view(*l).has_value());
  EXPECT_EQ(to_shape_tracker(*l).views().size(), 2);

  const std::optional<View> view = to_view(parse_layout("((2,4),8):((1,2),-8)"), 56);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->render(), View::create({8, 8}, Ints{1, -8}, 56).render());
  EXPECT_FALSE(to_view(parse_layout("((2,4),8):((1,16),2)")).has_value());
  EXPECT_EQ(render(to_layout(*view)->layout()), "(8,8):(1,-8)");

  const View padded = View::create({4, 4}).pad({{1, 2}, {0, 3}});
  const std::optional<PlacedLayout> placed = to_layout(padded);
  ASSERT_TRUE(placed.has_value());
  EXPECT_EQ(render(placed->layout()), "(4,4):(4,1)");
  EXPECT_EQ(placed->begin, (Ints{1, 0}));
  EXPECT_EQ(to_view(*placed), padded);

  EXPECT_FALSE(to_layout(View::create({4, 0})).has_value());
  EXPECT_EQ(to_view(*to_layout(View::create({}))), View::create({}));
}

TEST(LayoutConvert, SymbolicSizes) {
  const Variable n("n", 1, 64);
  const Int size(n);
  const View view = View::create({size, 8}, Ints{16, 1}, 3);
  const std::optional<PlacedLayout> placed = to_layout(view);
  ASSERT_TRUE(placed.has_value());
  EXPECT_EQ(render(placed->layout()), "(n,8):(16,1)");
  EXPECT_EQ(to_view(*placed), view);

  const ShapeTracker st = ShapeTracker::from_shape({size, 4, 6}).permute({0, 2, 1}).reshape({size, 24});
  const std::optional<PlacedLayout> l = to_layout(st);
  ASSERT_TRUE(l.has_value());
  EXPECT_EQ(render(l->layout()), "(n,(4,6)):(24,(6,1))");
}

}  // namespace
}  // namespace strata::layout_oracle
