// Evaluation at points and over boxes, substitution, expand, unbind.

#include "strata/expr/evaluate.h"

#include <gtest/gtest.h>

#include "tests/base/errors.h"
#include "tests/expr/quality.h"

namespace strata {
namespace {

using oracle::Case;

TEST(Evaluate, FloorDivisionAndModulus) {
  const Variable x("x", -20, 20);
  for (std::int64_t v = -20; v <= 20; ++v) {
    const Values at{{x, v}};
    EXPECT_EQ(evaluate(x / 7, at), floor_div(v, 7));
    EXPECT_EQ(evaluate(x % 7, at), floor_mod(v, 7));
    EXPECT_EQ(evaluate(x / -7, at), floor_div(v, -7));
    EXPECT_EQ(evaluate(x % -7, at), floor_mod(v, -7));
    EXPECT_EQ(evaluate(min(x, 3) + max(x * 2, -5), at),
              std::min<std::int64_t>(v, 3) + std::max<std::int64_t>(2 * v, -5));
    EXPECT_EQ(evaluate(select(x, x + 1, 9), at), v != 0 ? v + 1 : 9);
  }
}

TEST(Evaluate, MissingAndOutsideValues) {
  const Variable x("x", 0, 10), y("y", 0, 10);
  EXPECT_EQ(error_of([&] { evaluate(x + y, {{x, 1}}); }).kind(), ErrorKind::parse);
  EXPECT_EQ(error_of([&] { evaluate(x + y, {{x, 11}, {y, 0}}); }).kind(), ErrorKind::domain);
  EXPECT_EQ(evaluate(x + y.bind(4), {{x, 3}}), 7);
}

TEST(Evaluate, OverflowIsDetectedAndOrderDoesNotMatter) {
  const std::int64_t big = std::int64_t{1} << 62;
  const Variable x("x", 0, big), y("y", 0, big), z("z", 0, big);
  EXPECT_EQ(error_of([&] { evaluate(x * 2, {{x, big}}); }).kind(), ErrorKind::overflow);
  EXPECT_EQ(error_of([&] { evaluate(x * y, {{x, big}, {y, 2}}); }).kind(), ErrorKind::overflow);
  const Values at{{x, big}, {y, big}, {z, big}};
  EXPECT_EQ(evaluate(x + y - z, at), big);
  EXPECT_EQ(evaluate(z * -3 + x * 2 + y * 2, at), big);
}

TEST(Evaluate, DeepExpressions) {
  const Variable x("x", 0, 5);
  Expr e = x;
  for (int i = 0; i < 100000; ++i) e = max(e * 3 % 7, i % 2);
  std::int64_t wanted = 4;
  for (int i = 0; i < 100000; ++i) wanted = std::max<std::int64_t>(wanted * 3 % 7, i % 2);
  EXPECT_EQ(evaluate(e, {{x, 4}}), wanted);
  const Variable y("y", 0, 5);
  EXPECT_EQ(evaluate(substitute(e, {{x, y}}), {{y, 4}}), wanted);
}

// The block evaluator, point evaluation and the oracle agree on whole boxes.
TEST(Scan, EqualsTheOracle) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Case c = oracle::random_case(seed);
    const Expr e = oracle::build(c.tree, oracle::make_variables(c));
    const Tape tape(e);
    std::vector<std::int64_t> slots;
    std::vector<std::string> names;
    for (std::size_t v = 0; v < tape.variables().size(); ++v) names.push_back(tape.variable(v).name);
    Case ordered;
    for (std::size_t v = 0; v < names.size(); ++v)
      ordered.variables.push_back({names[v], tape.variable(v).min, tape.variable(v).max});
    const auto wanted = oracle::table_of(ordered, oracle::tree_of(e, names));
    if (!wanted) continue;
    std::uint64_t at = 0;
    with_scan(tape, [&](auto& scan) {
      scan.reset(tape.box());
      while (scan.next()) {
        const auto* values = scan.values(0);
        for (std::size_t i = 0; i < scan.count(); ++i, ++at) {
          ASSERT_LT(at, wanted->size());
          ASSERT_EQ(static_cast<std::int64_t>(values[i]), (*wanted)[at]);
          if (at % 97 != 0) continue;
          ASSERT_EQ(tape.run(scan.point(i), slots), tape.size());
          ASSERT_EQ(slots[tape.root(0)], (*wanted)[at]);
        }
        for (std::size_t i = scan.count(); i < scan.padded(); ++i)
          EXPECT_NE(std::find(wanted->begin(), wanted->end(), static_cast<std::int64_t>(values[i])), wanted->end());
      }
    });
    EXPECT_EQ(at, wanted->size());
  }
}

