// Views of what is refused, with its message, and of symbolic sizes.
#include <gtest/gtest.h>

#include <functional>

#include "strata/view/view.h"
#include "tests/base/errors.h"

namespace strata {
namespace {

// --- refusals ---

TEST(ViewErrors, Create) {
  using enum ErrorKind;
  expect_error(ErrorKind::shape, "[view] dimension 1: size -3 of (2, -3) is negative", [] { View::create({2, -3}); });
  expect_error(ErrorKind::shape, "[view] 1 strides for shape (2, 3) of 2 dimensions",
               [] { View::create({2, 3}, Ints{1}); });
  expect_error(ErrorKind::shape, "[view] 3 mask pairs for shape (2, 3) of 2 dimensions",
               [] { View::create({2, 3}, std::nullopt, 0, Mask{{0, 1}, {0, 1}, {0, 1}}); });
  for (const Extent& bad : {Extent{-1, 2}, Extent{2, 1}, Extent{0, 4}, Extent{4, 4}})
    expect_error(ErrorKind::shape,
                 "[view] dimension 1: mask (" + bad.begin.render() + ", " + bad.end.render() + ") is not inside (0, 3)",
                 [&] { View::create({2, 3}, std::nullopt, 0, Mask{{0, 1}, bad}); });
  const Int huge = std::int64_t{1} << 62;
  expect_error(overflow, "[view] the number of elements of shape (2, 4611686018427387904) leaves 64 bits",
               [&] { View::create({2, huge}); });
  expect_error(overflow,
               "[view] the addresses of shape (3,) with strides (4611686018427387904,) and offset "
               "0 leave 64 bits",
               [&] { View::create({3}, Ints{huge}); });
  expect_error(overflow,
               "[view] the addresses of shape (2,) with strides (-1,) and offset "
               "-9223372036854775808 leave 64 bits",
               [&] { View::create({2}, Ints{-1}, kNegInf); });
  // The same strides where the mask keeps to addresses that fit.
  EXPECT_EQ(View::create({3}, Ints{huge}, 0, Mask{{0, 2}}).strides(), (Ints{huge}));
  EXPECT_EQ(View::create({2}, Ints{-1}, kPosInf).offset(), Int(kPosInf));
}

TEST(ViewErrors, Movement) {
  const View v = View::create({2, 3});
  using enum ErrorKind;
  const auto refused = [&](const std::string& text, const std::function<void()>& call) {
    expect_error(ErrorKind::shape, text, call);
  };
  refused("[permute] 1 dimension given, shape (2, 3) has 2", [&] { v.permute({0}); });
  refused("[permute] dimension 0 of (2, 3) is named twice", [&] { v.permute({0, 0}); });
  refused("[permute] 2 is not a dimension of (2, 3)", [&] { v.permute({0, 2}); });
  refused("[permute] -1 is not a dimension of (2, 3)", [&] { v.permute({0, -1}); });
  refused("[reshape] cannot reshape (2, 3), 6 elements, to (4, 2), 8 elements", [&] { v.reshape({4, 2}); });
  refused("[reshape] cannot reshape (2, 3), 6 elements, to (), 1 element", [&] { v.reshape({}); });
  refused("[reshape] dimension 0: size -2 of (-2, -3) is negative", [&] { v.reshape({-2, -3}); });
  refused("[reshape] cannot reshape (2, 3), 6 elements, to (0, 6), 0 elements", [&] { v.reshape({0, 6}); });
  refused("[expand] cannot expand (2, 3), 2 dimensions, to (2, 3, 1), 3 dimensions", [&] { v.expand({2, 3, 1}); });
  refused("[expand] dimension 0: cannot expand size 2 of (2, 3) to size 4 of (4, 3)", [&] { v.expand({4, 3}); });
  refused("[expand] dimension 1: size -1 of (2, -1) is negative", [&] { v.expand({2, -1}); });
  refused("[expand] dimension 0: cannot expand size 0 of (0,) to size 2 of (2,)",
          [&] { View::create({0}).expand({2}); });
  refused("[pad] 1 dimension given, shape (2, 3) has 2", [&] { v.pad({{0, 1}}); });
  refused("[pad] dimension 1: padding (0, -1) of size 3 is negative", [&] { v.pad({{1, 0}, {0, -1}}); });
  refused("[shrink] 3 dimensions given, shape (2, 3) has 2", [&] { v.shrink({{0, 1}, {0, 1}, {0, 1}}); });
  refused("[shrink] dimension 1: bounds (2, 7) are not inside (0, 5)",
          [&] { View::create({2, 5}).shrink({{0, 2}, {2, 7}}); });
  refused("[shrink] dimension 0: bounds (-1, 1) are not inside (0, 2)", [&] { v.shrink({{-1, 1}, {0, 3}}); });
  refused("[shrink] dimension 0: bounds (2, 1) are not inside (0, 2)", [&] { v.shrink({{2, 1}, {0, 3}}); });
  refused("[flip] 2 is not a dimension of (2, 3)", [&] { v.flip({2}); });
  refused("[flip] dimension 1 of (2, 3) is named twice", [&] { v.flip({1, 1}); });
  refused("[stride] 1 dimension given, shape (2, 3) has 2", [&] { v.stride({1}); });
  refused("[stride] dimension 1 of (2, 3): step 0 is 0", [&] { v.stride({1, 0}); });
  refused("[index] 1 indices for shape (2, 3) of 2 dimensions", [&] { v.expr(std::vector<Expr>{1}); });
  EXPECT_EQ(v, View::create({2, 3}));
}

TEST(ViewErrors, MovementBeyond64Bits) {
  const Int huge = std::int64_t{1} << 62;
  const View v = View::create({1, 4});
  expect_error(ErrorKind::overflow, "[expand] the number of elements of shape (4611686018427387904, 4) leaves 64 bits",
               [&] { v.expand({huge, 4}); });
  expect_error(ErrorKind::overflow, "[pad] 4 + 1 * 9223372036854775807 leaves 64 bits",
               [&] { v.pad({{0, 0}, {kPosInf, 0}}); });
  expect_error(ErrorKind::overflow, "[pad] the number of elements of shape (4611686018427387905, 4) leaves 64 bits",
               [&] { v.pad({{huge, 0}, {0, 0}}); });
  expect_error(ErrorKind::overflow, "[reshape] the number of elements of shape (4611686018427387904, 4) leaves 64 bits",
               [&] { v.reshape({huge, 4}); });
  // The last address is -2^63; backwards its stride would be 2^63.
  expect_error(ErrorKind::overflow, "[flip] 0 + -9223372036854775808 * -1 leaves 64 bits",
               [&] { View::create({2}, Ints{kNegInf}).flip({0}); });
  // A step of any size takes the first index, or the last.
  EXPECT_EQ(v.stride({1, kPosInf}), View::create({1, 1}));
  EXPECT_EQ(v.stride({1, kNegInf}), View::create({1, 1}, Ints{0, 0}, 3));
}

// --- symbolic sizes: what holds for each value of the variables ---

class SymbolicView : public testing::Test {
 protected:
  // `view` of k (1 to 6) is `of(k)` for each number.
  void check(const View& view, const std::function<View(const Int&)>& of) {
    for (std::int64_t n = 1; n <= 6; ++n) EXPECT_EQ(view.substitute({{k, n}}), of(n)) << view.render() << " at " << n;
  }
  void check_moves(const std::function<View(const Int&)>& of) { check(of(Int(k)), of); }

