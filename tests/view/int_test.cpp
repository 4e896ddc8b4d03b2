// Int, what is decided about sizes, and the polynomials behind: each answer is checked at all values of the variables.

#include "strata/view/int.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "strata/view/sizes.h"
#include "tests/base/errors.h"

namespace strata::int_sizes {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

const Variable n("n", 1, 9), m("m", 0, 6), k("k", 2, 5), wide("wide", 1, std::int64_t{1} << 40);

TEST(Int, numbers_stay_numbers) {
  const std::size_t nodes = live_nodes();
  Int a = 1'000'000, b = -3;
  EXPECT_EQ(a + b, Int(999'997));
  EXPECT_EQ(a - b, Int(1'000'003));
  EXPECT_EQ(a * b, Int(-3'000'000));
  EXPECT_EQ(-b, Int(3));
  a += b;
  a -= 7;
  a *= 2;
  EXPECT_EQ(a.value(), 1'999'980);
  EXPECT_EQ(a.vmin(), a.vmax());
  EXPECT_EQ(live_nodes(), nodes);
}

TEST(Int, expressions_that_are_constant_are_numbers) {
  EXPECT_TRUE(Int(n - n + 4).is_number());
  EXPECT_EQ(Int(n) - Int(n), Int(0));
  EXPECT_EQ(Int(n) * Int(0), Int(0));
  EXPECT_EQ(Int(n) + Int(2) - Int(n), Int(2));
  EXPECT_FALSE(Int(n).is_number());
  EXPECT_EQ(Int(n) * Int(3), Int(3 * n));
  EXPECT_EQ(Int(n).vmin(), 1);
  EXPECT_EQ(Int(n).vmax(), 9);
  EXPECT_THROW(static_cast<void>(Int(n).value()), Error);
}

TEST(Int, overflow_is_an_error) {
  EXPECT_EQ(error_of([] { return Int(kMax) + Int(1); }).kind(), ErrorKind::overflow);
  EXPECT_EQ(error_of([] { return Int(kMin) - Int(1); }).kind(), ErrorKind::overflow);
  EXPECT_EQ(error_of([] { return Int(kMin) * Int(-1); }).kind(), ErrorKind::overflow);
  EXPECT_EQ(error_of([] { return -Int(kMin); }).kind(), ErrorKind::overflow);
  EXPECT_EQ(error_of([] { return Int(n) * Int(kMax) * Int(2); }).kind(), ErrorKind::overflow);
  EXPECT_EQ(error_of([] { return product(Index{kMax, 2}); }).kind(), ErrorKind::overflow);
  EXPECT_EQ(error_of([] { return product(Ints{kMax, 2}); }).kind(), ErrorKind::overflow);
}

TEST(Int, copies_moves_and_memory) {
  const std::size_t nodes = live_nodes();
  {
    Int a = n * m + 1, b = a, c = 5;
    EXPECT_EQ(a, b);
    Int& same_b = b;
    b = same_b;
    EXPECT_EQ(b, a);
    c = b;
    b = std::move(a);
    EXPECT_EQ(b, c);
    b = Int(7);
    EXPECT_EQ(b, Int(7));
    EXPECT_EQ(c, Int(n * m + 1));
    Ints list(9, c);
    list.truncate(3);
    list.insert_at(1, 4);
    list.erase_at(0);
    EXPECT_EQ(list, (Ints{4, c, c}));
  }
  EXPECT_EQ(live_nodes(), nodes);
}

TEST(Int, text_as_tuples) {
  EXPECT_EQ(render(Ints{}), "()");
  EXPECT_EQ(render(Ints{100}), "(100,)");
  EXPECT_EQ(render(Ints{2, n * 3}), "(2, (n*3))");
  EXPECT_EQ(render(Index{-1, 0}), "(-1, 0)");
  EXPECT_EQ(numbers(Ints{2, 3}), (Index{2, 3}));
  EXPECT_FALSE(numbers(Ints{2, n}));
  EXPECT_EQ(to_ints(Index{2, 3}), (Ints{2, 3}));
}

TEST(Int, products_and_strides) {
  EXPECT_EQ(product(Ints{}), Int(1));
  EXPECT_EQ(product(Ints{n, 3, m}), Int(3 * n * m));
  EXPECT_EQ(product(Ints{kMax, kMax, 0, n}), Int(0));
  EXPECT_EQ(product(Index{kMax, kMax, 0}), 0);
  EXPECT_EQ(row_major_strides({n, m, 3}), (Ints{3 * m, 3, 1}));
  EXPECT_EQ(row_major_strides({}), Ints{});
}

TEST(Int, questions_of_numbers_are_always_answered) {
  for (std::int64_t a = -6; a <= 6; ++a)
    for (std::int64_t b = -6; b <= 6; ++b) {
      EXPECT_EQ(is_equal(a, b), a == b ? Answer::yes : Answer::no);
      EXPECT_EQ(is_less(a, b), a < b ? Answer::yes : Answer::no);
      EXPECT_EQ(is_at_most(a, b), a <= b ? Answer::yes : Answer::no);
      if (b > 0) {
        EXPECT_EQ(is_multiple(a, b), floor_mod(a, b) == 0 ? Answer::yes : Answer::no);
      }
      const std::optional<Int> q = exact_quotient(a, b);
      EXPECT_EQ(q.has_value(), b != 0 && floor_mod(a, b) == 0);
      if (q) {
        EXPECT_EQ(q->value() * b, a);
      }
    }
  EXPECT_FALSE(exact_quotient(kMin, -1));
}

TEST(Int, signs_that_are_shown) {
  EXPECT_EQ(is_nonnegative(n * m), Answer::yes);
  EXPECT_EQ(is_nonnegative(-n), Answer::no);
  EXPECT_EQ(is_nonnegative(n - 5), Answer::unknown);
  EXPECT_EQ(is_nonnegative(wide * wide - 2 * wide + 1), Answer::yes);
  EXPECT_EQ(is_nonnegative(wide * n - wide), Answer::yes);
  EXPECT_EQ(is_nonnegative((wide - 1) * (n - 1) - 3), Answer::unknown);
  EXPECT_EQ(is_nonnegative(n * (9 - n)), Answer::yes);
  EXPECT_EQ(is_nonnegative(wide - (wide / 4) * 4), Answer::yes);
  EXPECT_EQ(is_nonnegative(2 * ((wide + 1) / 2) - wide), Answer::yes);
  EXPECT_EQ(is_nonnegative(wide - 3 * ((wide + 2) / 3)), Answer::unknown);
  EXPECT_EQ(is_nonnegative(max(wide, 7 * n) - 7 * n), Answer::yes);
  EXPECT_EQ(is_nonnegative(n * wide - n * min(wide, k)), Answer::yes);
  EXPECT_EQ(is_less(wide, wide * k), Answer::yes);
  EXPECT_EQ(is_less(wide * k, wide), Answer::no);
  EXPECT_EQ(is_at_most(m, n), Answer::unknown);
  EXPECT_EQ(is_equal(n * (m + 1), n * m + n), Answer::yes);
  EXPECT_EQ(is_equal(2 * wide, 2 * n + 1), Answer::no);
  EXPECT_EQ(is_equal(wide, n), Answer::unknown);
  EXPECT_EQ(is_zero(wide % 1), Answer::yes);
}

TEST(Int, quotients) {
  EXPECT_EQ(exact_quotient(6 * n * m, 3 * n), Int(2 * m));
  EXPECT_EQ(exact_quotient((n + 1) * (m + 2), m + 2), Int(n + 1));
  EXPECT_EQ(exact_quotient(n * n - m * m, n - m), Int(n + m));
  EXPECT_EQ(exact_quotient(4 * n + 2, 2), Int(2 * n + 1));
  EXPECT_FALSE(exact_quotient(n, 2));
  EXPECT_FALSE(exact_quotient(n * m, k));
  EXPECT_FALSE(exact_quotient(2 * n, 4));
  EXPECT_EQ(is_multiple(6 * n, 3), Answer::yes);
  EXPECT_EQ(is_multiple(6 * n + 1, 3), Answer::no);
  EXPECT_EQ(is_multiple(n, 3), Answer::unknown);
}

// --- random expressions against their values everywhere ---

Expr random_size(std::mt19937_64& random, int depth) {
  const std::uint64_t r = random() % 12;
  const auto number = [&] { return static_cast<std::int64_t>(random() % 7) - 2; };
  if (depth == 0 || r < 3) return r % 4 == 0 ? Expr(number()) : r % 4 == 1 ? Expr(n) : r % 4 == 2 ? Expr(m) : Expr(k);
  const Expr a = random_size(random, depth - 1), b = random_size(random, depth - 1);
  if (r < 6) return a * b;
  if (r < 8) return a + b;
  if (r < 9) return a - b;
  if (r < 10) return a / (2 + static_cast<std::int64_t>(random() % 3));
  return r < 11 ? a % 4 : min(a, b);
}

struct Extremes {
  std::int64_t min = kMax, max = kMin;
};

template <class F>
void at_all_values(const F& f) {
  for (std::int64_t i = n.min(); i <= n.max(); ++i)
    for (std::int64_t j = m.min(); j <= m.max(); ++j)
      for (std::int64_t l = k.min(); l <= k.max(); ++l) f(Values{{n, i}, {m, j}, {k, l}});
}

Extremes extremes(const Expr& e) {
  Extremes out;
  at_all_values([&](const Values& at) {
    const std::int64_t v = evaluate(e, at);
    out = {std::min(out.min, v), std::max(out.max, v)};
  });
  return out;
}

TEST(Sizes, signs_are_sound_and_exact_on_small_boxes) {
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 250; ++trial) {
    const Expr e = random_size(random, 3);
    const Extremes x = extremes(e);
    const Answer sign = x.min >= 0 ? Answer::yes : x.max < 0 ? Answer::no : Answer::unknown;
    EXPECT_EQ(is_nonnegative(e), sign) << e.render();
    const Answer zero = is_zero(e);
    if (zero == Answer::yes) {
      EXPECT_TRUE(x.min == 0 && x.max == 0) << e.render();
    }
    at_all_values([&](const Values& at) {
      if (zero == Answer::no) {
        ASSERT_NE(evaluate(e, at), 0) << e.render();
      }
    });
  }
}

TEST(Sizes, polynomials_keep_the_value) {
  std::mt19937_64 random(11);
  for (int trial = 0; trial < 300; ++trial) {
    const Expr a = random_size(random, 3), b = random_size(random, 2);
    Sizes sizes;
    const Polynomial p = sizes.polynomial(a), q = sizes.polynomial(b);
    const Expr product = sizes.to_expr(p * q), gap = sizes.to_expr(p - q);
    std::optional<Division> d;
    if (!q.is_zero()) d = divide(p, q);
    const Expr again = d ? sizes.to_expr(d->quotient * q + d->rest) : a;
    at_all_values([&](const Values& at) {
      const std::int64_t x = evaluate(a, at), y = evaluate(b, at);
      ASSERT_EQ(evaluate(product, at), x * y) << a.render() << " * " << b.render();
      ASSERT_EQ(evaluate(gap, at), x - y) << a.render() << " - " << b.render();
      ASSERT_EQ(evaluate(again, at), x) << a.render() << " / " << b.render();
    });
  }
}

TEST(Sizes, exact_quotients_are_quotients) {
  std::mt19937_64 random(13);
  for (int trial = 0; trial < 300; ++trial) {
    const Expr b = random_size(random, 2), a = b * random_size(random, 2) + Expr(random() % 8 == 0 ? 1 : 0);
    const std::optional<Int> q = exact_quotient(a, b);
    if (!q) continue;
    at_all_values([&](const Values& at) {
      ASSERT_EQ(evaluate(q->expr(), at) * evaluate(b, at), evaluate(a, at)) << a.render() << " / " << b.render();
    });
  }
}

TEST(Sizes, assumptions_are_sound) {
  std::mt19937_64 random(17);
  std::size_t shown = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const Expr a = random_size(random, 2), b = random_size(random, 2);
    const Expr e = trial % 2 == 0 ? random_size(random, 2) : (b - a) * k + random_size(random, 1);
    const Expr given = random() % 3 == 0 ? (a == b) : random() % 2 == 0 ? (a <= b && n != 4) : (a % 3 == 0 && b >= 2);
    Sizes sizes;
    const bool possible = sizes.assume(given);
    const bool nonnegative = possible && sizes.is_nonnegative(sizes.polynomial(e));
    shown += nonnegative && is_nonnegative(e) != Answer::yes;
    at_all_values([&](const Values& at) {
      if (evaluate(given, at) == 0) return;
      ASSERT_TRUE(possible) << given.render();
      if (nonnegative) {
        ASSERT_GE(evaluate(e, at), 0) << e.render() << " where " << given.render();
      }
    });
  }
  EXPECT_GT(shown, 30U);
}

TEST(Sizes, what_an_assumption_shows) {
  const auto shows = [](const Expr& given, const Expr& e) {
    Sizes sizes;
    EXPECT_TRUE(sizes.assume(given));
    return sizes.is_nonnegative(sizes.polynomial(e));
  };
  EXPECT_TRUE(shows(wide >= 7, wide - 7));
  EXPECT_TRUE(shows(Expr(n) <= wide, k * wide - k * n));
  EXPECT_TRUE(shows(wide % 4 == 0, 4 * (wide / 4) - wide));
  EXPECT_TRUE(shows(wide == 2 * n + 1, wide - 3));
  EXPECT_TRUE(shows(n * m >= 1, m - 1));
  EXPECT_FALSE(shows(Expr(n) <= wide, n - wide));
  Sizes sizes;
  EXPECT_FALSE(sizes.assume(Expr(n) > 9 + m * 0));
}

TEST(Sizes, bounds_at_the_ends_of_64_bits) {
  const Variable any("any", kMin, kMax), high("high", 1, kMax);
  EXPECT_EQ(is_nonnegative(any), Answer::unknown);
  EXPECT_EQ(is_nonnegative(high), Answer::yes);
  EXPECT_EQ(is_nonnegative(high - 1), Answer::yes);
  EXPECT_EQ(is_nonnegative(high * high - high), Answer::yes);
  EXPECT_EQ(is_at_most(high, any), Answer::unknown);
  EXPECT_EQ(is_at_most(Int(high) * Int(3), Int(high) * Int(kMax)), Answer::yes);
}

}  // namespace
}  // namespace strata::int_sizes
