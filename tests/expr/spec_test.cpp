// Every symbolic example of the specification, with the value and the text it states.
#include <gtest/gtest.h>

#include "strata/affine/affine.h"
#include "strata/expr/expr.h"
#include "strata/expr/parse.h"
#include "strata/expr/render.h"

namespace strata {
namespace {

TEST(Spec, BoundsOfProductsAndSums) {
  const Variable a("a", 0, 10), b("b", 0, 10);
  EXPECT_EQ((a * 10).vmin(), 0);
  EXPECT_EQ((a * 10).vmax(), 100);
  EXPECT_EQ((a + b).vmin(), 0);
  EXPECT_EQ((a + b).vmax(), 20);
}

TEST(Spec, DivAndModDropWhatCannotMatter) {
  const Variable a("a", 0, 10), b("b", 0, 10);
  EXPECT_EQ(((a + b * 10) % 10).render(), "(a%10)");
  const Expr e = (a * 40 + b) / 20;
  EXPECT_EQ(e.render(), "(a*2)");
  EXPECT_EQ(e.vmin(), 0);
  EXPECT_EQ(e.vmax(), 20);
}

TEST(Spec, IndexOfAView) {
  const Variable x("x", 0, 100), y("y", 0, 100);
  EXPECT_EQ((x * 3 + y).render(), "((x*3)+y)");
  EXPECT_EQ(Expr(1).render(), "1");
  const Variable r0("ridx0", 0, 1), r1("ridx1", 0, 1);
  EXPECT_EQ((r0 * 2 + r1).render(), "((ridx0*2)+ridx1)");
}

TEST(Spec, IndexOfTwoViews) {
  const Variable r0("ridx0", 0, 2), r1("ridx1", 0, 1);
  const Expr flat = r0 * 2 + r1, index = flat % 3 * 2 + flat / 3;
  EXPECT_EQ(index.render(), "(((((ridx0*2)+ridx1)%3)*2)+(((ridx0*2)+ridx1)//3))");
  std::vector<std::int64_t> addresses;
  for (const Expr& e : expand(index, std::vector<Variable>{r0, r1})) addresses.push_back(e.value());
  EXPECT_EQ(addresses, (std::vector<std::int64_t>{0, 2, 4, 1, 3, 5}));
}

TEST(Spec, DigitsOfAFlatIndex) {
  const Variable idx0("idx0", 0, 99);
  EXPECT_EQ((idx0 / 10 + idx0 % 10 * 10).render(), "(((idx0%10)*10)+(idx0//10))");
  const Variable i0("idx0", 0, 9), i1("idx1", 0, 9);
  const Expr flat = i0 * 10 + i1;
  EXPECT_EQ((flat / 10 + flat % 10 * 10).render(), "((idx1*10)+idx0)");
}

TEST(Spec, ValidityOfMasks) {
  const Variable x("x", 0, 100), y("y", 0, 100);
  EXPECT_EQ((x >= 0 && x < 2 && y >= 0 && y < 2).render(), "((x<2) and (y<2))");
  const Expr valid = x >= 1 && x < 2 && y >= 0 && y < 2;
  EXPECT_EQ(valid.render(), "(((x*-1)<0) and (x<2) and (y<2))");
  EXPECT_EQ(simplify_under(x * 3 + y, valid).render(), "(3+y)");
}

TEST(Spec, ExpandNode) {
  const auto texts = [](const Expr& e) {
    std::vector<std::string> out;
    for (const Expr& v : expand_node(e)) out.push_back(v.render());
    return out;
  };
  EXPECT_EQ(texts(42), (std::vector<std::string>{"42"}));
  EXPECT_EQ(texts(Variable("a", 5, 7)), (std::vector<std::string>{"a"}));
  const Variable u("_uidx0", 5, 7);
  EXPECT_EQ(texts(u), (std::vector<std::string>{"5", "6", "7"}));
  EXPECT_EQ(texts(u * 3), (std::vector<std::string>{"15", "18", "21"}));
}

TEST(Spec, AffinePrimitives) {
  AffinePrimitives ap;
  auto affine = ap.create("i * 128 + 64");
  for (int i = 0; i < 128; ++i) {
    ap["i"] = i;
    ASSERT_EQ(i * 128 + 64, affine());
  }
}

TEST(Spec, DivisionAndModuloAreFloor) {
  const Variable x("x", -9, 9);
  for (std::int64_t v = -9; v <= 9; ++v) {
    EXPECT_EQ(evaluate(x / 3, {{x, v}}), (v + 9) / 3 - 3);
    EXPECT_EQ(evaluate(x % 3, {{x, v}}), (v + 9) % 3);
  }
}

TEST(Spec, NaturalNameOrder) {
  const Variable a("idx2", 0, 9), b("idx10", 0, 9);
  EXPECT_EQ((b + a).render(), "(idx2+idx10)");
  EXPECT_EQ((b * 2 + a + 7).render(), "((7+(idx10*2))+idx2)");
}

}  // namespace
}  // namespace strata
