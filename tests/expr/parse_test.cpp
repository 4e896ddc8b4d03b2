// Texts to expressions: values, errors with their columns, the caret, LaTeX, and direct evaluation as the oracle.
#include "strata/expr/parse.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "strata/base/check.h"
#include "strata/base/int_math.h"
#include "strata/expr/render.h"
#include "tests/base/bad_text.h"
#include "tests/base/texts.h"
#include "tests/expr/random_expr.h"
#include "tests/expr/tree_text.h"

namespace strata {
namespace {

std::vector<Variable> parsed_variables() {
  return {Variable("a", 0, 10),   Variable("b", 0, 10),   Variable("n", 1, 100),
          Variable("x", -50, 50), Variable("y", -50, 50), Variable("idx0", 0, 99)};
}

TEST(Parse, GivesTheCanonicalExpression) {
  const auto vars = parsed_variables();
  const Expr &a = vars[0], &b = vars[1], &x = vars[3], &y = vars[4];
  EXPECT_TRUE(same(parse("(a + b*10) % 10", vars), a % 10));
  EXPECT_TRUE(same(parse("(a*40+b)//20", vars), (a * 40 + b) / 20));
  EXPECT_TRUE(same(parse("x - y - 3", vars), x - y - 3));
  EXPECT_TRUE(same(parse("x - (y - (3 - x))", vars), 3 - y));
  EXPECT_TRUE(same(parse("-(x + y)", vars), -x - y));
  EXPECT_TRUE(same(parse("-x + -(y - 2)*2", vars), 4 - x - y * 2));
  EXPECT_TRUE(same(parse("x < 3 and y < 4 and not a", vars), x < 3 && y < 4 && !a));
  EXPECT_TRUE(same(parse("a and b", vars), a && b));
  EXPECT_TRUE(same(parse("x if a else y", vars), select(a, x, y)));
  EXPECT_TRUE(same(parse("a ? x : y", vars), select(a, x, y)));
  EXPECT_TRUE(same(parse("where(a, x, y)", vars), select(a, x, y)));
  EXPECT_TRUE(same(parse("min(x, y, a)", vars), min(min(x, y), a)));
  EXPECT_TRUE(same(parse("ceildiv(x, n)", vars), ceildiv(x, vars[2])));
  EXPECT_TRUE(same(parse("min(x)", vars), x));
  EXPECT_TRUE(same(parse("7", vars), Expr(7)));
}

TEST(Parse, ConstantsMayPassThroughTheEdgeOf64Bits) {
  const auto vars = parsed_variables();
  EXPECT_EQ(parse("-9223372036854775808", vars).constant(), kNegInf);
  EXPECT_EQ(parse("-1 - -9223372036854775808", vars).constant(), kPosInf);
  EXPECT_EQ(parse("-9223372036854775808 + 1", vars).constant(), -kPosInf);
}

TEST(Parse, EveryErrorHasItsColumn) {
  const auto vars = parsed_variables();
  // clang-format off
  const BadText cases[] = {
      {"a + foo", 5, "unknown name 'foo'"},
      {"a + idx1", 5, "did you mean 'idx0'?"},
      {"A", 1, "unknown name 'A'"},
      {"a // (b - 5)", 3, "", ErrorKind::domain},
      {"a + b % x", 7, "", ErrorKind::domain},
      {"a / 0", 3, "", ErrorKind::domain},
      {"1 + ceildiv(a, x)", 5, "", ErrorKind::domain},
      {"9223372036854775807 + 1", 21, "", ErrorKind::overflow},
      {"x + 9223372036854775807 + 5 + y", 25, "", ErrorKind::overflow},
      {"a * 9223372036854775807 * 3", 25, "", ErrorKind::overflow},
      {"(9223372036854775807 + 1) * a", 22, "", ErrorKind::overflow},
      {"9223372036854775808", 1, "does not fit", ErrorKind::overflow},
      {"", 1, "empty"},
      {"a +", 4, "end of the text"},
  };
  // clang-format on
  for (const BadText& c : cases) expect_refused(c, [&](std::string_view text) { parse(text, vars); });
}

ErrorKind kind_of_parse(std::string_view text, const std::vector<Variable>& vars) {
  return error_of([&] { parse(text, vars); }).kind();
}

TEST(Parse, NamesAreDistinctAndNotWordsOfTheGrammar) {
  EXPECT_EQ(kind_of_parse("a", {Variable("a", 0, 1), Variable("a", 0, 2)}), ErrorKind::domain);
  const std::vector<std::string> twice{"a", "a"};
  EXPECT_THROW(compile("a", twice), Error);
  EXPECT_EQ(kind_of_parse("frobnicate", parsed_variables()), ErrorKind::parse);
  const std::string huge(1 << 20, 'q');
  const Error e = error_of([&] { parse(huge, parsed_variables()); });
  EXPECT_LT(std::string_view(e.what()).size(), 200u);
}

TEST(Parse, LongSums) {
  const auto vars = parsed_variables();
  const std::size_t n = 100000;
  EXPECT_TRUE(same(parse(repeated("a+", n) + "1", vars), Expr(1) + vars[0] * static_cast<std::int64_t>(n)));
}

TEST(Parse, DeepChainsOfEveryKind) {
  const auto vars = parsed_variables();
  const std::size_t n = 100000;
  EXPECT_TRUE(same(parse(repeated("(", n) + "a" + repeated("+1)", n), vars), vars[0] + 100000));
  EXPECT_TRUE(same(parse(repeated("1+(", n) + "a" + repeated(")", n), vars), vars[0] + 100000));
  EXPECT_TRUE(same(parse(repeated("1-(", n) + "a" + repeated(")", n), vars), vars[0]));
  EXPECT_TRUE(same(parse(repeated("-", n) + "a", vars), vars[0]));
  EXPECT_TRUE(same(parse(repeated("a<11 and (", n) + "b<3" + repeated(")", n), vars), vars[1] < 3));
  EXPECT_EQ(parse(repeated("not ", n) + "(x < 3)", vars).render(), parse("x<3", vars).render());
}

std::string alternating_sum(std::size_t n) {
  std::string text = "7";
  for (std::size_t i = 0; i < n; ++i) text += (i % 2 == 0 ? "+v" : "-v") + std::to_string(i);
  return text;
}

TEST(Parse, ASumOfManyVariablesTakesNoQuadraticTime) {
  std::vector<Variable> vars;
  Values ones;
  for (std::size_t i = 0; i < 50000; ++i) {
    vars.emplace_back(detail::message("v", i), 0, 9);
    ones.emplace_back(vars.back(), i % 2 == 0 ? 1 : 0);
  }
  const Expr short_sum = parse(alternating_sum(1000), vars), long_sum = parse(alternating_sum(50000), vars);
  EXPECT_TRUE(same(parse(short_sum.render(), vars), short_sum));
  EXPECT_EQ(variables(long_sum).size(), 50000u);
  EXPECT_EQ(evaluate(long_sum, ones), 25007);
  EXPECT_EQ(evaluate(parse(long_sum.render(), vars), ones), 25007);
}

// --- the caret ---

TEST(Caret, StandsUnderTheColumn) {
  EXPECT_EQ(show_caret("1 + * 2", 5), "1 + * 2\n    ^");
  EXPECT_EQ(show_caret("1 +", 4), "1 +\n   ^");
  EXPECT_EQ(show_caret("", 1), "\n^");
  EXPECT_EQ(show_caret("a\nbcd\ne", 4), "bcd\n ^");
  EXPECT_EQ(show_caret("a\nb", 2), "a\n ^");
  EXPECT_EQ(show_caret("\t\xC3\xA9x", 4), "???x\n   ^");
  EXPECT_EQ(show_caret("abc", 1000), "abc\n   ^");
  EXPECT_EQ(show_caret("abc", 0), "abc\n^");
}

TEST(Caret, ShortensLongLinesAroundTheColumn) {
  std::string text = repeated("x", 1000);
  for (std::size_t column : {1u, 30u, 500u, 990u, 1000u, 1001u}) {
    std::string marked = text;
    if (column <= text.size()) marked[column - 1] = '@';
    const std::string shown = show_caret(marked, column);
    const std::size_t line = shown.find('\n');
    EXPECT_LE(line, 100u);
    const std::size_t caret = shown.size() - line - 2;
    EXPECT_EQ(caret < line ? shown[caret] : '@', '@') << shown;
  }
}

// --- LaTeX ---

TEST(Latex, ReadsWhatRenderWrites) {
  const auto vars = parsed_variables();
  const auto check = [&](std::string_view latex, std::string_view infix) {
    EXPECT_TRUE(same(parse(latex, vars), parse(infix, vars))) << latex;
  };
  check("\\left(x+3\\right)\\cdot y", "(x+3)*y");
  check("\\left\\lfloor\\frac{x + 1}{3}\\right\\rfloor\\cdot 2", "((x+1)//3)*2");
  check("\\left\\lfloor \\frac{\\left\\lfloor\\frac{x}{3}\\right\\rfloor}{ n } \\right\\rfloor", "(x//3)//n");
  check("\\left(x+y\\right)\\bmod 7", "(x+y)%7");
  check("\\min\\left(x, \\max\\left(y, 3\\right)\\right)", "min(x,max(y,3))");
  check("x\\le 3\\land y\\ge 4\\lor \\lnot\\left(a\\ne 2\\right)", "(x<=3 and y>=4) or not (a!=2)");
  check("\\left[x=3\\right]\\cdot 5", "(x==3)*5");
  check("\\mathit{idx0}+\\mathit{a}", "idx0+a");
  check("\\begin{cases}x & \\text{if }a<3 \\\\ y & \\text{otherwise}\\end{cases}", "x if a<3 else y");
  check("\\begin{cases}x&\\text{if }a<3\\\\y&\\text{if }b<2\\\\4&\\text{otherwise}\\end{cases}+1",
        "(x if a<3 else y if b<2 else 4)+1");
}

TEST(Latex, ErrorsPointIntoTheOriginal) {
  const auto vars = parsed_variables();
  // clang-format off
  const BadText cases[] = {
      {"x \\foo y", 3, "unknown LaTeX command: '\\foo'"},
      {"x \\cdot zzzz", 9, "unknown name 'zzzz'"},
      {"\\mathit{idx9}", 9, "did you mean 'idx0'?"},
      {"\\left(x\\right", 6, "never closed"},
      {"\\left(x\\right]", 14, "do not match"},
      {"\\left\\lfloor x\\right\\rfloor", 14, "expected \\frac"},
      {"\\left\\lfloor\\frac{x}3\\right\\rfloor", 21, "expected {"},
      {"\\left\\lfloor\\frac{x}{y}\\right\\rfloor", 20, "", ErrorKind::domain},
      {"\\frac{x}{3}", 1, "unknown LaTeX command"},
      {"\\begin{matrix}", 1, "environment"},
      {"\\begin{cases}x & \\text{unless }\\end{cases}", 23, "'if ' or 'otherwise'"},
      {"\\mathit{}", 8, "name is empty"},
      {"\\mathit{a b}", 10, "not a name"},
      {"x & y \\cdot 2", 3, "'&' outside of cases"},
      {"\\", 1, "unknown LaTeX command"},
  };
  // clang-format on
  for (const BadText& c : cases) expect_refused(c, [&](std::string_view text) { parse(text, vars); });
}

// --- direct evaluation ---

TEST(ExprProgram, EvaluatesTheTextAsItStands) {
  const std::vector<std::string> names{"x", "y"};
  const auto at = [&](std::string_view text, std::int64_t x, std::int64_t y) {
    return compile(text, names).evaluate(std::array{x, y});
  };
  EXPECT_EQ(at("x//y", -7, 2), -4);
  EXPECT_EQ(at("x%y", -7, 2), 1);
  EXPECT_EQ(at("x%y", 7, -2), -1);
  EXPECT_EQ(at("x%y", kNegInf, -1), 0);
  EXPECT_EQ(at("ceildiv(x,y)", kNegInf, 2), kNegInf / 2);
  EXPECT_EQ(at("ceildiv(x,y)", 7, -2), -3);
  EXPECT_EQ(at("x and y", 5, 7), 1);
  EXPECT_EQ(at("x - y", kNegInf, 0), kNegInf);
}

TEST(ExprProgram, DetectsOverflowAndZeroDivisorsWhereTheyCount) {
  const std::vector<std::string> names{"x", "y"};
  const auto fails = [&](std::string_view text, std::int64_t x, std::int64_t y) {
    const ExprProgram::Outcome out = compile(text, names).try_evaluate(std::array{x, y});
    return out.failed ? std::string(to_string(out.kind)) + std::to_string(out.column) : std::to_string(out.value);
  };
  EXPECT_EQ(fails("1 + x//y", 1, 0), "domain6");
  EXPECT_EQ(fails("1 + x%y", 1, 0), "domain6");
  EXPECT_EQ(fails("x//y", kNegInf, -1), "overflow2");
  EXPECT_EQ(fails("x*y", kPosInf, 2), "overflow2");
  EXPECT_EQ(fails("-x", kNegInf, 2), "overflow1");
  EXPECT_EQ(fails("0*(x+y)", kPosInf, 1), "overflow5");
  EXPECT_EQ(fails("y if x else x//y", 1, 0), "0");
  EXPECT_EQ(fails("x ? x*3 : x//y", 0, 0), "domain12");
  EXPECT_EQ(fails("select(y, x//y, 4)", 1, 0), "4");
  EXPECT_EQ(fails("y and x//y", 1, 0), "0");
  EXPECT_EQ(fails("x or x//y", 1, 0), "1");
  EXPECT_EQ(fails("x//y or 1", 1, 0), "domain2");
  const ExprProgram program = compile("x", names);
  EXPECT_THROW(program.evaluate(std::array<std::int64_t, 1>{1}), Error);
}

TEST(ExprProgram, AnEmptyOneIsRefused) {
  EXPECT_THROW(ExprProgram().evaluate({}), Error);
  EXPECT_THROW(ExprProgram().try_evaluate({}), Error);
}

TEST(ExprProgram, AgreesWithTheAlgebraAndTheOtherOracle) {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const oracle::Case c = oracle::random_case(seed);
    const std::vector<Variable> vars = oracle::make_variables(c);
    const std::vector<std::string> names = c.names();
    const std::string text = oracle::text_of(c.tree, names);
    const ExprProgram program = compile(text, names);
    const Expr parsed = parse(text, vars);
    const oracle::Points points = oracle::points_of(c.variables, 12, seed);
    oracle::TreeEvaluator evaluate_tree;
    const oracle::Column& truth = evaluate_tree(c.tree, points.columns, points.count);
    for (std::size_t p = 0; p < points.count; ++p) {
      std::vector<std::int64_t> at;
      Values values;
      for (std::size_t i = 0; i < names.size(); ++i) {
        at.push_back(points.columns[i][p]);
        values.emplace_back(vars[i], at.back());
      }
      const ExprProgram::Outcome out = program.try_evaluate(at);
      if (out.failed || truth.ok[p] == 0) continue;
      ASSERT_EQ(out.value, truth.values[p]) << text;
      ASSERT_EQ(out.value, evaluate(parsed, values)) << text;
    }
  }
}

}  // namespace
}  // namespace strata
