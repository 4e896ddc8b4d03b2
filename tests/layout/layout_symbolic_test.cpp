// Layouts whose sizes and strides are expressions: an answer holds for every value of the
// variables.

#include <gtest/gtest.h>

#include "strata/layout/layout_algebra.h"
#include "tests/layout/layout_oracle.h"

namespace strata::layout_oracle {
namespace {

class LayoutSymbolic : public testing::Test {
 protected:
  Layout read(std::string_view text) const { return parse_layout(text, {n_, m_}); }
  // With numbers in place of n and m.
  StaticLayout at(const Layout& l, std::int64_t n, std::int64_t m) const {
    const auto number = [&](const Int& v) { return evaluate(v.expr(), {{n_, n}, {m_, m}}); };
    StaticLayout::Leaves leaves;
    for (const Layout::Leaf& leaf : l.leaves()) leaves.push_back({number(leaf.size), number(leaf.stride)});
    return StaticLayout::create(l.profile(), leaves);
  }
  Variable n_{"n", 1, 9}, m_{"m", 2, 7};
};

TEST_F(LayoutSymbolic, Texts) {
  const auto check = [&](std::string_view before, std::string_view after) { EXPECT_EQ(render(read(before)), after); };
  check("(n,4):(4,1)", "(n,4):(4,1)");
  check("((n),(n+1)*2):(1,n)", "(n,(2+(n*2))):(1,n)");
  check("( min(n, 4), (m, n*m) ) : ( 1 , (n-n+7,0) )", "(min(4, n),(m,(m*n))):(1,(7,0))");
  const auto fault = [&](std::string_view text, ErrorKind kind, std::size_t column) {
    try {
      read(text);
      ADD_FAILURE() << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), kind) << text << ": " << e.what();
      EXPECT_EQ(e.column(), column) << text << ": " << e.what();
    }
  };
  fault("(n,k):(1,1)", ErrorKind::parse, 4);
  fault("(n,4*):(1,1)", ErrorKind::parse, 6);
  fault("(n-1,4):(1,1)", ErrorKind::shape, 2);  // it may be 0
  fault("(n,4):1", ErrorKind::shape, 7);
}

// For each pair: the answer, put to numbers, satisfies the contract at every n and m.
TEST_F(LayoutSymbolic, CompositionsHoldForEverySize) {
  const struct {
    const char *a, *b, *result;
  } rows[] = {
      {"(4*n,8):(1,4*n)", "(n,4):(4,1)", "(n,4):(4,1)"},
      {"(4*n,8):(8,1)", "4*n:1", "(n*4):8"},
      {"(4*n,8):(8,1)", "(4*n,8):(1,4*n)", "((n*4),8):(8,1)"},
      {"(4*n,8):(8,1)", "((4,n),8):((1,4),4*n)", "((4,n),8):((8,32),1)"},
      {"(n,m):(m,1)", "n*m:1", "(n,m):(m,1)"},
      {"(n,m):(m,1)", "m:n", "m:1"},
      {"(n,m):(m,1)", "(m,n):(n,1)", "(m,n):(1,m)"},
      {"n*m:3", "(m,n):(n,1)", "(m,n):((n*3),3)"},
  };
  for (const auto& row : rows) {
    const Layout a = read(row.a), b = read(row.b), r = composition(a, b);
    EXPECT_EQ(render(r), row.result) << row.a << " o " << row.b;
    for (std::int64_t n = 1; n <= 9; ++n)
      for (std::int64_t m = 2; m <= 7; ++m) {
        EXPECT_EQ(values(at(r, n, m)), composed(at(a, n, m), at(b, n, m))) << row.a << " o " << row.b;
        EXPECT_TRUE(refines(at(r, n, m), at(b, n, m)));
      }
  }
}

TEST_F(LayoutSymbolic, WhatDoesNotHoldForEverySizeIsRefused) {
  for (const auto& [a, b] : {std::pair("(n,m):(m,1)", "4:1"), std::pair("(n,m):(m,1)", "(m,n):(1,m)"),
                             std::pair("(4*n,8):(8,1)", "6:1"), std::pair("(n,8):(8,1)", "(2,n):(1,2)")})
    EXPECT_EQ(refusal([&] { composition(read(a), read(b)); }), "undefined") << a << " o " << b;
  EXPECT_EQ(refusal([&] { complement(read("(4,n):(1,m)"), 100); }), "undefined");
  EXPECT_EQ(refusal([&] { left_inverse(read("(n,m):(1,m)")); }), "undefined");
  EXPECT_EQ(refusal([&] { right_inverse(read("(n,m):(1,m)")); }), "undefined");
  EXPECT_EQ(refusal([&] { table(read("n:1")); }), "undefined");
}

TEST_F(LayoutSymbolic, OtherOperations) {
  EXPECT_EQ(render(coalesce(read("(4*n,8):(1,4*n)"))), "(n*32):1");
  EXPECT_EQ(render(complement(read("(4,n):(1,8)"), read("n*16:1").size())), "(2,2):(4,(n*8))");
  EXPECT_EQ(render(logical_divide(read("4*n:1"), Layout(4))), "(4,n):(1,4)");
  EXPECT_EQ(render(logical_product(read("(n,m):(m,1)"), Layout(3))), "((n,m),3):((m,1),(m*n))");
  EXPECT_EQ(render(right_inverse(read("(n,m):(m,1)"))), "(m,n):(n,1)");
  EXPECT_EQ(render(left_inverse(read("(n,m):(m,1)"))), "(m,n):(n,1)");
  EXPECT_EQ(render(left_inverse(read("(n,m):(2*m,1)"))), "((m*2),n):(n,1)");
  EXPECT_EQ(render(nullspace(read("(n,m):(0,1)"))), "n:1");
  EXPECT_EQ(read("(n,m):(m,1)")(2, 3), read("(n,m):(m,1)")(coordinate(2, 3)));
  EXPECT_EQ(read("(n,m):(m,1)").cosize().render(), "(m*n)");
  for (std::int64_t n = 1; n <= 9; ++n)
    for (std::int64_t m = 2; m <= 7; ++m) {
      const Layout a = read("(n,m):(m,1)");
      const StaticLayout number = at(a, n, m);
      const Expr value = a(Int(Expr(n_) * Expr(m_) - 1)).expr();
      EXPECT_EQ(evaluate(value, {{n_, n}, {m_, m}}), number(n * m - 1));
      EXPECT_EQ(values(at(right_inverse(a), n, m)), values(right_inverse(number)));
    }
}

}  // namespace
}  // namespace strata::layout_oracle
