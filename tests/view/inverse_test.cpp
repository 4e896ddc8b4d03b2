// Inverses of Views and stacks: every small View over every small memory, against the table and the search for a form.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "strata/view/equal.h"
#include "strata/view/shape_tracker.h"
#include "tests/view/table.h"

namespace strata::chains {
namespace {

const std::vector<Index> kMemories = {{},        {1},       {7},          {12},   {3, 4},    {4, 3},
                                      {2, 2, 3}, {1, 8, 1}, {2, 2, 2, 2}, {0, 3}, {2, 3, 4}, {5, 3}};

// Number of inverses found.
int check(const View& v) {
  const Table t = table_of(v);
  int found = 0;
  for (const Index& memory : kMemories) {
    const std::optional<Table> wanted = inverse_of(t, memory);
    const std::optional<Form> form = wanted ? form_of(*wanted) : std::nullopt;
    const std::optional<View> w = v.invert(to_ints(memory));
    EXPECT_EQ(w.has_value(), form.has_value()) << v.render() << " over " << render(memory);
    if (w && form) {
      EXPECT_TRUE(is_spelled(*w, memory, *form)) << v.render() << " gives " << w->render();
      EXPECT_EQ(w->contiguous(), is_row_major(*wanted, 0)) << w->render();
    }
    const std::optional<View> by_steps = v.inverse(count(memory));
    EXPECT_TRUE(wanted || !by_steps) << v.render();
    if (wanted && by_steps) {
      EXPECT_EQ(table_of(*by_steps).at, wanted->at) << v.render();
    }
    found += w.has_value();
  }
  return found;
}

// Every choice of one element of `from` for each of `n` places.
std::vector<Index> choices(const Index& from, std::size_t n) {
  std::vector<Index> out = {{}};
  for (std::size_t j = 0; j < n; ++j) {
    std::vector<Index> longer;
    for (const Index& begun : out)
      for (const std::int64_t item : from) {
        longer.push_back(begun);
        longer.back().push_back(item);
      }
    out = std::move(longer);
  }
  return out;
}

int check_all(std::size_t rank, const Index& sizes, const Index& strides, const Index& offsets) {
  int found = 0;
  for (const Index& shape : choices(sizes, rank))
    for (const Index& stride : choices(strides, rank))
      for (const std::int64_t offset : offsets) {
        if (testing::Test::HasFailure()) return found;
        found += check(View::create(to_ints(shape), to_ints(stride), offset));
      }
  return found;
}

TEST(Inverse, OfEverySmallViewOverEverySmallMemory) {
  EXPECT_GT(check_all(0, {}, {}, {-1, 0, 1, 5, 11, 12}), 10);
  EXPECT_GT(check_all(1, {0, 1, 2, 3, 4, 6}, {-4, -3, -2, -1, 0, 1, 2, 3, 4, 6}, {-1, 0, 1, 2, 5, 9}), 200);
  EXPECT_GT(check_all(2, {1, 2, 3}, {-4, -3, -1, 1, 2, 3, 4, 6}, {0, 1, 3, 8}), 500);
  EXPECT_GT(check_all(3, {2, 3}, {-6, -2, 1, 2, 4, 6}, {0, 1, 2, 6}), 20);
}

TEST(Inverse, OfEveryMaskOfSomeViews) {
  int found = 0;
  for (const Index& stride : choices({-3, -1, 0, 1, 2, 3, 4, 6, 12}, 2))
    for (const std::int64_t offset : {-2, 0, 3, 5})
      for (std::int64_t a = 0; a <= 3; ++a)
        for (std::int64_t b = a; b <= 3; ++b)
          for (std::int64_t c = 0; c <= 4; ++c)
            for (std::int64_t d = c; d <= 4; d += 2)
              found += check(View::create({3, 4}, to_ints(stride), offset, Mask{{a, b}, {c, d}}));
  EXPECT_GT(found, 2000);
}

TEST(Inverse, Examples) {
  EXPECT_EQ(View::create({3, 2}, Ints{4, 1}).invert({3, 4}), View::create({3, 4}, Ints{2, 1}, 0, Mask{{0, 3}, {0, 2}}));
  // a window of an image, and an image in its frame
  EXPECT_EQ(View::create({8, 8}).shrink({{2, 5}, {3, 7}}).invert({8, 8}),
            View::create({8, 8}, Ints{4, 1}, -11, Mask{{2, 5}, {3, 7}}));
  EXPECT_EQ(View::create({3, 4}).pad({{1, 1}, {2, 0}}).invert({3, 4}), View::create({3, 4}, Ints{6, 1}, 8));
  // every second row, from the last one on
  EXPECT_EQ(View::create({6, 2}).stride({-2, 1}).invert({3, 2, 2}),
            View::create({3, 2, 2}, Ints{-2, 0, 1}, 4, Mask{{0, 3}, {1, 2}, {0, 2}}));
  EXPECT_FALSE(View::create({6, 2}).stride({-2, 1}).invert({6, 2}));
  EXPECT_FALSE(View::create({2, 3}, Ints{0, 1}).invert({3}));
  EXPECT_FALSE(View::create({2, 3}, Ints{1, 1}).invert({4}));
}

TEST(Inverse, NumbersAtTheLimitsOf64Bits) {
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(View::create({2}, Ints{1}, huge - 2).invert({huge}),
            View::create({huge}, Ints{1}, 2 - huge, Mask{{huge - 2, huge}}));
  EXPECT_FALSE(View::create({2}, Ints{kNegInf}).invert({huge}));
  EXPECT_FALSE(View::create({2}, Ints{kPosInf}).invert({huge}));
  EXPECT_FALSE(View::create({2}, Ints{1}, kPosInf - 1).invert({kPosInf}));
  // steps of 2^40 between numbers, from address 2^61 on: the offset leaves 64 bits
  const std::int64_t far = std::int64_t{1} << 40;
  const View columns = View::create({2, far}, Ints{1, 0}, huge / 2, Mask{{0, 2}, {0, 1}});
  EXPECT_FALSE(columns.invert({huge}));
  EXPECT_EQ(columns.invert({huge / 2, 2}),
            View::create({huge / 2, 2}, Ints{0, far}, 0, Mask{{huge / 4, huge / 4 + 1}, {0, 2}}));
}

TEST(Inverse, ErrorsNameTheOperation) {
  const View v = View::create({2, 3});
  EXPECT_THROW(v.invert({-1}), Error);
  EXPECT_THROW(v.inverse(-1), Error);
  EXPECT_THROW(v.invert({kPosInf, 2}), Error);
}

// --- stacks ---

void expect_inverse(const ShapeTracker& st, const Index& memory) {
  const std::optional<ShapeTracker> back = st.invert(to_ints(memory));
  ASSERT_TRUE(back) << st.render();
  EXPECT_EQ(numbers(back->shape()), memory);
  const std::vector<std::int64_t> there = addresses(st), again = addresses(*back);
  std::vector<std::int64_t> wanted(again.size(), -1);
  for (std::size_t number = 0; number < there.size(); ++number)
    if (there[number] != -1) wanted[static_cast<std::size_t>(there[number])] = static_cast<std::int64_t>(number);
  EXPECT_EQ(again, wanted) << st.render();
}

TEST(Inverse, OfStacks) {
  const ShapeTracker st =
      ShapeTracker::from_shape({4, 3, 2}).permute({2, 0, 1}).flip({1}).reshape({6, 4}).permute({1, 0});
  ASSERT_EQ(st.views().size(), 2U);
  expect_inverse(st, {4, 3, 2});
  expect_inverse(st, {24});
  expect_inverse(st.shrink({{0, 3}, {1, 6}}), {4, 3, 2});
  expect_inverse(st.stride({2, -1}), {2, 12});
  EXPECT_FALSE(st.invert({4, 3}));
}

TEST(Inverse, OfStacksThatOnlyTheirOneViewSays) {
  // the lower View repeats what the upper one then leaves out
  const ShapeTracker twice({View::create({2, 6}, Ints{0, 1}), View::create({6})});
  expect_inverse(twice, {6});
  expect_inverse(twice, {2, 4});
}

}  // namespace
}  // namespace strata::chains
