// Notations: exact texts, that each reads back, that C has the same value, counts of nodes, the tree.
#include "strata/expr/render.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "strata/base/int_math.h"
#include "strata/expr/parse.h"
#include "tests/expr/random_expr.h"
#include "tests/expr/tree_text.h"

namespace strata {
namespace {

std::vector<Variable> rendered_variables() {
  return {Variable("a", 0, 10),
          Variable("b", 0, 10),
          Variable("c", 0, 10),
          Variable("n", 1, 100),
          Variable("x", -30, 50),
          Variable("y", 0, 50),
          Variable("big", kNegInf, kPosInf),
          Variable("ridx0", 0, 2),
          Variable("ridx1", 0, 1),
          Variable("idx0", 0, 99),
          Variable("idx2", 0, 99),
          Variable("idx10", 0, 99),
          Variable("i_j", -5, 5)};
}

std::string text_of(std::string_view text, Notation notation = Notation::spec) {
  return render(parse(text, rendered_variables()), notation);
}

struct Rendering {
  std::string_view input, output;
};

TEST(Render, SpecificationNotation) {
  // clang-format off
  const Rendering rows[] = {
      {"5", "5"}, {"0-5", "-5"}, {"-9223372036854775808", "-9223372036854775808"}, {"x", "x"},
      {"x*3+y", "((x*3)+y)"}, {"y+3", "(3+y)"}, {"0-x", "(x*-1)"}, {"x*3", "(x*3)"}, {"x-3", "(-3+x)"},
      {"b*2+c+a*4", "(((a*4)+(b*2))+c)"}, {"c+b-a", "(((a*-1)+b)+c)"}, {"idx10+idx2", "(idx2+idx10)"},
      {"a-4*b+1", "((1+(b*-4))+a)"}, {"(idx0%10)*10+idx0//10", "(((idx0%10)*10)+(idx0//10))"},
      {"((ridx0*2+ridx1)%3)*2+(ridx0*2+ridx1)//3", "(((((ridx0*2)+ridx1)%3)*2)+(((ridx0*2)+ridx1)//3))"},
      {"(a+b*10)%10", "(a%10)"}, {"(a*40+b)//20", "(a*2)"}, {"x*y", "(x*y)"}, {"a*b*c", "((a*b)*c)"}, {"x*y*2", "((x*y)*2)"},
      {"x<3", "(x<3)"}, {"x>0 and x<2 and y<2", "(((x*-1)<0) and (x<2) and (y<2))"}, {"x==3", "(x==3)"}, {"x!=3", "(x!=3)"},
      {"x<0 or y<2", "((x<0) or (y<2))"}, {"min(b,a)", "min(a, b)"}, {"max(c,b,a)", "max(a, b, c)"},
      {"x if a<3 else y", "select((a<3), x, y)"}, {"x//n", "(x//n)"}, {"x%n", "(x%n)"},
  };
  // clang-format on
  for (const Rendering& row : rows) EXPECT_EQ(text_of(row.input), row.output);
  EXPECT_EQ(parse("x+1", rendered_variables()).render(), "(1+x)");
}

TEST(Render, PythonNotation) {
  EXPECT_EQ(text_of("x if a<3 else y", Notation::python), "(x if (a<3) else y)");
  EXPECT_EQ(text_of("min(a,b) + (x<3)*2", Notation::python), text_of("min(a,b) + (x<3)*2"));
}

TEST(Render, CDividesTowardsZeroOnlyWhereThatIsTheSame) {
  // clang-format off
  const Rendering rows[] = {
      {"(a+b*10)%10", "(a%10)"}, {"y//3", "(y/3)"}, {"x//3", "((x+30)/3-10)"}, {"x%3", "((x+30)%3)"}, {"x//7", "((x+35)/7-5)"},
      {"x//n", "(x/n-(x%n<0))"}, {"x%n", "(x%n+(x%n<0)*n)"}, {"big//3", "(big/3-(big%3<0))"}, {"big%3", "(big%3+(big%3<0)*3)"},
      {"x<3 and y<4", "((x<3)&&(y<4))"}, {"x<3 or y<4", "((x<3)||(y<4))"}, {"x if a<3 else y", "((a<3)?x:y)"},
      {"min(a,b)", "(a<b?a:b)"}, {"max(a,b,c)", "(a>b&&a>c?a:(b>c?b:c))"}, {"-9223372036854775808", "(-9223372036854775807-1)"},
      {"(x<3)*2+5", "(5+((x<3)*2))"},
      {"(x<3)*2000000000+(y<4)*2000000000", "(((0*4294967296+(x<3))*2000000000)+((0*4294967296+(y<4))*2000000000))"},
      {"(x<3)*2000000000+big", "(((__int128)(x<3)*2000000000)+(__int128)big)"},
  };
  // clang-format on
  for (const Rendering& row : rows) EXPECT_EQ(text_of(row.input, Notation::c), row.output);
}

TEST(Render, LatexNotation) {
  // clang-format off
  const Rendering rows[] = {
      {"x*3+y", "3\\cdot x+y"}, {"0-x", "-x"}, {"a-4*b-1", "-1-4\\cdot b+a"}, {"idx0", "\\mathit{idx0}"}, {"i_j", "\\mathit{i\\_j}"},
      {"x//3", "\\left\\lfloor\\frac{x}{3}\\right\\rfloor"}, {"(x+1)//3*5", "5\\cdot \\left\\lfloor\\frac{1+x}{3}\\right\\rfloor"},
      {"(x+1)%3+y", "y+\\left(\\left(1+x\\right)\\bmod 3\\right)"}, {"x*y", "x\\cdot y"}, {"x<3", "x<3"},
      {"(x<3)*5", "5\\cdot \\left[x<3\\right]"}, {"x==3 or y<2", "y<2\\lor x\\mathrel{=}3"}, {"min(a,b)", "\\min\\left(a, b\\right)"},
      {"x if a<3 else y", "\\begin{cases}x & \\text{if }a<3 \\\\ y & \\text{otherwise}\\end{cases}"},
  };
  // clang-format on
  for (const Rendering& row : rows) {
    const std::string latex = text_of(row.input, Notation::latex);
    EXPECT_EQ(latex, row.output);
    EXPECT_TRUE(same(parse(latex, rendered_variables()), parse(row.input, rendered_variables()))) << latex;
  }
}

TEST(Render, EveryNotationReadsBack) {
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    const oracle::Case c = oracle::random_case(seed);
    const std::vector<Variable> vars = oracle::make_variables(c);
    const Expr e = oracle::build(c.tree, vars);
    for (Notation notation : {Notation::spec, Notation::python, Notation::latex}) {
      const std::string text = render(e, notation);
      EXPECT_TRUE(same(parse(text, vars), e))
          << "seed " << seed << ": " << text << " gives " << parse(text, vars).render();
    }
  }
}

TEST(Render, CHasTheSameValueUnderItsOwnRounding) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const oracle::Case c = oracle::random_case(seed);
    const std::vector<Variable> vars = oracle::make_variables(c);
    const Expr e = oracle::build(c.tree, vars);
    std::vector<std::string> names = c.names();
    const std::string text = render(e, Notation::c);
    const oracle::Tree as_c = oracle::parse_c_tree(text, names), as_spec = oracle::parse_tree(e.render(), names);
    const ExprProgram read_back = compile(text, names);
    const oracle::Points points = oracle::points_of(c.variables, 60, seed);
    oracle::TreeEvaluator run_c, run_spec;
    const oracle::Column& got = run_c(as_c, points.columns, points.count, oracle::Rounding::truncate);
    const oracle::Column& want = run_spec(as_spec, points.columns, points.count);
    for (std::size_t p = 0; p < points.count; ++p) {
      if (want.ok[p] == 0) continue;
      ASSERT_TRUE(got.ok[p] != 0 && got.values[p] == want.values[p])
          << "seed " << seed << ": " << e.render() << " as " << text;
      std::vector<std::int64_t> at;
      for (const std::vector<std::int64_t>& column : points.columns) at.push_back(column[p]);
      ASSERT_EQ(read_back.evaluate(at), want.values[p]) << text;
    }
  }
}

