// Merging stacks of Views: one View exactly where there is one, the fewest otherwise, and sentences that say why not.
#include "strata/view/merge.h"

#include <gtest/gtest.h>

#include <cctype>
#include <chrono>
#include <string_view>

#include "strata/base/check.h"
#include "tests/view/view_oracle.h"

namespace strata::oracle {
namespace {

// The View that says a stack, by tables; nothing where none does.
std::optional<View> one_view(const Stack& stack) {
  const std::optional<Strided> one = single_of(table(stack), stack.back().shape);
  if (!one) return std::nullopt;
  return views(Stack{*one})[0];
}

// The fewest groups that are one View each, by tables.
std::size_t fewest_groups(const Stack& stack) {
  std::vector<std::size_t> best(stack.size() + 1, stack.size());
  best[0] = 0;
  for (std::size_t end = 1; end <= stack.size(); ++end)
    for (std::size_t begin = 0; begin < end; ++begin) {
      const auto from = stack.begin() + static_cast<std::ptrdiff_t>(begin);
      const Stack group(from, from + static_cast<std::ptrdiff_t>(end - begin));
      if (group.size() == 1 || one_view(group)) best[end] = std::min(best[end], best[begin] + 1);
    }
  return best[stack.size()];
}

TEST(Merge, GivesTheOneViewThereIs) {
  constexpr std::uint64_t seed = 31;
  SCOPED_TRACE(detail::message("seed ", seed));
  RandomStack random(seed, {.size = 8, .elements = 100});
  int yes = 0, no = 0;
  for (int k = 0; k < 8000 && !HasFailure(); ++k) {
    const Stack stack = random();
    const Merge got = merge(views(stack));
    const std::optional<View> want = one_view(stack);
    EXPECT_EQ(got.found, want ? Answer::yes : Answer::no) << to_string(stack);
    EXPECT_TRUE(got.view == want) << to_string(stack);
    (want ? yes : no) += 1;
  }
  EXPECT_GT(yes, 1000);
  EXPECT_GT(no, 1000);
}

TEST(Merge, OfOneViewIsThatView) {
  const View v = View::create({3, 2}, Ints{2, 1});
  const Merge one = merge(std::span<const View>(&v, 1));
  EXPECT_EQ(one.found, Answer::yes);
  EXPECT_TRUE(one.view == v);
  EXPECT_THROW((void)merge({}), Error);
}

TEST(FewestViews, AreTheFewestOfTheSameMeaning) {
  constexpr std::uint64_t seed = 32;
  SCOPED_TRACE(detail::message("seed ", seed));
  RandomStack random(seed, {.views = 6, .elements = 60});
  int kept[7] = {};
  for (int k = 0; k < 4000 && !HasFailure(); ++k) {
    const Stack stack = random();
    const std::vector<View> all = views(stack);
    const std::vector<View> few = fewest_views(all);
    EXPECT_EQ(few.size(), fewest_groups(stack)) << to_string(stack);
    EXPECT_EQ(table(plain(few)), table(stack)) << to_string(stack);
    EXPECT_TRUE(fewest_views(few) == few) << to_string(stack);
    EXPECT_TRUE(fewest_views(all) == few) << to_string(stack);
    ++kept[few.size()];
  }
  EXPECT_GT(kept[1], 500);
  EXPECT_GT(kept[2], 500);
  EXPECT_GT(kept[3], 50);
}

// --- chains that come back to one View ---

void expect_one(const ShapeTracker& st, std::size_t before) {
  EXPECT_EQ(st.views().size(), before) << st.render();
  const ShapeTracker one = st.simplify();
  EXPECT_EQ(one.views().size(), 1U) << one.render();
  EXPECT_EQ(table(plain(one.views())), table(plain(st.views())));
}

TEST(FewestViews, ChainsComeBackToOneView) {
  const ShapeTracker grid = ShapeTracker::from_shape({4, 6});
  expect_one(grid.permute({1, 0}).reshape({24}).reshape({6, 4}), 2);
  expect_one(grid.permute({1, 0}).reshape({24}).reshape({6, 4}).permute({1, 0}), 2);
  // Every second of a padded, flattened and halved line: the padding is gone again.
  expect_one(grid.pad({{0, 0}, {1, 1}}).reshape({32}).reshape({4, 8}).shrink({{0, 4}, {1, 7}}), 2);
  expect_one(grid.pad({{1, 1}, {0, 0}}).reshape({36}).shrink({{6, 30}}), 1);
  expect_one(grid.pad({{0, 0}, {0, 2}}).reshape({32}).reshape({4, 4, 2}).shrink({{0, 4}, {0, 3}, {0, 2}}), 2);
  // Rows of one column, picked by a stride from the flattened transpose.
  expect_one(grid.permute({1, 0}).reshape({24}).stride({4}), 2);
  expect_one(grid.permute({1, 0}).reshape({24}).shrink({{4, 8}}), 2);
  expect_one(grid.flip({0}).reshape({24}).stride({6}), 2);
  // Two carries that cancel.
  expect_one(ShapeTracker({View::create({2, 2, 2}, Ints{1, 1, 0}), View::create({3}, Ints{3})}), 2);
}

TEST(FewestViews, KeepTheTwoOfTheSpecification) {
  const ShapeTracker two = ShapeTracker::from_shape({3, 2}).permute({1, 0}).reshape({3, 2});
  ASSERT_EQ(two.views().size(), 2U);
  EXPECT_EQ(two.simplify(), two);
  EXPECT_EQ(two.why_not_merged(),
            "a step along dimension 1 at (1, 0) changes the address by -3, elsewhere (at (0, 0)) by "
            "2: it carries from dimension 1 (size 3) of view 0 into dimension 0");
  const ShapeTracker one =
      ShapeTracker::from_shape({10, 10}).permute({1, 0}).reshape({5, 2, 5, 2}).reshape({100}).reshape({10, 10});
  EXPECT_EQ(one.views().size(), 2U);
  EXPECT_EQ(one.simplify().views().size(), 1U);
  EXPECT_EQ(one.why_not_merged(), "");
}

// A group of views is merged on its own: what its views above leave out is not known to it, the whole stack knows all.
TEST(FewestViews, TheWholeStackKnowsItsDomain) {
  const Stack stack{{{2, 3}, {1, 2}, 0, {0, 0}, {2, 3}}, contiguous_box({3, 2}), {{3}, {0}, 1, {0}, {3}}};
  EXPECT_FALSE(one_view({stack[0], stack[1]}));
  EXPECT_EQ(fewest_views(views(stack)).size(), 1U);
}

// --- the sentences ---

// The parts of `text` where `form` has @, an index tuple, or #, an integer; nothing where the rest differs.
std::vector<std::string> parts(std::string_view text, std::string_view form) {
  std::vector<std::string> out;
  for (const char c : form) {
    std::size_t length = 1;
    if (c == '@') {
      length = text.starts_with('(') ? text.find(')') + 1 : 0;
    } else if (c == '#') {
      length = text.starts_with('-') ? 1 : 0;
      while (length < text.size() && std::isdigit(static_cast<unsigned char>(text[length])) != 0) ++length;
    } else if (!text.starts_with(c)) {
      return {};
    }
    if (length == 0) return {};
    if (c == '@' || c == '#') out.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return text.empty() ? out : std::vector<std::string>{};
}

Index parse_index(const std::string& text) {
  Index out;
  std::string number;
  for (const char c : text) {
    if (c == '-' || (c >= '0' && c <= '9')) {
      number += c;
    } else if (!number.empty()) {
      out.push_back(std::stoll(number));
      number.clear();
    }
  }
  return out;
}

// Index of view k that the index `i` of the top arrives at, and its number.
struct Arrival {
  Index index;
  std::int64_t number = 0;
};
Arrival arrive(const Stack& stack, std::size_t k, Index i) {
  const Stack above(stack.begin() + static_cast<std::ptrdiff_t>(k) + 1, stack.end());
  const std::int64_t number = *address_of(above, i);
  return {unravel(number, stack[k].shape), number};
}

// How often runs of `size` numbers end between two arrivals.
std::int64_t ends(std::int64_t from, std::int64_t to, std::int64_t size) {
  return floor_div(to, size) - floor_div(from, size);
}

void check_slope_sentence(const Stack& stack, const std::string& text) {
  const std::string form =
      "a step along dimension # at @ changes the address by #, elsewhere (at @) by #: it carries "
      "from dimension # "
      "(size #) of view #";
  std::vector<std::string> m = parts(text, form + " into dimension #");
  if (m.empty()) m = parts(text, form + ", whose last index wraps around to the first");
  ASSERT_FALSE(m.empty()) << text;
  const std::size_t axis = std::stoul(m[0]), digit = std::stoul(m[5]), k = std::stoul(m[7]);
  const Index at = parse_index(m[1]), elsewhere = parse_index(m[3]);
  Index next = at, next_elsewhere = elsewhere;
  ++next[axis];
  ++next_elsewhere[axis];
  const auto address = [&](const Index& i) { return address_of(stack, i).value(); };
  EXPECT_EQ(address(next) - address(at), std::stoll(m[2])) << text;
  EXPECT_EQ(address(next_elsewhere) - address(elsewhere), std::stoll(m[4])) << text;
  EXPECT_NE(m[2], m[4]);
  // The digit ends its run here, in the direction of the step, more often than there.
  ASSERT_LT(k + 1, stack.size());
  const Index& shape = stack[k].shape;
  ASSERT_LT(digit, shape.size());
  EXPECT_EQ(shape[digit], std::stoll(m[6]));
  std::int64_t run = 1;
  for (std::size_t t = digit; t < shape.size(); ++t) run *= shape[t];
  const std::int64_t from = arrive(stack, k, at).number, to = arrive(stack, k, next).number;
  const std::int64_t there = arrive(stack, k, elsewhere).number;
  EXPECT_EQ(to - from, arrive(stack, k, next_elsewhere).number - there) << text;
  const std::int64_t here_ends = ends(from, to, run), there_ends = ends(there, there + to - from, run);
  EXPECT_GT(to > from ? here_ends : -here_ends, to > from ? there_ends : -there_ends) << text;
  std::size_t into = digit;
  if (into > 0) --into;
  while (into > 0 && shape[into] == 1) --into;
  EXPECT_EQ(m.size() > 8, into < digit && shape[into] > 1) << text;
  if (m.size() > 8) {
    EXPECT_EQ(std::stoul(m[8]), into) << text;
  }
}

void check_hole_sentence(const Stack& stack, const std::string& text) {
  const std::vector<std::string> m =
      parts(text,
            "@ is invalid although it lies between valid indices @ and @: the valid set is not a "
            "box (dimension # of view # "
            "is valid in [#, #) and has the index #)");
  ASSERT_FALSE(m.empty()) << text;
  const Index at = parse_index(m[0]), first = parse_index(m[1]), second = parse_index(m[2]);
  EXPECT_FALSE(address_of(stack, at)) << text;
  EXPECT_TRUE(address_of(stack, first) && address_of(stack, second)) << text;
  for (std::size_t j = 0; j < at.size(); ++j)
    EXPECT_TRUE(std::min(first[j], second[j]) <= at[j] && at[j] <= std::max(first[j], second[j])) << text;
  const std::size_t dimension = std::stoul(m[3]), k = std::stoul(m[4]);
  ASSERT_LT(k + 1, stack.size());
  EXPECT_EQ(stack[k].begin[dimension], std::stoll(m[5])) << text;
  EXPECT_EQ(stack[k].end[dimension], std::stoll(m[6])) << text;
  EXPECT_EQ(arrive(stack, k, at).index[dimension], std::stoll(m[7])) << text;
  EXPECT_TRUE(std::stoll(m[7]) < std::stoll(m[5]) || std::stoll(m[7]) >= std::stoll(m[6])) << text;
}

TEST(Explain, EveryNumberIsRight) {
  constexpr std::uint64_t seed = 33;
  SCOPED_TRACE(detail::message("seed ", seed));
  RandomStack random(seed, {.rank = 4, .size = 8, .elements = 100});
  int slopes = 0, holes = 0;
  for (int k = 0; k < 12000 && !HasFailure(); ++k) {
    const std::vector<View> views = oracle::views(random());
    const Stack stack = plain(views);
    const Merge got = merge(views);
    if (got.found == Answer::yes) continue;
    const std::string text = explain(views, got.obstacle);
    SCOPED_TRACE(to_string(stack));
    if (got.obstacle.kind == Obstacle::Kind::slope) {
      check_slope_sentence(stack, text);
      ++slopes;
    } else if (got.obstacle.kind == Obstacle::Kind::hole) {
      check_hole_sentence(stack, text);
      ++holes;
    } else {
      EXPECT_EQ(text, "the only index is invalid, and a View without dimensions has no mask");
      EXPECT_TRUE(stack.back().shape.empty() && !address_of(stack, {}));
    }
  }
  EXPECT_GT(slopes, 1000);
  EXPECT_GT(holes, 300);
}

TEST(Explain, PadAndWindow) {
  // (6,) padded to (8,), seen as six windows of three.
  const View padded = View::create({8}, Ints{1}, -1, Mask{{1, 7}});
  const View windows = View::create({6, 3}, Ints{1, 1});
  const std::vector<View> stack{padded, windows};
  EXPECT_EQ(explain(stack, merge(stack).obstacle),
            "(0, 0) is invalid although it lies between valid indices (0, 1) and (1, 0): the valid set "
            "is not a box (dimension 0 of view 0 is valid in [1, 7) and has the index 0)");
}

// --- budgets ---

// Decisions between 2^n subsets: each takes all of its budget.
std::vector<View> undecidable(int dimensions, std::int64_t step) {
  Index shape, stride;
  std::int64_t sum = 0;
  RandomStack random(5);
  for (int n = 0; n < dimensions; ++n) {
    shape.push_back(2);
    stride.push_back(2 * random.number(step / 2, step));
    sum += stride.back();
  }
  const std::int64_t k = sum + 2, target = 2 * (sum / 4) + 1;
  for (std::int64_t& d : stride) d *= 1 + 2 * k;
  Ints strides = to_ints(stride);
  return {View::create({2, k, 2, k}, Ints{-1, 0, 1, 0}),
          View::create(to_ints(shape), strides, (k - target) + 2 * k * (k - target - 1))};
}

TEST(Merge, EndsWithItsBudget) {
  const std::vector<View> stack = undecidable(34, 1 << 20);
  const auto start = std::chrono::steady_clock::now();
  const Merge open = merge(stack);
  const auto time = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(open.found, Answer::unknown);
  EXPECT_EQ(open.obstacle.kind, Obstacle::Kind::budget);
  EXPECT_EQ(explain(stack, open.obstacle), "not decided: the stack has more pieces than the work limit allows");
  EXPECT_TRUE(fewest_views(stack) == stack);
  EXPECT_LT(time, std::chrono::seconds(2));  // 20 ms, in slow builds on a busy machine
}

TEST(Merge, LeavesOpenWhatDoesNotFit) {
  // Between the two views one digit's share leaves 64 bits, and the next one brings it back.
  const std::int64_t half = std::int64_t{1} << 62;
  const std::vector<View> stack{View::create({3, 2, 5}, Ints{half, -half, 1}, -half, Mask{{1, 3}, {1, 2}, {0, 5}}),
                                View::create({2, 5}, Ints{10, 1}, 15)};
  const Merge got = merge(stack);
  const bool open = got.found == Answer::unknown && got.obstacle.kind == Obstacle::Kind::overflow;
  EXPECT_TRUE(open || got.view == one_view(plain(stack)));
}

TEST(FewestViews, OfManyViews) {
  // 300 views, each a flip or a transpose of the one below, and one in the middle that does not merge.
  std::vector<View> views;
  for (int k = 0; k < 300; ++k) {
    const View flipped = View::create({6, 4}, Ints{-4, 1}, 20);
    const View swapped = View::create({6, 4}, Ints{1, 6});
    views.push_back(k == 150 ? swapped : flipped);
  }
  const std::vector<View> few = fewest_views(views);
  EXPECT_EQ(table(plain(few)), table(plain(views)));
  EXPECT_LE(few.size(), 3U);
  EXPECT_TRUE(fewest_views(few) == few);
}

// --- symbolic sizes ---

class SymbolicStacks : public testing::Test {
 protected:
  const Variable k{"k", 1, 100};
  const Variable n{"n", 2, 50};
};

TEST_F(SymbolicStacks, MergesPairsInAnyOrder) {
  const ShapeTracker st = ShapeTracker::from_shape({k, 3, n});
  const std::vector<View> views{st.views()[0], View::create({3 * k, n}), View::create({3 * k * n}),
                                View::create({k, 3, n})};
  const Merge whole = merge(views);
  EXPECT_EQ(whole.found, Answer::yes);
  ASSERT_TRUE(whole.view);
  EXPECT_TRUE(whole.view->contiguous());
  EXPECT_EQ(fewest_views(views).size(), 1U);
}

TEST_F(SymbolicStacks, NumbersBelowAreMergedExactly) {
  // Two views of numbers that merge by cancelling carries only, and a symbolic one above.
  const std::vector<View> views{View::create({2, 2, 2}, Ints{1, 1, 0}), View::create({3}, Ints{3}),
                                View::create({n, 3}, Ints{0, 1})};
  const std::vector<View> few = fewest_views(views);
  EXPECT_EQ(few.size(), 1U);
  EXPECT_TRUE(few[0] == View::create({n, 3}, Ints{0, 1}));
}

TEST_F(SymbolicStacks, DropsWhatChangesNothing) {
  const View strided = View::create({k, n}, Ints{2 * n, 1});
  const std::vector<View> views{strided, View::create({k, n}), View::create({k, n})};
  EXPECT_TRUE(fewest_views(views) == std::vector<View>{strided});
}

TEST_F(SymbolicStacks, NeverGuesses) {
  const std::vector<View> views{View::create({k, n}, Ints{1, k}), View::create({n, k})};
  const Merge whole = merge(views);
  EXPECT_EQ(whole.found, Answer::unknown);
  EXPECT_TRUE(fewest_views(views) == views);
  EXPECT_EQ(explain(views, whole.obstacle), "no View was shown to be equal to the stack for all sizes");
}

}  // namespace
}  // namespace strata::oracle