  const Variable k{"k", 1, 6};
};

TEST_F(SymbolicView, MovementIsThatOfEveryValue) {
  check_moves([](const Int& n) { return View::create({n, 3}).permute({1, 0}); });
  check_moves([](const Int& n) { return View::create({n, 3}).flip({0}); });
  check_moves([](const Int& n) { return View::create({n, 3}).flip({0, 1}).pad({{1, 2}, {0, 1}}); });
  check_moves([](const Int& n) { return View::create({n, 3}).pad({{n, 0}, {0, 0}}).flip({0}); });
  check_moves([](const Int& n) { return View::create({n + 2, 3}).shrink({{1, n + 1}, {1, 3}}); });
  check_moves([](const Int& n) { return View::create({n * 2, 3}).shrink({{n, n * 2}, {0, 3}}).flip({0}); });
  check_moves([](const Int& n) { return View::create({1, 3}).expand({n, 3}); });
  check_moves([](const Int& n) { return View::create({n, 3}).stride({2, -1}); });
  check_moves([](const Int& n) { return View::create({n, 3}).stride({-3, 2}); });
  check_moves([](const Int& n) { return View::create({n, 7}).pad({{1, 1}, {2, 2}}).stride({-2, 3}); });
  check_moves([](const Int& n) { return View::create({7, 3}).stride({n, 1}); });
  check_moves([](const Int& n) { return View::create({n, 4}).pad({{2, 2}, {0, 0}}).shrink({{1, n + 2}, {0, 4}}); });
  check_moves([](const Int& n) { return View::create({n, 4}).pad({{2, 2}, {0, 0}}).shrink({{0, n}, {0, 4}}); });
}

TEST_F(SymbolicView, ReshapeIsThatOfEveryValue) {
  check_moves([](const Int& n) { return *View::create({n, 6}).reshape({n, 2, 3}); });
  check_moves([](const Int& n) { return *View::create({n, 6}).reshape({n * 6}); });
  check_moves([](const Int& n) { return *View::create({n, 6}).reshape({n * 2, 3}); });
  check_moves([](const Int& n) { return *View::create({n, 4, 6}).permute({1, 0, 2}).reshape({2, 2, n, 6}); });
  check_moves([](const Int& n) { return *View::create({4, n, 6}).permute({1, 2, 0}).reshape({n * 6, 4}); });
  check_moves([](const Int& n) { return *View::create({n, 2, 3}).flip({0, 1, 2}).reshape({n, 6}); });
  check_moves([](const Int& n) { return *View::create({n, 6}).pad({{1, 1}, {0, 0}}).reshape({n + 2, 2, 3}); });
  EXPECT_EQ(View::create({k, 3}).permute({1, 0}).reshape({k * 3}), std::nullopt);
}

TEST_F(SymbolicView, CreateFoldsWhatHoldsForEveryValue) {
  const View v = View::create({k, 4}, std::nullopt, 0, Mask{{0, 6}, {1, 2}});
  EXPECT_EQ(v.render(), "View(shape=(k, 4), strides=(4, 0), offset=1, mask=((0, k), (1, 2)), contiguous=False)");
}

TEST_F(SymbolicView, RefusesWhatDoesNotHoldForEveryValue) {
  const View v = View::create({k, 3});
  expect_error(ErrorKind::shape, "[shrink] dimension 0: bounds (0, 2) are not inside (0, k)",
               [&] { v.shrink({{0, 2}, {0, 3}}); });
  expect_error(ErrorKind::shape, "[expand] dimension 0: cannot expand size k of (k, 3) to size 6 of (6, 3)",
               [&] { v.expand({6, 3}); });
  expect_error(ErrorKind::shape, "[reshape] cannot reshape (k, 3), (k*3) elements, to (6,), 6 elements",
               [&] { v.reshape({6}); });
  expect_error(ErrorKind::shape,
               "[view] dimension 0: size (-2+k) of ((-2+k), 3) is negative, or is not shown to be "
               "at least 0",
               [&] { View::create({k - 2, 3}); });
  expect_error(ErrorKind::shape, "[view] dimension 0: mask (0, 7) is not inside (0, k)",
               [&] { View::create({k, 3}, std::nullopt, 0, Mask{{0, 7}, {0, 3}}); });
  const Variable large("n", 1, std::int64_t{1} << 40);
  expect_error(ErrorKind::overflow, "[view] the number of elements of shape (n, n) leaves 64 bits",
               [&] { View::create({large, large}); });
}

TEST_F(SymbolicView, VariablesAndBindings) {
  const Variable n("n", 1, 9), bound = k.bind(4);
  const View v = View::create({bound, n, 3});
  EXPECT_EQ(v.vars().size(), 2U);
  EXPECT_TRUE(same(v.vars()[0], bound));
  const auto [plain, values] = v.unbind();
  EXPECT_EQ(plain, View::create({k, n, 3}));
  ASSERT_EQ(values.size(), 1U);
  EXPECT_TRUE(same(values[0].first, k));
  EXPECT_EQ(values[0].second, 4);
  EXPECT_EQ(v.substitute({{bound, 2}, {n, 5}}), View::create({2, 5, 3}));
  EXPECT_TRUE(View::create({2, 3}).unbind().second.empty());
  expect_error(ErrorKind::domain, "[unbind] 'k' is bound to 3 and to 4",
               [&] { View::create({k.bind(3), k.bind(4)}).unbind(); });
}

}  // namespace
}  // namespace strata
