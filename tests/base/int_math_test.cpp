// 64-bit arithmetic against the same arithmetic in 128 bits, on every pair of a set that holds the edges.
#include "strata/base/int_math.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace strata {
namespace {

__extension__ using Wide = __int128;

std::vector<std::int64_t> edges() {
  std::vector<std::int64_t> values;
  for (std::int64_t v = -17; v <= 17; ++v) values.push_back(v);
  for (const std::int64_t centre :
       {std::int64_t{1} << 31, std::int64_t{1} << 32, std::int64_t{3037000499}, kPosInf / 2}) {
    for (std::int64_t d = -2; d <= 2; ++d) {
      values.push_back(centre + d);
      values.push_back(-centre + d);
    }
  }
  for (std::int64_t d = 0; d <= 3; ++d) {
    values.push_back(kPosInf - d);
    values.push_back(kNegInf + d);
  }
  return values;
}

std::vector<std::pair<std::int64_t, std::int64_t>> pairs() {
  std::vector<std::pair<std::int64_t, std::int64_t>> all;
  for (const std::int64_t a : edges())
    for (const std::int64_t b : edges()) all.emplace_back(a, b);
  return all;
}

bool fits(Wide v) { return v >= kNegInf && v <= kPosInf; }

Wide wide_floor_div(Wide a, Wide b) {
  const Wide q = a / b;
  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

// What a saturating operation must give for the exact result `v`.
std::int64_t clamped(Wide v) { return v < kNegInf ? kNegInf : v > kPosInf ? kPosInf : static_cast<std::int64_t>(v); }

TEST(IntMath, TryFormsDetectEveryOverflow) {
  for (const auto& [a, b] : pairs()) {
    SCOPED_TRACE(testing::Message() << a << ", " << b);
    std::int64_t out = 0;
    ASSERT_EQ(try_add(a, b, out), fits(Wide{a} + b));
    ASSERT_TRUE(!fits(Wide{a} + b) || Wide{out} == Wide{a} + b);
    ASSERT_EQ(try_sub(a, b, out), fits(Wide{a} - b));
    ASSERT_TRUE(!fits(Wide{a} - b) || Wide{out} == Wide{a} - b);
    ASSERT_EQ(try_mul(a, b, out), fits(Wide{a} * b));
    ASSERT_TRUE(!fits(Wide{a} * b) || Wide{out} == Wide{a} * b);
  }
}

TEST(IntMath, FloorDivisionAndModulus) {
  for (const auto& [a, b] : pairs()) {
    if (b == 0) continue;
    SCOPED_TRACE(testing::Message() << a << ", " << b);
    const Wide quotient = wide_floor_div(a, b);
    std::int64_t out = 0;
    ASSERT_EQ(try_floor_div(a, b, out), fits(quotient));
    ASSERT_TRUE(!fits(quotient) || Wide{out} == quotient);
    ASSERT_TRUE(Wide{floor_mod(a, b)} == Wide{a} - quotient * b);
  }
}

TEST(IntMath, FloorDivisionOfTheSmallest) {
  std::int64_t out = 0;
  EXPECT_FALSE(try_floor_div(kNegInf, -1, out));
  EXPECT_EQ(floor_mod(kNegInf, -1), 0);
  EXPECT_EQ(floor_div(kNegInf, kNegInf), 1);
  EXPECT_EQ(floor_div(kPosInf, kNegInf), -1);
  EXPECT_EQ(floor_mod(kPosInf, kNegInf), -1);
  EXPECT_EQ(floor_div(-7, 2), -4);
  EXPECT_EQ(floor_mod(-7, 2), 1);
  EXPECT_EQ(floor_mod(7, -2), -1);
}

TEST(IntMath, MagnitudeIsDefinedEverywhere) {
  for (const std::int64_t a : edges()) {
    const Wide expected = a < 0 ? -Wide{a} : Wide{a};
    EXPECT_TRUE(static_cast<Wide>(magnitude(a)) == expected) << a;
  }
  EXPECT_EQ(magnitude(kNegInf), std::uint64_t{1} << 63);
}

TEST(IntMath, GcdDividesBothAndIsTheGreatest) {
  for (const auto& [a, b] : pairs()) {
    if (magnitude(a) > 17 || magnitude(b) > 17) continue;
    std::int64_t expected = 0;
    for (std::int64_t d = 1; d <= 17; ++d)
      if (a % d == 0 && b % d == 0 && (a != 0 || b != 0)) expected = d;
    ASSERT_EQ(gcd(a, b), expected) << a << ", " << b;
  }
  EXPECT_EQ(gcd(0, 0), 0);
  EXPECT_EQ(gcd(0, -5), 5);
  EXPECT_EQ(gcd(kNegInf, kNegInf), 1) << "2^63 does not fit; 1 divides everything";
  EXPECT_EQ(gcd(kNegInf, 0), 1);
  EXPECT_EQ(gcd(kNegInf, std::int64_t{1} << 40), std::int64_t{1} << 40);
  EXPECT_EQ(gcd(kPosInf, kPosInf), kPosInf);
}

TEST(IntMath, SaturatingFormsClampTheExactResult) {
  for (const auto& [a, b] : pairs()) {
    if (is_inf(a) || is_inf(b)) continue;
    SCOPED_TRACE(testing::Message() << a << ", " << b);
    ASSERT_EQ(sat_add(a, b), clamped(Wide{a} + b));
    ASSERT_EQ(sat_sub(a, b), clamped(Wide{a} - b));
    ASSERT_EQ(sat_mul(a, b), clamped(Wide{a} * b));
    ASSERT_TRUE(b <= 0 || sat_floor_div(a, b) == floor_div(a, b));
  }
}

TEST(IntMath, InfinitiesAbsorb) {
  EXPECT_EQ(sat_add(kPosInf, -5), kPosInf);
  EXPECT_EQ(sat_add(-5, kNegInf), kNegInf);
  EXPECT_EQ(sat_sub(5, kNegInf), kPosInf);
  EXPECT_EQ(sat_sub(kNegInf, 5), kNegInf);
  EXPECT_EQ(sat_mul(kNegInf, -2), kPosInf);
  EXPECT_EQ(sat_mul(kNegInf, kNegInf), kPosInf);
  EXPECT_EQ(sat_mul(3, kNegInf), kNegInf);
  EXPECT_EQ(sat_mul(0, kPosInf), 0);
  EXPECT_EQ(sat_neg(kNegInf), kPosInf);
  EXPECT_EQ(sat_neg(kPosInf), kNegInf);
  EXPECT_EQ(sat_floor_div(kNegInf, 7), kNegInf);
  EXPECT_EQ(sat_floor_div(kPosInf, 7), kPosInf);
}

}  // namespace
}  // namespace strata
