// Stacks of Views: questions, inverses, sums, bindings, refusals, symbolic sizes. (Chains of movement: movement_test.)
#include "strata/view/shape_tracker.h"

#include <gtest/gtest.h>

#include <functional>

#include "strata/view/equal.h"
#include "tests/base/errors.h"
#include "tests/view/table.h"
#include "tests/view/view_oracle.h"

namespace strata::chains {
namespace {

using Addresses = std::vector<std::int64_t>;
using Strides = std::vector<std::optional<Int>>;

// --- what a stack does to memory, against tables ---

void expect_facts(const ShapeTracker& st, const Table& t) {
  const Strides strict = st.real_strides(), loose = st.real_strides(true);
  for (std::size_t j = 0; j < t.shape.size(); ++j) {
    const auto found = stride_along(t, j);
    const std::optional<Int> stride = found ? std::optional<Int>(*found) : std::nullopt;
    const bool masked = is_masked_along(t, j);
    EXPECT_EQ(loose[j], stride) << j << " of " << st.render();
    EXPECT_EQ(strict[j], masked ? std::nullopt : stride) << j << " of " << st.render();
    EXPECT_EQ(st.axis_is_masked(static_cast<std::int64_t>(j)), masked) << j << " of " << st.render();
  }
  EXPECT_EQ(st.real_size(), Int(size_of_memory(t))) << st.render();
}

TEST(ShapeTracker, FactsOfRandomStacks) {
  for (std::uint64_t seed = 1; seed <= 5000 && !testing::Test::HasFailure(); ++seed) {
    const std::vector<View> views = oracle::views(oracle::RandomStack(seed)());
    Table t = table_of(views[0]);
    for (std::size_t k = 1; k < views.size(); ++k) t = compose(t, table_of(views[k]));
    expect_facts(ShapeTracker(views), t);
  }
}

TEST(ShapeTracker, StridesOfATransposedAndSplitMatrix) {
  const ShapeTracker st = ShapeTracker::from_shape({4, 6}).permute({1, 0}).reshape({24}).reshape({3, 8});
  ASSERT_EQ(st.views().size(), 2U);
  EXPECT_EQ(st.real_strides(), (Strides{2, std::nullopt}));
  EXPECT_EQ(ShapeTracker::from_shape({4, 6}).pad({{1, 1}, {0, 0}}).real_strides(), (Strides{std::nullopt, 1}));
  EXPECT_EQ(ShapeTracker::from_shape({4, 6}).pad({{1, 1}, {0, 0}}).real_strides(true), (Strides{6, 1}));
  EXPECT_EQ(ShapeTracker::from_shape({4, 6}).unit_stride_axes(), (Axes{1}));
}

// Sizes beyond what one could list.
TEST(ShapeTracker, FactsOfLargeStacks) {
  const Int n = 1'000'000'000;
  const ShapeTracker st = ShapeTracker::from_shape({n, 2}).permute({1, 0}).reshape({n * 2}).flip({0});
  ASSERT_EQ(st.views().size(), 2U);
  EXPECT_EQ(st.real_strides(), Strides{std::nullopt});
  EXPECT_EQ(st.real_size(), n * 2);
  EXPECT_EQ(st.shrink({{0, n}}).real_strides(), Strides{-2});
  EXPECT_FALSE(st.axis_is_masked(0));
  EXPECT_TRUE(st.pad({{1, 0}}).axis_is_masked(0));
}

TEST(ShapeTracker, ConsecutiveIsARunOfMemory) {
  const ShapeTracker st = ShapeTracker::from_shape({4, 6});
  EXPECT_TRUE(st.consecutive());
  EXPECT_TRUE(st.shrink({{1, 3}, {0, 6}}).consecutive());
  EXPECT_FALSE(st.shrink({{1, 3}, {0, 6}}).contiguous());
  EXPECT_FALSE(st.shrink({{0, 4}, {0, 3}}).consecutive());
  EXPECT_FALSE(st.pad({{0, 0}, {0, 1}}).consecutive());
  EXPECT_FALSE(st.permute({1, 0}).reshape({4, 6}).consecutive());
}

// --- sums and inverses ---

TEST(ShapeTracker, PlusLooksThroughTheOther) {
  const ShapeTracker a = ShapeTracker::from_shape({2, 3}).permute({1, 0}), b = ShapeTracker::from_shape({6}).flip({0});
  const ShapeTracker sum = a + b;
  EXPECT_EQ(sum.views().size(), 2U);
  EXPECT_EQ(addresses(sum), (Addresses{5, 2, 4, 1, 3, 0}));
  EXPECT_EQ(addresses(a + ShapeTracker({View::create({2}, Ints{2}, 1)})), (Addresses{3, 4}));
  // No address, none beyond.
  EXPECT_EQ((a + ShapeTracker::from_shape({0})).size(), Int(0));
  EXPECT_EQ(addresses(a + ShapeTracker({View::create({2}, Ints{1}, 90, Mask{{1, 1}})})), (Addresses{-1, -1}));
}

TEST(ShapeTracker, PlusRefusesAddressesOutside) {
  const ShapeTracker a = ShapeTracker::from_shape({2, 3});
  expect_error(ErrorKind::shape,
               "[+] addresses 0 to 6 of ShapeTracker(views=(View(shape=(7,), strides=(1,), "
               "offset=0, mask=None, "
               "contiguous=True),)) are not inside (0, 6), the indices of shape (2, 3)",
               [&] { a + ShapeTracker::from_shape({7}); });
  expect_error(ErrorKind::shape,
               "[+] addresses -1 to 0 of ShapeTracker(views=(View(shape=(2,), strides=(1,), "
               "offset=-1, mask=None, "
               "contiguous=False),)) are not inside (0, 6), the indices of shape (2, 3)",
               [&] { a + ShapeTracker({View::create({2}, Ints{1}, -1)}); });
}

TEST(ShapeTracker, InvertTakesAddressesBack) {
  const ShapeTracker st =
      ShapeTracker::from_shape({4, 3, 2}).permute({2, 0, 1}).flip({1}).reshape({6, 4}).permute({1, 0});
  ASSERT_EQ(st.views().size(), 2U);
  const std::optional<ShapeTracker> back = st.invert({4, 3, 2});
  ASSERT_TRUE(back);
  EXPECT_EQ(back->shape(), (Ints{4, 3, 2}));
  const Addresses there = addresses(st), again = addresses(*back);
  for (std::size_t number = 0; number < there.size(); ++number)
    EXPECT_EQ(again[static_cast<std::size_t>(there[number])], static_cast<std::int64_t>(number));
  EXPECT_FALSE(st.invert({4, 3}));
  EXPECT_FALSE(st.reshape({24, 1}).expand({24, 2}).invert({4, 3, 2}));
  EXPECT_EQ(ShapeTracker::from_shape({0, 3}).invert({0})->shape(), (Ints{0}));
}

// --- merging ---

TEST(ShapeTracker, WhyNotMergedIsEmptyIffMerged) {
  const ShapeTracker one = ShapeTracker::from_shape({10, 10}).permute({1, 0}).reshape({100}).reshape({10, 10});
  EXPECT_EQ(one.why_not_merged(), "");
  EXPECT_EQ(one.simplify().why_not_merged(), "");
  EXPECT_NE(ShapeTracker::from_shape({3, 2}).permute({1, 0}).reshape({3, 2}).why_not_merged(), "");
}

// --- refusals ---

TEST(ShapeTrackerErrors, LeaveTheStackAsItWas) {
  const ShapeTracker st = ShapeTracker::from_shape({3, 2}).permute({1, 0}).reshape({6}), copy = st;
  using Call = std::function<void()>;
  for (const Call& call :
       {Call([&] { st.permute({1}); }), Call([&] { st.reshape({7}); }), Call([&] { st.expand({7}); }),
        Call([&] { st.pad({{-1, 0}}); }), Call([&] { st.shrink({{0, 7}}); }), Call([&] { st.flip({1}); }),
        Call([&] { st.stride({0}); }), Call([&] { st.axis_is_masked(1); }), Call([&] { st.axis_is_masked(-1); }),
        Call([&] { st.expr_idxs(std::vector<Expr>{1, 2}); }), Call([&] { st.invert({-1}); })}) {
    EXPECT_THROW(call(), Error);
    EXPECT_EQ(st, copy);
  }
  expect_error(ErrorKind::shape, "[shapetracker] there is no View", [] { ShapeTracker(std::vector<View>{}); });
  expect_error(ErrorKind::shape, "[index] there is no View", [] { index({}, {}); });
  expect_error(ErrorKind::shape, "[reshape] cannot reshape (6,), 6 elements, to (7,), 7 elements",
               [&] { st.reshape({7}); });
  expect_error(ErrorKind::shape, "[axis_is_masked] 1 is not a dimension of (6,)", [&] { st.axis_is_masked(1); });
}

TEST(ShapeTrackerErrors, AddressesBeyond64Bits) {
  const ShapeTracker st({View::create({1}, Ints{0}, kPosInf)});
  expect_error(ErrorKind::overflow, "[real_size] 9223372036854775807 + 1 * 1 leaves 64 bits", [&] { st.real_size(); });
  EXPECT_EQ(ShapeTracker({View::create({2}, Ints{-1}, -5)}).real_size(), Int(0));
}

// --- size 0 ---

TEST(ShapeTracker, NoIndexIsValidThroughAViewWithoutAny) {
  const ShapeTracker st({View::create({0, 3}), View::create({4})});
  EXPECT_EQ(st.expr_idxs().valid.render(), "0");
  EXPECT_EQ(st.to_indexed_uops().valid.render(), "False");
  EXPECT_EQ(st.real_size(), Int(0));
  EXPECT_EQ(st.real_strides(), Strides{0});
  EXPECT_FALSE(st.axis_is_masked(0));
  EXPECT_EQ(ShapeTracker::from_shape({0, 3}).reshape({3, 0}).expr_idxs().valid.render(), "0");
}

// --- symbolic sizes ---

class SymbolicTracker : public testing::Test {
 protected:
  // Address and validity over idx0, idx1, ... are those of the numbers, for each value of k and each index.
  void check(const std::function<ShapeTracker(const Int&)>& of) {
    const ShapeTracker st = of(Int(k));
    const IndexExprs at = st.expr_idxs();
    for (std::int64_t n = 1; n <= 5; ++n) {
      const ShapeTracker numbers_st = of(n);
      EXPECT_EQ(equal(st.substitute({{k, n}}), numbers_st).answer, Answer::yes) << st.render();
      const Index shape = *numbers(numbers_st.shape());
      const Addresses wanted = addresses(numbers_st);
      for_each_index(shape, [&](const Index& i, std::size_t number) {
        Substitution values{{k, n}};
        const std::vector<Expr> idxs = index_variables(st.shape(), "idx");
        for (std::size_t j = 0; j < i.size(); ++j)
          if (idxs[j].is_variable()) values.emplace_back(idxs[j], i[j]);
        EXPECT_EQ(substitute(at.valid, values).value() != 0, wanted[number] >= 0) << at.valid.render();
        if (wanted[number] < 0) return;
        EXPECT_EQ(substitute(at.index, values).value(), wanted[number]) << at.index.render() << st.render();
      });
      check_strides(st, numbers_st, n);
    }
  }
  void check_strides(const ShapeTracker& st, const ShapeTracker& at_n, std::int64_t n) {
    for (const bool ignore_valid : {false, true}) {
      const Strides some = st.real_strides(ignore_valid), wanted = at_n.real_strides(ignore_valid);
      for (std::size_t j = 0; j < some.size(); ++j) {
        if (!some[j] || at_n.shape()[j].value() <= 1) continue;
        ASSERT_TRUE(wanted[j]) << st.render();
        if (*wanted[j] == Int(0)) continue;  // no two neighbours are valid for this n
        EXPECT_EQ(substitute(some[j]->expr(), {{k, n}}).value(), wanted[j]->value()) << st.render();
      }
    }
  }

