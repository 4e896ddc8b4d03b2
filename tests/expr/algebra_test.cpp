// Two-column tests of the rules: what is written, what it becomes.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "strata/expr/expr.h"
#include "strata/expr/parse.h"
#include "strata/expr/render.h"

namespace strata {
namespace {

const std::vector<Variable>& names() {
  static const std::vector<Variable> all{
      Variable("x", 0, 99), Variable("y", 0, 9), Variable("z", -20, 20), Variable("n", 1, 50),
      Variable("m", 1, 50), Variable("i", 0, 7), Variable("p", 0, 1),    Variable("q", 0, 1),
  };
  return all;
}

struct Row {
  const char* before;
  const char* after;
};
std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.before; }

class Algebra : public testing::TestWithParam<Row> {};

TEST_P(Algebra, Becomes) { EXPECT_EQ(parse(GetParam().before, names()).render(), GetParam().after); }

INSTANTIATE_TEST_SUITE_P(Division, Algebra,
                         testing::Values(Row{"(x//3)//4", "(x//12)"}, Row{"(x*6+y)//6", "(x+(y//6))"},
                                         Row{"(x*20+y)//20", "x"}, Row{"(x*20+y)//40", "(x//2)"},
                                         Row{"x//-4", "((x*-1)//4)"}, Row{"ceildiv(x, 4)", "((3+x)//4)"},
                                         Row{"(x%12)//4", "((x//4)%3)"}, Row{"(x+7)//3", "(2+((1+x)//3))"},
                                         Row{"y//10", "0"}, Row{"(y-10)//10", "-1"}, Row{"x//1", "x"},
                                         Row{"(x-x%4)//4", "(x//4)"}, Row{"min(x,50)//10", "min(5, (x//10))"}));

INSTANTIATE_TEST_SUITE_P(Modulus, Algebra,
                         testing::Values(Row{"(x*10+y)%10", "y"}, Row{"(x%12)%4", "(x%4)"},
                                         Row{"(x*4)%12", "((x%3)*4)"}, Row{"(x*20+y)%40", "(((x%2)*20)+y)"},
                                         Row{"x%-4", "(((x*3)%4)*-1)"}, Row{"(x%12+y)%4", "((x+y)%4)"},
                                         Row{"(x*4+1)%2", "1"}, Row{"x%1", "0"}));

INSTANTIATE_TEST_SUITE_P(Recombination, Algebra,
                         testing::Values(Row{"x//4*4+x%4", "x"}, Row{"x-x//4*4", "(x%4)"}, Row{"x-x%4", "((x//4)*4)"},
                                         Row{"(x//4%5)*4+x%4", "(x%20)"}, Row{"x//20*5+x//4%5", "(x//4)"},
                                         Row{"(x+y)//4*8+(x+y)%4*2", "((x*2)+(y*2))"},
                                         Row{"x%20-x%4", "(((x//4)%5)*4)"}, Row{"x//12*12+((x%12)//4)*4+x%4", "x"}));

INSTANTIATE_TEST_SUITE_P(Conditions, Algebra,
                         testing::Values(Row{"x*4<10", "(x<3)"}, Row{"x//5<3", "(x<15)"}, Row{"x>=0", "1"},
                                         Row{"x*10+y<40", "(x<4)"}, Row{"not x<3", "((x*-1)<-2)"}, Row{"x*2==7", "0"},
                                         Row{"x==3 and x<2", "0"}, Row{"x<3 or x>=3", "1"}, Row{"x<3 and x<5", "(x<3)"},
                                         Row{"x<3 or x<5", "(x<5)"}, Row{"p==1", "p"},
                                         Row{"not (x<3 and y<2)", "(((x*-1)<-2) or ((y*-1)<-1))"},
                                         Row{"x<3 and z", "((x<3) and (z!=0))"}, Row{"p*p", "p"},
                                         Row{"p*q", "(p and q)"}));

INSTANTIATE_TEST_SUITE_P(Choice, Algebra,
                         testing::Values(Row{"min(x,200)", "x"}, Row{"max(min(x,5),7)", "7"},
                                         Row{"min(x+3,y+3)", "(3+min(x, y))"}, Row{"min(x*4,y*4)", "(min(x, y)*4)"},
                                         Row{"min(x,y)+max(x,y)", "(x+y)"}, Row{"select(x<y,x,y)", "min(x, y)"},
                                         Row{"select(x<3,1,0)", "(x<3)"}, Row{"select(x<3,x+1,x)", "(x+(x<3))"},
                                         Row{"max(min(x,y),x)", "x"}));

INSTANTIATE_TEST_SUITE_P(Symbolic, Algebra,
                         testing::Values(Row{"(n*x+y)//n-x-y//n", "0"}, Row{"(n*i)//n", "i"}, Row{"(n*i)%n", "0"},
                                         Row{"(x//n)//m", "(x//(m*n))"}, Row{"(x//n)*n+x%n", "x"},
                                         Row{"(n*x)%(n*m)", "(n*(x%m))"}, Row{"(n*m*i+x)//(n*m)-i", "(x//(m*n))"},
                                         Row{"((n+50)*i+x%50)//(n+50)", "i"}, Row{"(n+1)*(m+1)-n*m", "((1+m)+n)"}));

TEST(Algebra, TwelveIndexExpressionsReachTheIdeal) {
  std::ifstream in(STRATA_SOURCE_DIR "/bench/data/exprs.txt");
  ASSERT_TRUE(in);
  int rows = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> field;
    std::stringstream parts(line);
    for (std::string part; std::getline(parts, part, ';');) field.push_back(part);
    ASSERT_EQ(field.size(), 4u) << line;
    std::vector<Variable> vars;
    std::stringstream ranges(field[1]);
    for (std::string range; ranges >> range;) {
      const auto a = range.find(':'), b = range.find(':', a + 1);
      vars.emplace_back(range.substr(0, a), std::stoll(range.substr(a + 1)), std::stoll(range.substr(b + 1)));
    }
    const Expr e = parse(field[2], vars);
    const std::string ideal = field[3];
    if (ideal.find("affine") != std::string::npos) {
      EXPECT_TRUE(affine_form(e).has_value()) << field[0] << ": " << e.render();
    } else if (ideal.find("as is") != std::string::npos) {
      EXPECT_LE(count_nodes(e), static_cast<std::size_t>(25)) << field[0] << ": " << e.render();
    } else {
      EXPECT_TRUE(same(e, parse(ideal, vars))) << field[0] << ": " << e.render();
    }
    ++rows;
  }
  EXPECT_EQ(rows, 12);
}

