// The exact step: facts, simplification, closed forms, simplification under an assumption.

#include "strata/expr/exact.h"

#include <gtest/gtest.h>

#include "strata/base/check.h"
#include "strata/expr/forms.h"
#include "tests/expr/quality.h"

namespace strata {
namespace {

using oracle::Case;

class ExactStep : public testing::Test {
 protected:
  const Variable x{"x", 0, 40}, y{"y", 0, 12}, z{"z", -6, 6};
};

TEST_F(ExactStep, FactsAreExactOnSmallBoxes) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Case c = oracle::random_case(seed + 7000);
    if (oracle::volume_of(c) > 16384) continue;
    const auto truth = oracle::truth_of(c);
    if (!truth) continue;
    const Expr e = oracle::build(c.tree, oracle::make_variables(c));
    const Facts f = e.facts(Effort::exact);
    EXPECT_TRUE(f.exact) << e.render();
    EXPECT_EQ(f.min, truth->min) << e.render();
    EXPECT_EQ(f.max, truth->max) << e.render();
    EXPECT_EQ(f.modulus, truth->modulus) << e.render();
    EXPECT_EQ(f.residue, truth->residue) << e.render();
  }
}

TEST_F(ExactStep, FactsOfIndependentParts) {
  Expr e = 3;
  std::int64_t least = 3, most = 3;
  for (int i = 0; i < 12; ++i) {  // 41^12 points, in parts of 41
    const Variable v(detail::message("v", i), 0, 40);
    const Expr part = v * v * 10 - v * 30 * 10 + v % 7 * 10;
    const Facts f = part.facts(Effort::exact);
    EXPECT_TRUE(f.exact);
    least += f.min;
    most += f.max;
    e += part;
  }
  const Facts f = e.facts(Effort::exact);
  EXPECT_TRUE(f.exact);
  EXPECT_EQ(f.min, least);
  EXPECT_EQ(f.max, most);
  EXPECT_EQ(f.modulus, 10);
  EXPECT_EQ(f.residue, 3);
}

TEST_F(ExactStep, FactsOfLargeBoxesBySearch) {
  const Variable a("a", 0, 1000000000), b("b", -1000000000, 1000000000);
  const Expr e = max(a - b, min(b, a / 3) - 7);
  const Facts f = e.facts(Effort::exact);
  EXPECT_LE(f.min, -7);
  EXPECT_EQ(f.max, 2000000000);
  const Expr square = (a - 12345) * (a - 12345);
  const Facts s = square.facts(Effort::exact);
  EXPECT_LE(s.min, 0);
  EXPECT_EQ(s.max, std::int64_t{999987655} * 999987655);
}

TEST_F(ExactStep, AWorkLimitOnlyLosesPrecision) {
  const ExactBudget none(0);
  EXPECT_EQ(exact_budget(), 0U);
  const Expr e = (x * 7 + y * 5 + z) / 6 % 5;
  const Facts f = e.facts(Effort::exact);
  EXPECT_LE(f.min, 0);
  EXPECT_GE(f.max, 4);
  EXPECT_TRUE(same(simplify(e, Effort::exact), e));
}

struct Simplification {
  Expr before, after;
};

TEST_F(ExactStep, FindsWhatTheTableShows) {
  const Simplification rows[] = {
      {x * x % 2 + x % 2 * -1, 0},                   // constant
      {x * y % 2 - (x % 2) * (y % 2), 0},            //
      {x * y + (x * x + x) % 2, x * y},              // a part of a sum
      {(x * x + x) % 2 * y + z, z},                  // y and x are gone
      {max(x - 5, (x * 3 - 15) / 3), x - 5},         // affine
      {(x * 2 + x * x % 2) / 2, x},                  // a term that does not matter
      {min(min(x, y + 12), x + y), min(x, y + 12)},  // a source that never decides
      {(x < 10) * 2 - (x < 10) + 0, x < 10},         // a node that is there already
  };
  for (const Simplification& row : rows) {
    const Expr got = simplify(row.before, Effort::exact);
    EXPECT_TRUE(same(got, row.after)) << row.before.render() << " -> " << got.render() << ", not "
                                      << row.after.render();
  }
}

TEST_F(ExactStep, BoundVariablesKeepTheirRange) {
  const Expr e = (x.bind(3) * x.bind(3) + x.bind(3)) % 2 + x.bind(3);
  const Expr got = simplify(e, Effort::exact);
  EXPECT_TRUE(same(got, x.bind(3))) << got.render();
  EXPECT_EQ(evaluate(got), 3);
}

// Every form that is offered has the table's values.
TEST(Forms, EqualTheirTables) {
  oracle::Random random(17);
  std::size_t found = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::int64_t lo = random.between(-9, 9), n = random.between(2, 40);
    const Variable x("x", lo, lo + n - 1);
    const std::int64_t a = random.between(-3, 3), b = random.between(-5, 5), p = random.between(2, 9),
                       s = random.between(-9, 9), k = random.between(lo, lo + n);
    std::vector<std::int64_t> table;
    for (std::int64_t v = lo; v < lo + n; ++v) {
      switch (round % 8) {
        case 0: table.push_back(a * v + b * floor_div(v + s, p)); break;
        case 1: table.push_back(a * floor_mod(v + s, p) + b); break;
        case 2: table.push_back(a * floor_div(floor_mod(v + s, 2 * p), p) + b * v); break;
        case 3: table.push_back(std::min(a * v + b, s)); break;
        case 4: table.push_back(v < k ? a : b); break;
        case 5: table.push_back(v == k ? a : b); break;
        case 6: table.push_back(std::clamp<std::int64_t>(floor_div(v, 2), s - 2, s + 2)); break;
        default: table.push_back(random.between(0, 2)); break;
      }
    }
    for (const Expr& form : univariate_forms(x, lo, table)) {
      ++found;
      for (std::int64_t v = lo; v < lo + n; ++v)
        ASSERT_EQ(evaluate(form, {{x, v}}), table[static_cast<std::size_t>(v - lo)])
            << form.render() << " at " << v << ", round " << round;
    }
  }
  EXPECT_GT(found, 3000U);
}

