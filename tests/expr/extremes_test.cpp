// At the ends of 64 bits: what the rules, the bounds, the exact step and the proofs say agrees with the text itself.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "strata/base/check.h"
#include "strata/base/int_math.h"
#include "strata/base/trace.h"
#include "strata/expr/exact.h"
#include "strata/expr/expr.h"
#include "strata/expr/parse.h"
#include "strata/expr/rules.h"

namespace strata {
namespace {

constexpr std::int64_t k40 = std::int64_t{1} << 40, k61 = std::int64_t{1} << 61, k62 = std::int64_t{1} << 62;

using Points = std::vector<std::vector<std::int64_t>>;

/// At each point the text, its canonical form and what the exact step makes of it have one value, inside the bounds.
void check(std::string_view text, const std::vector<Variable>& variables, const Points& points) {
  SCOPED_TRACE(text);
  const ExactBudget budget(1 << 20);
  std::vector<std::string> names;
  for (const Variable& v : variables) names.emplace_back(v.name());
  const ExprProgram direct = compile(text, names);
  const Expr rules = parse(text, variables), exact = simplify(rules, Effort::exact);
  const Facts facts = rules.facts(), tight = rules.facts(Effort::exact);
  for (const std::vector<std::int64_t>& point : points) {
    const std::int64_t value = direct.evaluate(point);
    Values at;
    for (std::size_t i = 0; i < point.size(); ++i) at.emplace_back(variables[i], point[i]);
    EXPECT_EQ(evaluate(rules, at), value) << rules.render();
    EXPECT_EQ(evaluate(exact, at), value) << exact.render();
    EXPECT_LE(facts.min, value);
    EXPECT_GE(facts.max, value);
    EXPECT_LE(tight.min, value);
    EXPECT_GE(tight.max, value);
  }
}

TEST(Extremes, ProductsWithSquaresBeyond128Bits) {
  const std::vector<Variable> vars = {Variable("a", 0, k40), Variable("b", 0, k62)};
  check("a*b*b", vars, {{0, 5}, {3, 9}, {k40, 1}});
  check("max(a*b*b, 5)", vars, {{0, 5}, {3, 9}});
  EXPECT_EQ(prove(parse("a*b*b == 0", vars)).answer, Answer::no);
  const std::vector<Variable> both = {Variable("a", -k40, k40), Variable("b", -k62, k62)};
  check("a*b*b", both, {{-3, 9}, {3, -9}, {-k40, 1}});
  check("a*a*b*b", both, {{-3, 9}, {3, -9}, {-3, 0}});
}

TEST(Extremes, ConstantsThatStandForInfinityElsewhere) {
  const std::vector<Variable> vars = {Variable("c", 4294967295, std::int64_t{1} << 52)};
  check("9223372036854775807 // c", vars, {{4294967295}, {4294967296}, {std::int64_t{1} << 52}});
  check("-9223372036854775808 // c", vars, {{4294967295}, {4294967296}, {std::int64_t{1} << 52}});
  check("min(9223372036854775807 // c, 2147483648 - c % 2)", vars, {{4294967295}, {4294967296}});
}

TEST(Extremes, DigitsNextToTheLowEnd) {
  const std::vector<Variable> vars = {Variable("x", kNegInf + 1, kNegInf + 3), Variable("y", 0, 9)};
  check("x % 10", vars, {{kNegInf + 1, 0}, {kNegInf + 3, 0}});
  check("min(x % 10, y)", vars, {{kNegInf + 1, 0}, {kNegInf + 3, 9}});
  check("x // 10 + y", vars, {{kNegInf + 1, 0}, {kNegInf + 3, 9}});
  const std::vector<Variable> small = {Variable("y", -9, 9)};
  check("(-9223372036854775808*(y%3)) % 6", small, {{0}, {1}, {-2}, {4}});
}

TEST(Extremes, QuotientsOfWholeRanges) {
  const std::vector<Variable> vars = {Variable("x", -kPosInf, kPosInf), Variable("y", -kPosInf, -1)};
  check("x / y", vars, {{kPosInf, -1}, {-kPosInf, -1}, {kPosInf, -kPosInf}, {7, -2}});
  check("x % y", vars, {{kPosInf, -1}, {-kPosInf, -2}, {kPosInf, -kPosInf}, {7, -2}});
}

TEST(Extremes, ConditionsAsParts) {
  const std::vector<Variable> vars = {Variable("x", 0, 9)};
  check("9223372036854775807 - (x < 3)", vars, {{0}, {9}});
  const std::vector<Variable> high = {Variable("x", kPosInf - 1, kPosInf)};
  check("9223372036854775806 + (x == 9223372036854775806)", high, {{kPosInf - 1}, {kPosInf}});
  check("-9223372036854775807 - (x < 3)", vars, {{0}, {9}});
}

TEST(Extremes, CoefficientsWithoutANegative) {
  const std::vector<Variable> vars = {Variable("a", -10, k61), Variable("b", -10, k62), Variable("c", -10, 10)};
  check("max(b*-3, a*-5 + -9223372036854775808)", vars, {{-10, k61, 0}, {-10, 3, 0}, {-1, 0, 0}});
  check("min(max(a, b)*-9223372036854775808, c)", vars, {{-3, 1, 5}, {0, -1, 5}, {0, -1, -5}});
  check("a + b*-9223372036854775808 == 3 and b*3 - a < 5", vars, {{3, 0, 0}, {4, 0, 0}, {3, 1, 0}});
  const std::vector<Variable> natural = {Variable("x", 0, k62), Variable("y", 0, k62)};
  EXPECT_THROW(parse("x*5 + y*7 - 9223372036854775807 - 1 < 0", natural), Error);
  check("x*6 - 9223372036854775807 - 1 < 0", natural, {{0, 0}, {1, 0}, {k62 / 4, 0}});
  check("x*6 - 9223372036854775807 - 1 == 0", natural, {{0, 0}, {1, 0}, {k62 / 4, 0}});
}

TEST(Extremes, ATraceChangesNoResult) {
  const std::vector<Variable> vars = {Variable("a", 0, k61), Variable("b", 0, k61)};
  for (const std::string_view text :
       {"(a + -9223372036854775807) % 12", "2*a - 9223372036854775807 - 1 < 0", "4*a - 9223372036854775807 - 1 == 0",
        "(a*3 + b*-9223372036854775808) // 5 + b"}) {
    std::string traced;
    {  // first: a node that lives already is found without any rule
      const RewriteTrace trace([](const RewriteEvent&) {});
      traced = parse(text, vars).render();
    }
    EXPECT_EQ(traced, parse(text, vars).render());
  }
}

}  // namespace
}  // namespace strata