// The three ways of computing agree: doubles, 64-bit integers, point by point.
TEST(Scan, AllWidths) {
  const Variable x("x", -7, 50), y("y", 1, 90);
  const std::int64_t scale[] = {1, std::int64_t{1} << 46, std::int64_t{1} << 49};
  const Width width[] = {Width::real, Width::wide, Width::checked};
  for (int i = 0; i < 3; ++i) {
    const Expr e = max((x * 5 - y * 3) * scale[i], y * y * scale[i] / (y + 2)) % (scale[i] * 7 + y);
    const Tape tape(e);
    EXPECT_EQ(tape.width(), width[i]);
    std::size_t points = 0;
    with_scan(tape, [&](auto& scan) {
      scan.reset(tape.box());
      while (scan.next())
        for (std::size_t p = 0; p < scan.count(); ++p, ++points) {
          const std::int64_t a = -7 + static_cast<std::int64_t>(points) / 90,
                             b = 1 + static_cast<std::int64_t>(points) % 90;
          const std::int64_t v = std::max((a * 5 - b * 3) * scale[i], floor_div(b * b * scale[i], b + 2));
          ASSERT_EQ(static_cast<std::int64_t>(scan.values(0)[p]), floor_mod(v, scale[i] * 7 + b));
          ASSERT_EQ(scan.point(p), (std::vector<std::int64_t>{a, b}));
        }
    });
    EXPECT_EQ(points, 58U * 90U);
  }
}

TEST(Scan, LongRangesAreCutIntoChunks) {
  const Variable a("a", 0, 2), b("b", -5, 9000), c("c", 0, 1);
  const Expr e = (a * 100 + b) / 7 % 50 + c * b;
  const Tape tape(e);
  std::int64_t points = 0;
  with_scan(tape, [&](auto& scan) {
    scan.reset(tape.box());
    while (scan.next())
      for (std::size_t i = 0; i < scan.count(); ++i, ++points) {
        const std::int64_t vc = points % 2, vb = -5 + points / 2 % 9006, va = points / 2 / 9006;
        ASSERT_EQ(static_cast<std::int64_t>(scan.values(0)[i]), floor_mod(floor_div(va * 100 + vb, 7), 50) + vc * vb);
        if (i % 64 == 0) {
          ASSERT_EQ(scan.point(i), (std::vector<std::int64_t>{va, vb, vc}));
        }
      }
  });
  EXPECT_EQ(points, 3 * 9006 * 2);
}

TEST(Reading, VariablesAndAffineForm) {
  const Variable x2("x2", 0, 9), x10("x10", 0, 9);
  const auto found = variables(x10 * 3 + x2 / 2);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name(), "x2");
  const auto form = affine_form(x10 * 3 - x2 + 7);
  ASSERT_TRUE(form);
  EXPECT_EQ(form->constant, 7);
  EXPECT_EQ(form->coefficients[0].second, -1);
  EXPECT_EQ(form->coefficients[1].second, 3);
  EXPECT_FALSE(affine_form(x2 / 3));
  EXPECT_EQ(affine_form(5)->constant, 5);
}

TEST(Substitute, IsSimultaneousAndCanonical) {
  const Variable x("x", 0, 9), y("y", 0, 9);
  EXPECT_TRUE(same(substitute(x - y * 2, {{x, y}, {y, x}}), y - x * 2));
  EXPECT_TRUE(same(substitute(x / 3 + y, {{x, y * 3}}), y * 2));
  EXPECT_TRUE(same(substitute((x / 3) * 5 + x, {{x / 3, y}}), y * 5 + x));
  EXPECT_TRUE(same(substitute(x + y, {}), x + y));
}

TEST(Expand, LastVariableFastest) {
  const Variable u("_uidx0", 5, 7), v("_uidx1", 0, 1), a("a", 5, 7);
  EXPECT_EQ(expand_node(42).size(), 1U);
  EXPECT_TRUE(same(expand_node(a)[0], a));
  const auto three = expand_node(u * 3);
  ASSERT_EQ(three.size(), 3U);
  EXPECT_TRUE(same(three[2], Expr(21)));
  const auto six = expand_node(v + u * 10 + a);
  ASSERT_EQ(six.size(), 6U);
  EXPECT_TRUE(same(six[1], a + 51));
  EXPECT_EQ(error_of([] {
              const Variable w("_uidx2", 0, 1 << 20);
              expand_node(w);
            }).kind(),
            ErrorKind::budget);
}

TEST(Unbind, GivesTheValuesBack) {
  const Variable x("x", 1, 9), y("y", 0, 9);
  const auto [plain, values] = unbind(x.bind(4) * 2 + y);
  EXPECT_TRUE(same(plain, x * 2 + y));
  ASSERT_EQ(values.size(), 1U);
  EXPECT_TRUE(same(values[0].first, x));
  EXPECT_EQ(values[0].second, 4);
}

}  // namespace
}  // namespace strata