TEST(Forms, OfKnownShapes) {
  const Variable x("x", 0, 40);
  const Simplification rows[] = {
      {(x + 3) / 5 * 2 - x, (x + 3) / 5 * 2 - x},
      {(x % 12) / 4, (x % 12) / 4},
      {max(x, 7), max(x, 7)},
      {x == 9, x == 9},
      {(x + 2) % 6, (x + 2) % 6},
      {x / 4 + x / 9, x / 4 + x / 9},
  };
  for (const Simplification& row : rows) {
    std::vector<std::int64_t> table;
    for (std::int64_t v = 0; v <= 40; ++v) table.push_back(evaluate(row.before, {{x, v}}));
    std::size_t least = SIZE_MAX;
    for (const Expr& form : univariate_forms(x, 0, table)) least = std::min(least, count_nodes(form));
    EXPECT_LE(least, count_nodes(row.after)) << row.before.render();
  }
}

// Equal where the assumption holds, and constants and affine functions there are found.
TEST(Under, RandomAssumptions) {
  std::size_t constants = 0, affine = 0, missed = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    oracle::RandomOptions options;
    options.range = 12;
    options.depth = 4;
    const Case c = oracle::random_case(seed, options);
    if (oracle::volume_of(c) > 4096) continue;
    const auto variables = oracle::make_variables(c);
    const Expr e = oracle::build(c.tree, variables);
    const Variable &a = variables.front(), &b = variables.back();
    const std::int64_t middle = a.min() + (a.max() - a.min()) / 2;
    const Expr assumption = seed % 3 == 0 ? a + b * 2 < middle * 2 : seed % 3 == 1 ? a % 3 == 1 : a * b > middle;
    const Expr got = simplify_exact_under(e, assumption);
    std::int64_t valid = 0, value = 0;
    bool constant = true;
    for (std::uint64_t p = 0; p < oracle::volume_of(c); ++p) {
      const auto columns = oracle::columns_of(c, p, 1);
      Values at;
      for (std::size_t v = 0; v < variables.size(); ++v) at.emplace_back(variables[v], columns[v][0]);
      if (evaluate(assumption, at) == 0) continue;
      const std::int64_t wanted = evaluate(e, at);
      ASSERT_EQ(evaluate(got, at), wanted) << e.render() << " under " << assumption.render() << " -> " << got.render();
      if (valid++ == 0) value = wanted;
      constant &= wanted == value;
    }
    EXPECT_TRUE(same(simplify_exact_under(got, assumption), got)) << got.render();
    if (constant) {
      ++constants;
      missed += got.is_constant() ? 0 : 1;
    }
    affine += affine_form(got) ? 1 : 0;
  }
  EXPECT_GT(constants, 20U);
  EXPECT_GT(affine, 80U);
  EXPECT_EQ(missed, 0U);
}

TEST(Under, AffineOnTheValidSet) {
  const Variable x("x", 0, 30), y("y", 0, 30);
  EXPECT_TRUE(same(simplify_exact_under(x % 10, x < 10), x));
  EXPECT_TRUE(same(simplify_exact_under(max(x, y) * 2, x > y + 3), x * 2));
  EXPECT_TRUE(same(simplify_exact_under((x * x + y * y) % 7, x < 0), Expr(0)));
  EXPECT_TRUE(same(simplify_exact_under(x * y, x == 3), y * 3));
}

TEST(Large, FixedPointWhereTheBudgetRunsOut) {
  const Variable b("b", 0, 2147483647), c("c", 4, 10);
  std::vector<Expr> texts{b / -2147483648 < c / 4 % 9 * select(max(b, b), c / 11, 9 % Expr(-6))};
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Case drawn = oracle::random_case(seed + 11000);
    for (oracle::CaseVariable& v : drawn.variables) v = {v.name, v.min - 1000003, v.max + 1999993};
    try {
      texts.push_back(oracle::build(drawn.tree, oracle::make_variables(drawn)));
    } catch (const Error&) {
      continue;  // a divisor that reaches 0 on the larger box
    }
  }
  EXPECT_GT(texts.size(), 30U);
  for (const std::uint64_t units : {exact_budget(), exact_budget() / 30, exact_budget() / 1000}) {
    const ExactBudget budget(units);
    for (const Expr& e : texts) {
      const Expr once = simplify(e, Effort::exact);
      EXPECT_TRUE(same(simplify(once, Effort::exact), once))
          << e.render() << " gives " << once.render() << " with " << units;
    }
  }
}

TEST(Large, DeepAndWideGraphsAreLeftInPeace) {
  const Variable x("x", 0, 40), y("y", 0, 40);
  Expr e = x;
  for (int i = 0; i < 20000; ++i) e = max(e * 3 % 1009 + y, i % 5);
  const Expr got = simplify(e, Effort::exact);
  for (const std::int64_t v : {0, 17, 40})
    EXPECT_EQ(evaluate(got, {{x, v}, {y, 40 - v}}), evaluate(e, {{x, v}, {y, 40 - v}}));
  Expr wide = 0;
  for (int i = 0; i < 200; ++i) wide += Variable(detail::message("w", i), 0, 9) % 7;
  EXPECT_EQ(wide.facts(Effort::exact).max, 1200);
  EXPECT_TRUE(same(simplify(wide, Effort::exact), wide));
}

}  // namespace
}  // namespace strata
