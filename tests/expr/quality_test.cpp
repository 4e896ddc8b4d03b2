// The quality that the algebra promises, on a fixed population of random nests.

#include <gtest/gtest.h>

#include "tests/expr/quality.h"

namespace strata {
namespace {

constexpr std::uint64_t kFirst = 500001, kCount = 1500;

oracle::Quality quality(Effort effort) {
  oracle::RandomOptions options;
  options.symbolic_divisors = false;
  oracle::Quality q;
  for (std::uint64_t seed = kFirst; seed < kFirst + kCount; ++seed) oracle::judge(seed, options, effort, q);
  return q;
}

std::string complaints(const oracle::Quality& q) {
  std::string text;
  for (const std::string& line : q.complaints) text += line + "\n";
  return text;
}

TEST(Quality, Exact) {
  const oracle::Quality q = quality(Effort::exact);
  EXPECT_GT(q.cases, kCount * 9 / 10);
  EXPECT_GE(q.bounds_percent(), 99.5) << complaints(q);
  EXPECT_EQ(q.constants_missed + q.affine_missed + q.dead_names_left, 0U) << complaints(q);
  EXPECT_EQ(q.wrong + q.unsound + q.unstable, 0U) << complaints(q);
}

// With the exact step off, the rules alone.
TEST(Quality, Rules) {
  const oracle::Quality q = quality(Effort::rules);
  EXPECT_GE(q.bounds_percent(), 90.9);
  EXPECT_GE(q.constants_percent(), 96.8);
  EXPECT_GE(q.affine_percent(), 92.2);
  EXPECT_GE(q.names_percent(), 96.6);
  EXPECT_EQ(q.wrong + q.unsound + q.unstable, 0U) << complaints(q);
}

}  // namespace
}  // namespace strata