struct Assumed {
  const char* text;
  const char* assumption;
  const char* after;
};
std::ostream& operator<<(std::ostream& out, const Assumed& row) {
  return out << row.text << " where " << row.assumption;
}

class Assume : public testing::TestWithParam<Assumed> {};

TEST_P(Assume, Becomes) {
  const Assumed row = GetParam();
  EXPECT_EQ(simplify_under(parse(row.text, names()), parse(row.assumption, names())).render(), row.after);
}

INSTANTIATE_TEST_SUITE_P(Rows, Assume,
                         testing::Values(Assumed{"x%10", "x<10", "x"}, Assumed{"x//10", "x>=10 and x<20", "1"},
                                         Assumed{"x*3+y", "x>=1 and x<2", "(3+y)"}, Assumed{"min(x,y)", "x<y", "x"},
                                         Assumed{"(x+z)%50", "x+z>=0 and x+z<50", "(x+z)"}, Assumed{"x<5", "x<5", "1"},
                                         Assumed{"x<9", "x<5", "1"}, Assumed{"select(x<5,x,y)", "x<4", "x"},
                                         Assumed{"x%n", "x<n", "x"}, Assumed{"(i*n+x)//n", "x<n", "i"},
                                         Assumed{"x+y", "x==7", "(7+y)"}, Assumed{"x//10*2", "x//10==3", "6"},
                                         Assumed{"7//max(p,1)", "p>0", "7"},
                                         Assumed{"x%max(z,1)", "z>0", "(x%max(1, z))"}));

// What is known of a quotient of n says that n is not 0, on the assumption alone.
TEST(AssumeDivisors, StayPositiveWithoutTheAssumption) {
  const std::vector<Variable> box{Variable("n", 0, 3), Variable("r", 0, 1), Variable("a", 0, 3), Variable("b", 0, 3)};
  const Expr assumption = parse("r < n//2", box);
  for (const char* text : {"(4*n*a + 2*r + n*b)//(2*max(1,n))", "(2*r + n*b)//(2*max(1,n))",
                           "(1 + 4*n*a + 2*r + n*b)%max(1,n)", "(n*a + r)//max(1,n)"}) {
    const Expr before = parse(text, box), after = simplify_under(before, assumption);
    EXPECT_GE(after.facts().min, 0) << after.render();
    for (std::int64_t k = 0; k < std::int64_t{4} * 2 * 4 * 4; ++k) {
      const Values at{{box[0], k % 4}, {box[1], k / 4 % 2}, {box[2], k / 8 % 4}, {box[3], k / 32}};
      const std::int64_t value = evaluate(after, at);  // everywhere: no divisor is 0
      if (evaluate(assumption, at) != 0) {
        EXPECT_EQ(value, evaluate(before, at)) << after.render();
      }
    }
  }
}

}  // namespace
}  // namespace strata
