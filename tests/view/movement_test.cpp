// Movement operations against explicit tables: a fixed sample of what `view_chains` runs in full.

#include <gtest/gtest.h>

#include "tests/sample.h"
#include "tests/view/chains.h"

namespace strata::chains {
namespace {

void expect_clean(const Report& r) {
  std::string text;
  for (const std::string& line : r.complaints) text += line + "\n";
  EXPECT_EQ(r.failures, 0U) << text;
}

TEST(Movement, PairsOnSmallShapes) {
  Report r;
  Triples pairs(r, {12, 3, 1}, Depth::all);
  for (const Index& shape : small_shapes(STRATA_SANITIZED ? 4 : 6)) pairs.run(shape, 2);
  expect_clean(r);
  EXPECT_GT(r.several, 100U);
}

TEST(Movement, SampleOfTriples) {
  Report r;
  oracle::Random random(20);
  Triples sample(r, {64, 4, 2}, Depth::all);
  for (int k = 0; k < test::sample(1500); ++k) sample.run_random(random, 3);
  expect_clean(r);
}

TEST(Movement, RandomChains) {
  Report r;
  for (std::uint64_t seed = 1; seed <= test::sample(600U); ++seed) random_chain(seed, r);
  expect_clean(r);
}

TEST(Movement, ThroughTwoViewsAndBackToOne) {
  Report r;
  for (std::uint64_t seed = 1; seed <= test::sample(500U); ++seed) random_round_trip(seed, r);
  expect_clean(r);
  EXPECT_GT(r.singles, test::sample(200U));
}

TEST(Movement, RandomMaskedStacks) {
  Report r;
  for (std::uint64_t seed = 1; seed <= test::sample(1500U); ++seed) random_stack(seed, r);
  expect_clean(r);
  EXPECT_GT(r.singles, test::sample(200U));
}

// A View of no dimensions has no mask: where its one index is invalid, two Views have to say it.
TEST(Movement, AnInvalidScalarTakesTwoViews) {
  const ShapeTracker st = ShapeTracker::from_shape({1}).pad({{0, 1}}).shrink({{1, 2}}).reshape(Ints{});
  EXPECT_EQ(st.views().size(), 2U);
  EXPECT_EQ(st.simplify().views().size(), 2U);
  EXPECT_EQ(addresses(st), std::vector<std::int64_t>{-1});
}

}  // namespace
}  // namespace strata::chains
