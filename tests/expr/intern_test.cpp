// The promises of the handle: identity, memory that comes back, depth, size, threads.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "strata/base/check.h"
#include "strata/expr/expr.h"

namespace strata {
namespace {

TEST(Intern, EqualStructureIsTheSameNode) {
  const Variable a("a", 0, 10), b("b", 0, 10);
  EXPECT_TRUE(same(a + b, b + a));
  EXPECT_TRUE(same((a + 1) * 3 - 3, a * 3));
  EXPECT_TRUE(same(Variable("a", 0, 10), a));
  EXPECT_FALSE(same(Variable("a", 0, 11), a));
  EXPECT_EQ((a + b).hash(), (b + a).hash());
  EXPECT_TRUE(static_cast<bool>(a + b == b + a));
}

TEST(Intern, UndecidedConditionIsNotABool) {
  const Variable a("a", 0, 10);
  EXPECT_THROW(static_cast<void>(static_cast<bool>(a < 5)), Error);
}

TEST(Intern, MemoryIsGivenBack) {
  const std::size_t before = live_nodes();
  for (int round = 0; round < 3; ++round) {
    std::vector<Expr> all;
    const Variable x("x", 0, 1 << 20);
    for (int i = 2000; i < 5000; ++i) all.push_back(x / i + x % i * 7 + min(x * i, 9000));
    EXPECT_GT(live_nodes(), before + 3000);
    all.clear();
  }
  EXPECT_EQ(live_nodes(), before);
}

TEST(Intern, DepthOfAHundredThousand) {
  const std::size_t before = live_nodes();
  {
    const Variable x("x", 0, 1000), y("y", 0, 1000);
    Expr sum = x, condition = x < 5;
    for (int i = 0; i < 100'000; ++i) {
      sum = max(min(sum * 3 + y, 4000), x) % 1500 + i % 7;
      condition = i % 2 == 0 ? (condition && y < i % 900 + 1) : (condition || x < i % 800 + 1);
    }
    EXPECT_GE(sum.vmin(), 0);
    EXPECT_LE(sum.vmax(), 1506);
    const std::int64_t value = evaluate(sum, {{x, 17}, {y, 900}});
    EXPECT_LE(value, 1506);
    const Expr moved = substitute(sum, {{x, y}});
    EXPECT_EQ(variables(moved).size(), 1u);
    const Expr negated = !condition;
    EXPECT_EQ(evaluate(negated, {{x, 1}, {y, 1}}), 1 - evaluate(condition, {{x, 1}, {y, 1}}));
  }
  EXPECT_EQ(live_nodes(), before);
}

TEST(Intern, AMillionNodes) {
  const std::size_t before = live_nodes();
  {
    const Variable x("x", 0, 1 << 30);
    std::vector<Expr> all;
    all.reserve(1'000'000);
    for (int i = 0; i < 1'000'000; ++i) all.push_back(x % (i + 2000));
    EXPECT_GE(live_nodes(), before + 1'000'000);
  }
  EXPECT_EQ(live_nodes(), before);
}

TEST(Intern, WideSumsNest) {
  std::vector<Expr> terms;
  for (int i = 0; i < 5000; ++i) terms.push_back(Variable(detail::message("x", i), 0, 1) * (i + 1));
  Expr one_by_one = 0;
  for (const Expr& t : terms) one_by_one += t;
  EXPECT_EQ(one_by_one.vmax(), 5000LL * 5001 / 2);
  EXPECT_EQ(sum(terms).vmax(), 5000LL * 5001 / 2);
}

// Chains whose every level looks like digits that belong together: matching must not build and search again below.
TEST(Intern, ChainsOfDigitsStayCheap) {
  std::vector<Expr> v;
  for (int i = 0; i < 64; ++i) v.push_back(Variable(detail::message("i", i), 0, 1 << 20));
  Expr c = v[0], d = v[0], e = v[1];
  for (int i = 1; i < 2000; ++i) {
    const Expr& x = v[static_cast<std::size_t>(i) % 64];
    c = (c + x * i) / (i % 2 == 0 ? 7 : 5) + c % 3;
    d = ((d + x * 3) / 7 * 7 + (d * 2 + x) % 7) % 5000 + x;
    e = e / 3 * 3 - (e + x) % 3 + min(e % 9, x);
  }
  EXPECT_GE(c.vmin(), 0);
  EXPECT_GE(d.vmin(), 0);
  EXPECT_GE(variables(e).size(), 2u);
}

TEST(Intern, ThreadsShareNodes) {
  const std::size_t before = live_nodes();
  std::set<const Node*> first;
  {
    const Variable x("x", 0, 4000), y("y", 0, 4000);
    const auto build = [&](int salt) {
      std::vector<Expr> out;
      for (int i = 0; i < 400; ++i) {
        out.push_back((x * (i + 2) + y) / (i + 5) + (x + i) % (i + 3));
        if ((i + salt) % 3 == 0) out.push_back(out.back() * 2 + out[out.size() / 2]);
      }
      return out;
    };
    std::vector<std::vector<Expr>> made(4);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int round = 0; round < 20; ++round) made[static_cast<std::size_t>(t)] = build(0);
      });
    }
    for (std::thread& t : threads) t.join();
    for (std::size_t i = 0; i < made[0].size(); ++i) {
      for (const auto& other : made) EXPECT_TRUE(same(made[0][i], other[i]));
    }
  }
  EXPECT_EQ(live_nodes(), before);
}