TEST(Render, CAtTheEdgesOf64Bits) {
  const std::vector<Variable> vars{Variable("lo", kNegInf, 3), Variable("hi", -1, kPosInf), Variable("n", 1, kPosInf)};
  const std::vector<std::string> names{"lo", "hi", "n"};
  oracle::Points points;
  for (std::int64_t lo : {kNegInf, kNegInf + 1, std::int64_t{-1}, std::int64_t{3}})
    for (std::int64_t hi : {std::int64_t{-1}, std::int64_t{0}, kPosInf - 1, kPosInf})
      for (std::int64_t n : {std::int64_t{1}, std::int64_t{2}, kPosInf}) {
        if (points.count++ == 0) points.columns.resize(3);
        points.columns[0].push_back(lo);
        points.columns[1].push_back(hi);
        points.columns[2].push_back(n);
      }
  for (const char* text :
       {"lo//3", "lo%3", "lo//n", "lo%n", "hi//5", "hi%5", "hi//9223372036854775807", "hi%n", "lo//9223372036854775807",
        "min(lo,hi)//4", "(lo if hi<3 else -1)%7", "-9223372036854775808 + (hi<5)", "-3//n"}) {
    const Expr e = parse(text, vars);
    std::vector<std::string> known = names;
    const oracle::Tree as_c = oracle::parse_c_tree(render(e, Notation::c), known);
    oracle::TreeEvaluator evaluator;
    const oracle::Column& got = evaluator(as_c, points.columns, points.count, oracle::Rounding::truncate);
    const ExprProgram truth = compile(text, names);
    for (std::size_t p = 0; p < points.count; ++p) {
      const std::vector<std::int64_t> at{points.columns[0][p], points.columns[1][p], points.columns[2][p]};
      EXPECT_TRUE(got.ok[p] != 0 && got.values[p] == truth.evaluate(at)) << render(e, Notation::c) << " at " << p;
    }
  }
}

