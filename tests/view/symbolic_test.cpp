// Merging Views of symbolic sizes: what must merge does, and every merged View means its stack for all sizes.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "strata/view/merge.h"
#include "tests/view/instances.h"

namespace strata::oracle::symbolic {
namespace {

std::vector<Variable> variables_of(const View& a, const View& b) {
  std::vector<Variable> out = a.vars();
  for (const Variable& v : b.vars())
    if (std::none_of(out.begin(), out.end(), [&](const Variable& w) { return same(v, w); })) out.push_back(v);
  return out;
}

// The merged View against the stack, at up to `most` assignments where `condition` holds; how many there were.
std::size_t expect_same(const View& lower, const View& upper, const View& merged, const Expr& condition = 1,
                        std::size_t most = 300) {
  const std::array stack{lower, upper};
  std::size_t seen = 0;
  for_each_assignment(variables_of(lower, upper), most, [&](const Values& at) {
    if (evaluate(condition, at) == 0) return;
    ++seen;
    EXPECT_EQ(table(instances(stack, at)), table(instances({&merged, 1}, at)))
        << lower.render() << "\n"
        << upper.render() << "\n"
        << merged.render() << "\nat " << text_of(at);
  });
  return seen;
}

// The merge has to be found, and to be right.
View expect_merge(const View& lower, const View& upper) {
  const std::optional<View> merged = merge_symbolic(lower, upper);
  EXPECT_TRUE(merged) << lower.render() << "\n" << upper.render();
  if (!merged) return upper;
  expect_same(lower, upper, *merged);
  return *merged;
}

void expect_open(const View& lower, const View& upper) {
  const std::optional<View> merged = merge_symbolic(lower, upper);
  EXPECT_FALSE(merged) << merged->render();
}

const Variable n("n", 1, 9), m("m", 1, 7), k("k", 1, 5), zero("zero", 0, 6);

View row_major(const Ints& shape) { return View::create(shape); }

TEST(SymbolicMerge, joins_and_splits) {
  EXPECT_EQ(expect_merge(row_major({n, 3}), row_major({n * 3})), row_major({n * 3}));
  EXPECT_EQ(expect_merge(row_major({n * 3}), row_major({n, 3})), row_major({n, 3}));
  EXPECT_EQ(expect_merge(row_major({n, m, 4}), row_major({n * m, 4})), row_major({n * m, 4}));
  EXPECT_EQ(expect_merge(row_major({n * m, 4}), row_major({n, m, 2, 2})), row_major({n, m, 2, 2}));
  EXPECT_EQ(expect_merge(row_major({n, 6}), row_major({n, 2, 3})), row_major({n, 2, 3}));
  EXPECT_EQ(expect_merge(row_major({2 * n + 1, 4}), row_major({4 * (2 * n + 1)})), row_major({8 * n + 4}));
  EXPECT_EQ(expect_merge(row_major({n, m, k}), row_major({m * n * k})), row_major({n * m * k}));
}

TEST(SymbolicMerge, permuted) {
  // (n, 6) seen as (6, n), split to (2, 3, n), and joined from there to (6, n) again
  const View turned = View::create({6, n}, Ints{1, 6});
  const View split = expect_merge(turned, row_major({2, 3, n}));
  EXPECT_EQ(split, View::create({2, 3, n}, Ints{3, 1, 6}));
  EXPECT_EQ(expect_merge(split, row_major({6, n})), turned);
  // a turned view does not flatten
  expect_open(turned, row_major({6 * n}));
  expect_open(View::create({m, n}, Ints{1, m}), row_major({n * m}));
  expect_open(View::create({m, n}, Ints{1, m}), row_major({n, m}));
  // but turns back through a turned upper view
  const View back = expect_merge(View::create({m, n}, Ints{1, m}), View::create({n, m}, Ints{1, n}));
  EXPECT_EQ(back, row_major({n, m}));
}

TEST(SymbolicMerge, flipped) {
  const View flipped = View::create({n, m}, Ints{-m, 1}, m * (n - 1));
  const View whole = expect_merge(flipped, View::create({n, m}, Ints{-m, -1}, n * m - 1));
  EXPECT_EQ(whole, View::create({n, m}, Ints{m, -1}, m - 1));
  expect_merge(View::create({n * m}, Ints{-1}, n * m - 1), row_major({n, m}));
}

TEST(SymbolicMerge, places_that_are_sums) {
  const View wide = View::create({n, m + 1}, Ints{1, n});
  EXPECT_EQ(expect_merge(wide, View::create({m + 1, n}, Ints{1, m + 1})), View::create({m + 1, n}, Ints{n, 1}));
  expect_merge(View::create({n, 2 * m + 1, 3}, Ints{3, 3 * n, 1}),
               View::create({2 * m + 1, 3, n}, Ints{3, 1, 6 * m + 3}));
  // windows: the columns before the last one
  expect_merge(wide, View::create({n, m}, Ints{m + 1, 1}));
  expect_merge(wide, View::create({n, m}, Ints{m + 1, 1}, 1));
}

TEST(SymbolicMerge, rows_that_wrap_are_refused) {
  expect_open(View::create({n, 3}, Ints{1, n}), View::create({n, 3}, Ints{3, 1}, 1));
  expect_open(View::create({n, m}, Ints{1, n}), View::create({n, m}, Ints{m, 1}, 1));
  expect_open(View::create({n, 4}, Ints{1, n}), row_major({2 * n, 2}));
}

TEST(SymbolicMerge, sizes_that_may_be_zero_or_one) {
  expect_merge(row_major({zero, 3}), row_major({zero * 3}));
  expect_merge(View::create({3, zero}, Ints{1, 3}), View::create({zero, 3}, Ints{1, zero}));
  expect_merge(row_major({zero * n, 4}), row_major({zero, n, 4}));
  // nothing is there to be seen through where zero == 0
  expect_open(row_major({zero}), View::create({1}, Ints{0}));
}

TEST(SymbolicMerge, masks_of_the_upper_view_stay) {
  const View lower = View::create({n, m}, Ints{1, n});
  const View padded = View::create({m + 2, n}, Ints{1, m}, -1, Mask{{1, m + 1}, {0, n}});
  const View merged = expect_merge(lower, padded);
  EXPECT_EQ(merged, View::create({m + 2, n}, Ints{n, 1}, -n, Mask{{1, m + 1}, {0, n}}));
}

TEST(SymbolicMerge, masks_of_the_lower_view) {
  const View padded = View::create({n + 2, 3}, Ints{3, 1}, -3, Mask{{1, n + 1}, {0, 3}});
  EXPECT_EQ(expect_merge(padded, row_major({3 * n + 6})), View::create({3 * n + 6}, Ints{1}, -3, Mask{{3, 3 * n + 3}}));
  EXPECT_EQ(expect_merge(padded, View::create({3, n + 2}, Ints{1, 3})),
            View::create({3, n + 2}, Ints{1, 3}, -3, Mask{{0, 3}, {1, n + 1}}));
  EXPECT_EQ(expect_merge(padded, View::create({n + 2, 3}, Ints{-3, 1}, 3 * n + 3)),
            View::create({n + 2, 3}, Ints{-3, 1}, 3 * n, Mask{{1, n + 1}, {0, 3}}));
  // inside the mask nothing of it is left
  EXPECT_EQ(expect_merge(padded, View::create({n, 3}, Ints{3, 1}, 3)), row_major({n, 3}));
  // every second row: the bounds are rounded
  expect_merge(padded, View::create({(n + 3) / 2, 3}, Ints{6, 1}));
  // in columns
  const View right = View::create({n, m + k}, Ints{m, 1}, 0, Mask{{0, n}, {0, m}});
  expect_merge(right, View::create({m + k, n}, Ints{1, m + k}));
  expect_merge(right, View::create({n, m}, Ints{m + k, 1}));
  expect_open(right, row_major({n * (m + k)}));
  // inside one row of another split
  const View middle = View::create({n, 3 * m + 6}, Ints{m, 1}, -m - 3, Mask{{0, n}, {m + 3, 2 * m + 3}});
  EXPECT_EQ(expect_merge(middle, row_major({n, 3, m + 2})),
            View::create({n, 3, m + 2}, Ints{m, 0, 1}, -1, Mask{{0, n}, {1, 2}, {1, m + 1}}));
  expect_merge(middle, View::create({n, 3, m + 2}, Ints{3 * m + 6, -m - 2, -1}, 3 * m + 5));
}

TEST(SymbolicMerge, nothing_is_valid) {
  const View padded = View::create({n + 2}, Ints{1}, -1, Mask{{1, n + 1}});
  const View merged = expect_merge(padded, View::create({4}, Ints{0}, n + 1));
  EXPECT_EQ(merged, View::create({4}, Ints{0}, 0, Mask{{0, 0}}));
}

TEST(SymbolicMerge, under_an_assumption) {
  const View lower = View::create({2, n}, Ints{1, 2});
  const View upper = View::create({m}, Ints{1});
  expect_open(lower, upper);
  const std::optional<View> merged = merge_symbolic(lower, upper, Expr(m) <= Expr(n));
  ASSERT_TRUE(merged);
  EXPECT_EQ(*merged, View::create({m}, Ints{2}));
  EXPECT_GT(expect_same(lower, upper, *merged, Expr(m) <= Expr(n)), 10U);
}

TEST(SymbolicMerge, guards) {
  const auto check = [](const View& lower, const View& upper, std::string_view expected) {
    expect_open(lower, upper);
    const std::optional<ShapeTracker::Guarded> found = merge_guarded(lower, upper);
    ASSERT_TRUE(found) << lower.render() << "\n" << upper.render();
    EXPECT_EQ(found->condition.render(), expected);
    EXPECT_GT(expect_same(lower, upper, found->view, found->condition), 0U);
  };
  check(View::create({2, n}, Ints{1, 2}), View::create({m}, Ints{1}), "((m+(n*-1))<1)");
  check(View::create({4, 8}, Ints{1, 4}), View::create({n}, Ints{1}), "(n<9)");
  const Variable rows("rows", 1, 24);
  check(View::create({rows, 4}, Ints{1, rows}), View::create({4}, Ints{rows}), "((rows%4)==0)");
}

TEST(SymbolicMerge, no_guard_where_no_size_merges) {
  const View lower = View::create({n + 1, m + 1}, Ints{1, n + 1});
  EXPECT_FALSE(merge_guarded(lower, row_major({(n + 1) * (m + 1)})));
}

// --- the population: a contiguous buffer, permuted and flipped, seen through a permuted, flipped, merged, sliced one
// ---

struct Pair {
  View lower, upper;
};

Int random_size(std::mt19937_64& random, const std::vector<Variable>& names) {
  const std::size_t r = random() % (names.size() + 2);
  return r < names.size() ? Int(names[r]) : Int(r == names.size() ? 2 : 3);
}

Pair random_pair(std::mt19937_64& random, const std::vector<Variable>& names) {
  const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
  Ints buffer, shape, strides;
  Int offset;
  for (std::size_t rank = 2 + random() % 2; rank-- > 0;) buffer.push_back(random_size(random, names));
  const Ints steps = row_major_strides(buffer);
  std::vector<std::size_t> order;
  for (std::size_t j = 0; j < buffer.size(); ++j) order.push_back(j);
  std::shuffle(order.begin(), order.end(), random);
  for (const std::size_t j : order) {
    const bool flip = chance(25);
    if (flip) offset += steps[j] * (buffer[j] - 1);
    shape.push_back(buffer[j]);
    strides.push_back(flip ? -steps[j] : steps[j]);
  }
  std::vector<std::pair<Int, Int>> dims;  // size and stride
  const Ints flat = row_major_strides(shape);
  for (std::size_t j = 0; j < shape.size(); ++j) dims.emplace_back(shape[j], flat[j]);
  if (chance(60)) {
    const std::size_t j = random() % (dims.size() - 1);
    dims[j] = {dims[j].first * dims[j + 1].first, dims[j + 1].second};
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(j) + 1);
  }
  std::shuffle(dims.begin(), dims.end(), random);
  for (std::size_t j = dims.size(); j-- > 0;)
    if (dims.size() > 1 && chance(15)) dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(j));
  Ints upper_shape, upper_strides;
  Int upper_offset;
  for (const auto& [size, stride] : dims) {
    const bool flip = chance(25);
    if (flip) upper_offset += stride * (size - 1);
    upper_shape.push_back(size);
    upper_strides.push_back(flip ? -stride : stride);
  }
  return {View::create(shape, strides, offset), View::create(upper_shape, upper_strides, upper_offset)};
}

