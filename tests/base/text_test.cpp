// The natural order of names, and its 56-bit prefix.
#include "strata/base/text.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace strata {
namespace {

int sign(int v) { return (v > 0) - (v < 0); }

// Strictly rising in the natural order.
// clang-format off
const std::vector<std::string> kRising = {
    "", "0", "00", "01", "1", "2", "9", "10", "99", "100", "A", "_uidx0", "_uidx1", "a", "a0",
    "a00", "a0b", "a01", "a1", "a1b", "a1b2", "a1b10", "a2", "a10", "a123456789", "a1234567890",
    "a12345678901", "a99999999999", "ab", "gidx0", "gidx11", "idx0", "idx1", "idx2", "idx9",
    "idx10", "idx100", "idx100a", "ridx0", "x", "x_", "\xff",
};
// clang-format on

TEST(NaturalCompare, OrdersTheTable) {
  for (std::size_t i = 0; i < kRising.size(); ++i)
    for (std::size_t j = 0; j < kRising.size(); ++j)
      EXPECT_EQ(sign(natural_compare(kRising[i], kRising[j])), (i > j) - (i < j))
          << '"' << kRising[i] << "\" and \"" << kRising[j] << '"';
}

TEST(NaturalKey, NeverContradictsTheOrder) {
  for (const std::string& a : kRising)
    for (const std::string& b : kRising)
      EXPECT_TRUE(natural_key(a) >= natural_key(b) || natural_compare(a, b) < 0) << a << " and " << b;
}

TEST(NaturalKey, FitsIn56Bits) {
  for (const std::string& a : kRising) EXPECT_LT(natural_key(a), std::uint64_t{1} << 56) << a;
  EXPECT_EQ(natural_key(""), 0u);
}

std::string random_name(std::mt19937_64& random) {
  static constexpr std::string_view kAlphabet = "0001239a_z:/";
  std::string name;
  const std::size_t size = random() % 14;
  while (name.size() < size) name += kAlphabet[random() % kAlphabet.size()];
  return name;
}

TEST(NaturalCompare, IsAnOrderAndTheKeyAgreesOnRandomNames) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    const std::string a = random_name(random), b = random_name(random), c = random_name(random);
    const int ab = sign(natural_compare(a, b)), ba = sign(natural_compare(b, a));
    ASSERT_EQ(ab, -ba) << a << ", " << b;
    ASSERT_EQ(ab == 0, a == b) << a << ", " << b;
    ASSERT_TRUE(natural_key(a) >= natural_key(b) || ab < 0) << a << ", " << b;
    const bool rises = ab < 0 && natural_compare(b, c) < 0;
    ASSERT_TRUE(!rises || natural_compare(a, c) < 0) << a << ", " << b << ", " << c;
  }
}

TEST(Text, ReadsDoublesAndNothingElse) {
  EXPECT_EQ(read_double("0"), 0.0);
  EXPECT_EQ(read_double("-2.5e-3"), -0.0025);
  EXPECT_EQ(read_double("0.1"), 0.1);
  EXPECT_EQ(read_double("126e-9"), 126e-9);
  EXPECT_EQ(read_double("1.7976931348623157e308"), 1.7976931348623157e308);
  for (const char* text : {"", " 1", "1 ", "+1", "0x10", "inf", "nan", "1e999", "-1e999", "1,5", "1e", "e", ".", "-"})
    EXPECT_EQ(read_double(text), std::nullopt) << text;
  EXPECT_EQ(read_double("5e-324"), 5e-324);  // subnormal
  EXPECT_EQ(read_float("1e-45"), 1e-45F);
  EXPECT_EQ(read_float("3.4028235e38"), 3.4028235e38F);
  EXPECT_EQ(read_float("1e39"), std::nullopt);
  // One rounding: through a double it would be the middle of two floats, and the even one is the other.
  EXPECT_EQ(read_float("1.00000005960464477540"), 1.00000011920928955F);
}

}  // namespace
}  // namespace strata