// Threads that build and drop the same few nodes: a dying node is never handed out again.
TEST(Intern, ThreadsRaceOnDeath) {
  const std::size_t before = live_nodes();
  {
    const Variable x("x", 0, 1 << 20);
    std::atomic<bool> wrong{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20000; ++i) {
          const Expr e = x / 7777 + x % 5555;
          if (e.vmax() != (1 << 20) / 7777 + 5554) wrong = true;
        }
      });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_FALSE(wrong);
  }
  EXPECT_EQ(live_nodes(), before);
}

TEST(Intern, OrderDoesNotDependOnHistory) {
  const auto text = [](bool reversed) {
    const Variable a("a", 0, 50), b("b", 0, 50), c("c", 0, 50);
    std::vector<Expr> terms{a % 7, b % 7, c / 3, a * b, min(a, c), select(a < b, a, c)};
    if (reversed) std::reverse(terms.begin(), terms.end());
    Expr total = 0;
    for (const Expr& t : terms) total += t;
    return total.render();
  };
  EXPECT_EQ(text(false), text(true));
}

TEST(Variables, BadNamesAndBounds) {
  EXPECT_THROW(Variable("", 0, 1), Error);
  EXPECT_THROW(Variable("1x", 0, 1), Error);
  EXPECT_THROW(Variable("a b", 0, 1), Error);
  EXPECT_THROW(Variable("a", 2, 1), Error);
}

TEST(Variables, BindKeepsTheBounds) {
  const Variable n("n", 1, 100);
  const Variable bound = n.bind(7);
  const Expr e = bound * 3 + 1;
  EXPECT_EQ(e.vmax(), 301);
  EXPECT_EQ(evaluate(e), 22);
  EXPECT_THROW(n.bind(101), Error);
  EXPECT_THROW(n.unbind(), Error);
  const auto [plain, values] = unbind(e);
  EXPECT_TRUE(same(plain, n * 3 + 1));
  ASSERT_EQ(values.size(), 1u);
  EXPECT_EQ(values[0].second, 7);
}

TEST(Overflow, ConstantsAndCoefficients) {
  const std::int64_t big = std::int64_t{1} << 62;
  const Variable x("x", 0, 10);
  EXPECT_THROW(Expr(big) + big, Error);
  EXPECT_THROW(x * big + x * big, Error);
  EXPECT_THROW(Expr(big) * 4, Error);
  EXPECT_THROW((x * big).vmax(), Error);
  EXPECT_EQ((x * big).vmin(), 0);
  EXPECT_EQ((Expr(INT64_MIN) / -2).value(), std::int64_t{1} << 62);
  EXPECT_THROW(Expr(INT64_MIN) / -1, Error);
  EXPECT_THROW(-Expr(INT64_MIN), Error);
}

TEST(Domain, DivisorsThatCanBeZero) {
  const Variable x("x", 0, 10), n("n", -1, 3), m("m", -3, -1);
  EXPECT_THROW(x / 0, Error);
  EXPECT_THROW(x % 0, Error);
  EXPECT_THROW(x / n, Error);
  EXPECT_THROW(x % (x - 5), Error);
  EXPECT_EQ(evaluate(x / m, {{x, 7}, {m, -2}}), -4);
  EXPECT_EQ(evaluate(x % m, {{x, 7}, {m, -2}}), -1);
}

}  // namespace
}  // namespace strata