// Whether the numbers at each of a few assignments merge.
bool merges_everywhere(const Pair& p, const std::vector<Variable>& names) {
  constexpr std::array<std::array<std::int64_t, 3>, 5> sizes{{{3, 5, 4}, {5, 3, 7}, {7, 4, 3}, {2, 3, 2}, {6, 6, 5}}};
  const std::array stack{p.lower, p.upper};
  return std::all_of(sizes.begin(), sizes.end(), [&](const auto& s) {
    Values at;
    for (std::size_t j = 0; j < names.size(); ++j) at.emplace_back(names[j], s[j]);
    std::vector<Strided> boxes;
    for (const Instance& v : instances(stack, at)) boxes.push_back(strided(v));
    return single(piecewise(boxes)).found == Answer::yes;
  });
}

TEST(SymbolicMerge, finds_every_uniform_merge_of_the_population) {
  const std::vector<Variable> names{Variable("N", 2, 2000), Variable("M", 2, 2000), Variable("K", 2, 2000)};
  std::mt19937_64 random(20240601);
  std::size_t exist = 0, found = 0, beyond = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const Pair p = random_pair(random, names);
    const bool uniform = merges_everywhere(p, names);
    const std::optional<View> merged = merge_symbolic(p.lower, p.upper);
    exist += uniform;
    found += uniform && merged;
    beyond += !uniform && merged;
    EXPECT_EQ(uniform, merged.has_value()) << p.lower.render() << "\n" << p.upper.render();
    if (!merged) continue;
    const std::vector<Variable> used = variables_of(p.lower, p.upper);
    for (std::int64_t base = 2; base < 7; ++base) {
      Values at;
      for (std::size_t j = 0; j < used.size(); ++j)
        at.emplace_back(used[j], 2 + (base * 3 + static_cast<std::int64_t>(j) * (base + 1)) % 6);
      const std::array stack{p.lower, p.upper};
      ASSERT_EQ(table(instances(stack, at)), table(instances({&*merged, 1}, at))) << p.lower.render() << "\n"
                                                                                  << p.upper.render() << "\n"
                                                                                  << merged->render() << "\n"
                                                                                  << text_of(at);
    }
  }
  RecordProperty("uniform", static_cast<int>(exist));
  EXPECT_GT(exist, 1500U);
  EXPECT_EQ(found, exist);
  EXPECT_EQ(beyond, 0U);
}

}  // namespace
}  // namespace strata::oracle::symbolic
