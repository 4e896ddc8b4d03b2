// prove and prove_equal: answers and counterexamples.

#include <gtest/gtest.h>

#include "strata/expr/exact.h"
#include "tests/expr/quality.h"

namespace strata {
namespace {

using oracle::Case;

bool holds(const Expr& e, const Values& at) { return evaluate(e, at) != 0; }

TEST(Prove, DecidesWhatTheTableDecides) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Case c = oracle::random_case(seed + 40000);
    if (oracle::volume_of(c) > 20000) continue;
    const auto truth = oracle::truth_of(c);
    if (!truth) continue;
    const Expr e = oracle::build(c.tree, oracle::make_variables(c));
    const Expr claim = seed % 2 == 0 ? e < truth->max + static_cast<std::int64_t>(seed % 4) / 2
                                     : e != truth->table[truth->table.size() / 2];
    const bool wanted = seed % 2 == 0 && seed % 4 == 2;
    const Proof proof = prove(claim);
    EXPECT_EQ(proof.answer, wanted ? Answer::yes : Answer::no) << claim.render();
    if (proof.answer == Answer::no) {
      EXPECT_FALSE(holds(claim, proof.counterexample)) << claim.render();
    }
  }
}

TEST(Prove, UnderAnAssumption) {
  const Variable x("x", 0, 1000), y("y", 0, 1000);
  EXPECT_EQ(prove(x + y < 30, x < 10 && y < 20).answer, Answer::yes);
  const Proof no = prove(x + y < 29, x < 10 && y < 21);
  ASSERT_EQ(no.answer, Answer::no);
  EXPECT_TRUE(holds(x < 10 && y < 21, no.counterexample));
  EXPECT_FALSE(holds(x + y < 29, no.counterexample));
  EXPECT_EQ(prove(x < 0, x * y == 1000003).answer, Answer::yes);  // a prime: nothing is valid
  EXPECT_EQ(prove(x * y > 5, x * y == 999 * 999).answer, Answer::yes);
}

TEST(Prove, TheCounterexampleAssignsEverything) {
  const Variable x("x", 0, 9), y("y", 0, 9);
  const Proof proof = prove(x < 5, y < 7);
  ASSERT_EQ(proof.answer, Answer::no);
  ASSERT_EQ(proof.counterexample.size(), 2U);
  EXPECT_FALSE(holds(x < 5, proof.counterexample));
  EXPECT_TRUE(holds(y < 7, proof.counterexample));
  EXPECT_EQ(prove(0, y < 7).answer, Answer::no);
  EXPECT_EQ(prove(0, 0).answer, Answer::yes);
  EXPECT_EQ(prove(1).answer, Answer::yes);
}

TEST(Prove, LargeRanges) {
  const std::int64_t big = 1000000000;
  const Variable a("a", 0, big), b("b", 1, big);
  EXPECT_EQ(prove(a / 10 * 10 + a % 10 == a).answer, Answer::yes);
  EXPECT_NE(prove(max(a, b) >= min(a, b)).answer, Answer::no);
  const Proof rare = prove(a != 123456789);
  ASSERT_NE(rare.answer, Answer::yes);
  if (rare.answer == Answer::no) {
    EXPECT_FALSE(holds(a != 123456789, rare.counterexample));
  }
  const Proof half = prove(a * 3 + b < 2 * big);
  ASSERT_EQ(half.answer, Answer::no);
  EXPECT_FALSE(holds(a * 3 + b < 2 * big, half.counterexample));
}

TEST(Prove, OverflowInsideIsUnknown) {
  const std::int64_t huge = std::int64_t{1} << 62;
  const Variable a("a", 0, huge), b("b", 0, huge);
  EXPECT_NE(prove(a * b >= 0).answer, Answer::no);
  EXPECT_NE(prove_equal(a * b, b * a + a % 2 - a % 2).answer, Answer::no);
}

TEST(ProveEqual, AgreesWithTheTables) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Case c = oracle::random_case(seed + 90000);
    if (oracle::volume_of(c) > 20000) continue;
    const auto truth = oracle::truth_of(c);
    if (!truth) continue;
    const auto variables = oracle::make_variables(c);
    const Expr e = oracle::build(c.tree, variables);
    EXPECT_EQ(prove_equal(e, simplify(e, Effort::exact)).answer, Answer::yes);
    Expr at_corner = 1;  // differs at one point only
    for (const Variable& v : variables) at_corner = at_corner && v == v.max();
    const Proof proof = prove_equal(e, e + at_corner);
    ASSERT_EQ(proof.answer, Answer::no);
    EXPECT_NE(evaluate(e, proof.counterexample), evaluate(e + at_corner, proof.counterexample));
  }
}

}  // namespace
}  // namespace strata