  const Variable k{"k", 1, 5};
};

TEST_F(SymbolicTracker, StacksMeanWhatTheyMeanForEveryValue) {
  using St = ShapeTracker;
  check([](const Int& n) { return St::from_shape({n, 3}).permute({1, 0}).reshape({n * 3}); });
  check([](const Int& n) { return St::from_shape({n, 3}).permute({1, 0}).reshape({n, 3}); });
  check([](const Int& n) { return St::from_shape({n, 3}).permute({1, 0}).reshape({n * 3}).reshape({3, n}); });
  check([](const Int& n) { return St::from_shape({n, 3}).pad({{1, 0}, {0, 2}}).reshape({(n + 1) * 5}); });
  check([](const Int& n) { return St::from_shape({n, 3}).flip({0}).reshape({n * 3}).flip({0}); });
  check(
      [](const Int& n) { return St::from_shape({n, 3, 4}).permute({0, 2, 1}).reshape({n, 12}).pad({{0, 1}, {1, 0}}); });
  check([](const Int& n) { return St::from_shape({n, n}).permute({1, 0}).reshape({n * n}).reshape({n, n}).flip({1}); });
  check([](const Int& n) { return St::from_shape({6, n}).permute({1, 0}).reshape({n * 6}).shrink({{0, n}}); });
  check([](const Int& n) { return St::from_shape({n + 1}).pad({{n, n}}).stride({-2}); });
}

TEST_F(SymbolicTracker, IndicesInsideTheShapeMakeRedundantDigitsVanish) {
  const ShapeTracker st = ShapeTracker::from_shape({k, 3}).permute({1, 0}).reshape({k * 3}).reshape({3, k});
  ASSERT_EQ(st.views().size(), 2U);
  EXPECT_EQ(st.expr_idxs().index.render(), "((idx1*3)+idx0)");
  EXPECT_EQ(st.real_strides(), (Strides{1, 3}));
  EXPECT_EQ(st.simplify(), ShapeTracker::from_shape({k, 3}).permute({1, 0}));
}

TEST_F(SymbolicTracker, SizesThatMayBeZero) {
  const Variable z("z", 0, 4);
  const ShapeTracker st = ShapeTracker::from_shape({z, 3}).permute({1, 0}).reshape({z * 3});
  EXPECT_EQ(st.real_strides(), Strides{std::nullopt});
  const IndexExprs at = index(st.views(), std::vector<Expr>{Expr(2)});
  EXPECT_EQ(substitute(at.valid, {{z, 0}}).value(), 0);
  EXPECT_EQ(substitute(at.valid, {{z, 2}}).value(), 1);
  EXPECT_EQ(substitute(at.index, {{z, 2}}).value(), 1);
}

TEST_F(SymbolicTracker, RealSize) {
  const Int n(k);
  EXPECT_EQ(ShapeTracker::from_shape({n, 3}).real_size(), n * 3);
  EXPECT_EQ(ShapeTracker::from_shape({n, 3}).flip({0, 1}).real_size(), n * 3);
  EXPECT_EQ(ShapeTracker::from_shape({n, 4}).shrink({{0, n}, {1, 3}}).real_size(), n * 4 - 1);
  EXPECT_EQ(ShapeTracker::from_shape({n, 4}).pad({{2, 2}, {0, 0}}).real_size(), n * 4);
  EXPECT_EQ(ShapeTracker::from_shape({n, 3}).permute({1, 0}).reshape({n * 3}).reshape({3, n}).real_size(), n * 3);
  EXPECT_THROW(ShapeTracker::from_shape({n, 3}).permute({1, 0}).reshape({n * 3}).real_size(), Error);
}

TEST_F(SymbolicTracker, AxisIsMasked) {
  const ShapeTracker st = ShapeTracker::from_shape({k, 3}).pad({{0, 0}, {1, 0}});
  EXPECT_FALSE(st.axis_is_masked(0));
  EXPECT_TRUE(st.axis_is_masked(1));
  const ShapeTracker two = st.permute({1, 0}).reshape({k * 4}).reshape({4, k});
  ASSERT_EQ(two.views().size(), 2U);
  EXPECT_TRUE(two.axis_is_masked(0));
}

TEST_F(SymbolicTracker, PlusNeedsProof) {
  const ShapeTracker a = ShapeTracker::from_shape({k, 3});
  EXPECT_EQ((a + ShapeTracker::from_shape({3})).views().size(), 2U);
  EXPECT_EQ((a + ShapeTracker::from_shape({k * 3}).flip({0})).shape(), (Ints{k * 3}));
  EXPECT_THROW(a + ShapeTracker::from_shape({4}), Error);
}

TEST_F(SymbolicTracker, Invert) {
  const ShapeTracker st = ShapeTracker::from_shape({k, 3}).permute({1, 0}).flip({0});
  const std::optional<ShapeTracker> back = st.invert({k, 3});
  ASSERT_TRUE(back);
  for (std::int64_t n = 1; n <= 5; ++n) {
    const Addresses there = addresses(st.substitute({{k, n}})), again = addresses(back->substitute({{k, n}}));
    for (std::size_t i = 0; i < there.size(); ++i)
      EXPECT_EQ(again[static_cast<std::size_t>(there[i])], static_cast<std::int64_t>(i));
  }
}

TEST_F(SymbolicTracker, GuardedViewHoldsWhereItsConditionDoes) {
  const ShapeTracker one = ShapeTracker::from_shape({k, 3}).permute({1, 0});
  ASSERT_TRUE(one.guarded_view());
  EXPECT_EQ(one.guarded_view()->condition.render(), "1");
  EXPECT_EQ(one.guarded_view()->view, one.views()[0]);
  const Variable m("m", 1, 5);
  const ShapeTracker st({View::create({k, m}, Ints{1, Int(k)}), View::create({m}, Ints{1})});
  const auto guarded = st.guarded_view();
  int holds = 0;
  for (std::int64_t a = 1; guarded && a <= 5; ++a)
    for (std::int64_t b = 1; b <= 5; ++b) {
      const Substitution at{{k, a}, {m, b}};
      if (substitute(guarded->condition, at).value() == 0) continue;
      ++holds;
      EXPECT_EQ(equal(st.substitute(at), ShapeTracker({guarded->view.substitute(at)})).answer, Answer::yes);
    }
  EXPECT_EQ(guarded.has_value(), holds > 0);
}

TEST_F(SymbolicTracker, BindingsTravelWithTheStack) {
  const Variable b = k.bind(4), n = Variable("n", 1, 9).bind(7);
  const ShapeTracker st = ShapeTracker::from_shape({b, n, 3}).permute({1, 0, 2}).reshape({n * b, 3});
  ASSERT_EQ(st.views().size(), 2U);
  EXPECT_EQ(st.vars().size(), 2U);
  const Values values = st.var_vals();
  ASSERT_EQ(values.size(), 2U);
  EXPECT_TRUE(same(values[0].first, k));
  EXPECT_EQ(values[0].second, 4);
  EXPECT_EQ(values[1].second, 7);
  const auto [plain, bound] = st.unbind();
  EXPECT_EQ(bound.size(), 2U);
  EXPECT_TRUE(plain.var_vals().empty());
  EXPECT_EQ(plain.vars().size(), 2U);
  EXPECT_EQ(evaluate(st.size().expr()), 84);
  const ShapeTracker clash({View::create({b, 3}), View::create({k.bind(2)})});
  expect_error(ErrorKind::domain, "[var_vals] 'k' is bound to 2 and to 4", [&] { clash.var_vals(); });
  expect_error(ErrorKind::domain, "[var_vals] 'k' is bound to 2 and to 4", [&] { clash.unbind(); });
}

TEST(ShapeTracker, HashAndEquality) {
  const ShapeTracker st = ShapeTracker::from_shape({3, 2}).permute({1, 0}).reshape({3, 2});
  EXPECT_EQ(st, ShapeTracker(st.views()));
  EXPECT_EQ(st.hash(), ShapeTracker(st.views()).hash());
  EXPECT_NE(st.hash(), ShapeTracker::from_shape({3, 2}).hash());
  EXPECT_FALSE(st == ShapeTracker::from_shape({3, 2}));
}

}  // namespace
}  // namespace strata::chains