TEST(CountNodes, CountsOperatorsAndLeavesOfTheText) {
  // clang-format off
  const std::pair<std::string_view, std::size_t> rows[] = {
      {"5", 1}, {"a", 1}, {"(a+b*10)%10", 3}, {"x*3+y", 5}, {"y+3", 3}, {"0-x", 3}, {"a*b*c", 5}, {"min(a,b)", 3},
      {"x if a<3 else y", 6}, {"x>0 and x<2 and y<2", 13}, {"a-4*b+1", 7},
  };
  // clang-format on
  for (const auto& [text, count] : rows) EXPECT_EQ(count_nodes(parse(text, rendered_variables())), count) << text;
}

TEST(CountNodes, AgreesWithTheText) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const oracle::Case c = oracle::random_case(seed);
    const Expr e = oracle::build(c.tree, oracle::make_variables(c));
    struct Counter {
      std::size_t count = 0;
      void number(std::int64_t, std::size_t) { ++count; }
      void name(std::string_view, std::size_t) { ++count; }
      void apply(Action action, std::size_t, std::size_t) { count += action == Action::neg ? 0 : 1; }
      void fail(Fault, std::string_view, std::string_view, std::size_t) { ADD_FAILURE(); }
    } counter;
    parse_infix(e.render(), counter);
    EXPECT_EQ(count_nodes(e), counter.count) << e.render();
  }
}

/// A graph of `n` nodes whose text has 2^n leaves.
Expr shared_graph(int n) {
  const Variable x("x", 0, 9), y("y", 0, 9);
  Expr e = x;
  for (int i = 0; i < n; ++i) e = min(e * (e + y) % 1000, e + (i + 1));
  return e;
}

TEST(Render, ASharedGraphStopsAtTheBudget) {
  const Expr e = shared_graph(60);
  EXPECT_GT(count_nodes(e), std::size_t{1} << 40);
  for (Notation notation : {Notation::spec, Notation::c, Notation::python, Notation::latex}) {
    try {
      render(e, notation);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::budget);
    }
  }
  EXPECT_LT(render_tree(e).size(), std::size_t{1} << 20);
}

TEST(Render, ADeepGraphNeedsNoStack) {
  const Variable x("x", -1000, 1000), y("y", -1000, 1000);
  Expr e = x;
  for (int i = 0; i < 100000; ++i) e = select(y < i % 1000, e, x + i);
  const std::vector<Variable> vars{x, y};
  EXPECT_GE(count_nodes(e), 100000u);
  for (Notation notation : {Notation::spec, Notation::latex}) EXPECT_TRUE(same(parse(render(e, notation), vars), e));
  EXPECT_GT(render(e, Notation::c).size(), 100000u);
  EXPECT_THROW(render_tree(e), Error);  // its indentation alone is above the budget
}

TEST(Tree, IsTheSpecificationsTreeWithFoldedIntegersAndExclusiveEnds) {
  EXPECT_EQ(render_tree(parse("ridx0*2+ridx1", rendered_variables())),
            "Expr(Op.ADD, src=(\n"
            "  Expr(Op.MUL, src=(\n"
            "    Expr(Op.RANGE, arg=ridx0, src=(\n"
            "      x2:=Expr(Op.CONST, arg=0),\n"
            "      Expr(Op.CONST, arg=3),)),\n"
            "    x4:=Expr(Op.CONST, arg=2),)),\n"
            "  Expr(Op.RANGE, arg=ridx1, src=(\n"
            "    x2,\n"
            "    x4,)),))");
  EXPECT_EQ(render_tree(Expr(7)), "Expr(Op.CONST, arg=7)");
  EXPECT_EQ(render_tree(parse("x*5", rendered_variables())),
            "Expr(Op.MUL, src=(\n"
            "  Expr(Op.RANGE, arg=x, src=(\n"
            "    Expr(Op.CONST, arg=-30),\n"
            "    Expr(Op.CONST, arg=51),)),\n"
            "  Expr(Op.CONST, arg=5),))");
  EXPECT_EQ(render_tree(Variable("k", 1, kPosInf).bind(4)),
            "Expr(Op.RANGE, arg=k=4, src=(\n"
            "  Expr(Op.CONST, arg=1),\n"
            "  Expr(Op.CONST, arg=9223372036854775808),))");
}

}  // namespace
}  // namespace strata
