// The 16-bit floats: every pattern, every halfway point and its neighbours, against values made with ldexp.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "strata/base/check.h"
#include "strata/dtype/float_bits.h"
#include "strata/dtype/scalar.h"
#include "tests/dtype/special_values.h"

namespace strata {
namespace {

struct Half {
  DType dtype;
  int exponent_bits;
  float (*widen)(std::uint16_t);
  std::uint16_t (*from_f32)(float);
  std::uint16_t (*from_f64)(double);

  int fraction_bits() const { return 15 - exponent_bits; }
  std::uint16_t infinity() const { return static_cast<std::uint16_t>(0x7fff >> fraction_bits() << fraction_bits()); }
  // The value of a pattern up to infinity, by the definition of IEEE 754.
  double value(int bits) const {
    const int field = bits >> fraction_bits(), fraction = bits & ((1 << fraction_bits()) - 1);
    const int bias = (1 << (exponent_bits - 1)) - 1;
    if (bits == infinity()) return kInf;
    if (field == 0) return std::ldexp(fraction, 1 - bias - fraction_bits());
    return std::ldexp(fraction + (1 << fraction_bits()), field - bias - fraction_bits());
  }
  // The halfway point above a pattern; above the largest, where one more binade would go on.
  double halfway(int bits) const {
    if (bits + 1 < infinity()) return (value(bits) + value(bits + 1)) / 2;
    return value(bits) + (value(bits) - value(bits - 1)) / 2;
  }
};

class Halves : public ::testing::TestWithParam<Half> {};

TEST_P(Halves, WidenExactlyAndComeBack) {
  const Half& half = GetParam();
  for (int i = 0; i <= 0xffff; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float wide = half.widen(bits);
    const int size = i & 0x7fff;
    ASSERT_EQ(std::signbit(wide), i > 0x7fff) << i;
    if (size > half.infinity()) {
      ASSERT_TRUE(std::isnan(wide)) << i;
    } else {
      ASSERT_EQ(std::fabs(wide), half.value(size)) << i;
    }
    ASSERT_EQ(half.from_f32(wide), bits);
    ASSERT_EQ(Scalar::from_bits(half.dtype, bits).bits(), bits);
  }
}

TEST_P(Halves, RoundToNearestEven) {
  const Half& half = GetParam();
  const auto check = [&](double v, int want) {
    ASSERT_EQ(half.from_f64(v), want) << v;
    ASSERT_EQ(half.from_f64(-v), want | 0x8000) << -v;
    ASSERT_EQ(Scalar::of(half.dtype, v).bits(), static_cast<std::uint64_t>(want)) << v;
  };
  const auto check_single = [&](float v, int want) {
    ASSERT_EQ(half.from_f32(v), want) << v;
    ASSERT_EQ(half.from_f32(-v), want | 0x8000) << -v;
  };
  for (int i = 0; i < half.infinity(); ++i) {
    const double exact = half.value(i), middle = half.halfway(i);
    const int even = i + (i & 1);
    check(exact, i);
    check(std::nextafter(exact, kInf), i);
    check(std::nextafter(middle, 0), i);
    check(middle, even);
    check(std::nextafter(middle, kInf), i + 1);
    check(std::nextafter(half.value(i + 1), 0), i + 1);
    const float single = static_cast<float>(middle), inf = static_cast<float>(kInf);
    ASSERT_EQ(single, middle);
    check_single(static_cast<float>(exact), i);
    check_single(std::nextafter(single, 0.0F), i);
    check_single(single, even);
    check_single(std::nextafter(single, inf), i + 1);
  }
  check(kInf, half.infinity());
}

TEST_P(Halves, RoundAnyDoubleToTheNearest) {
  const Half& half = GetParam();
  std::vector<double> middles;
  for (int i = 0; i < half.infinity(); ++i) middles.push_back(half.halfway(i));
  constexpr std::uint64_t seed = 7;
  SCOPED_TRACE(detail::message("seed ", seed));
  std::mt19937_64 random(seed);
  const int top = std::ilogb(highest(half.dtype)) + 2, bottom = half.dtype.min_exponent() - 14;
  for (int k = 0; k < 100'000; ++k) {
    const auto field = bottom + static_cast<int>(random() % static_cast<unsigned>(top - bottom));
    const double v = std::ldexp(1.0 + std::ldexp(static_cast<double>(random() >> 12), -52), field);
    // No halfway point has the 52 random bits but with a probability of 2^-40.
    const auto at = std::lower_bound(middles.begin(), middles.end(), v) - middles.begin();
    ASSERT_EQ(half.from_f64(v), at) << v;
  }
  for (double v : {std::numeric_limits<double>::max(), 1e300}) EXPECT_EQ(half.from_f64(v), half.infinity());
  for (double v : {std::numeric_limits<double>::denorm_min(), 1e-300, 0.0}) EXPECT_EQ(half.from_f64(v), 0);
  EXPECT_EQ(half.from_f64(-0.0), 0x8000);
}

TEST_P(Halves, KeepNaN) {
  const Half& half = GetParam();
  const auto is_nan = [&](int bits) { return (bits & 0x7fff) > half.infinity(); };
  EXPECT_TRUE(is_nan(half.from_f64(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_TRUE(is_nan(half.from_f32(std::numeric_limits<float>::quiet_NaN())));
  // A payload in the low bits only must not become infinity.
  EXPECT_TRUE(is_nan(half.from_f64(std::bit_cast<double>(0x7ff0000000000001U))));
  EXPECT_TRUE(is_nan(half.from_f32(std::bit_cast<float>(0x7f800001U))));
  EXPECT_TRUE(is_nan(half.from_f64(std::bit_cast<double>(0xfff0000000000001U))));
  EXPECT_EQ(half.from_f64(std::bit_cast<double>(0xfff0000000000001U)) >> 15, 1);
}

INSTANTIATE_TEST_SUITE_P(Formats, Halves,
                         ::testing::Values(Half{dtypes::float16, 5, f16_to_f32, f32_to_f16, f64_to_f16},
                                           Half{dtypes::bfloat16, 8, bf16_to_f32, f32_to_bf16, f64_to_bf16}),
                         [](const auto& test) { return test.param.dtype.name(); });

TEST(Convert, RoundsOnceFromDouble) {
  // By way of f32 these would become ties, and go down to even.
  EXPECT_EQ(f64_to_f16(1 + 0x1p-11 + 0x1p-40), 0x3c01);
  EXPECT_EQ(f32_to_f16(static_cast<float>(1 + 0x1p-11 + 0x1p-40)), 0x3c00);
  EXPECT_EQ(f64_to_bf16(1 + 0x1p-8 + 0x1p-40), 0x3f81);
  EXPECT_EQ(f32_to_bf16(static_cast<float>(1 + 0x1p-8 + 0x1p-40)), 0x3f80);
  EXPECT_EQ(f64_to_f16(0x1p-25 + 0x1p-70), 0x0001);
}

// All 64 bits of a significand below the least subnormal: more than its half, its half, less.
TEST(Convert, RoundsWhatIsDroppedWhole) {
  constexpr FloatFormat f16 = float_format(dtypes::float16);
  constexpr std::uint64_t top = std::uint64_t{1} << 63;
  static_assert(round_to_float(top + 1, f16.quantum() - 64, f16) == 1);
  static_assert(round_to_float(top, f16.quantum() - 64, f16) == 0);
  static_assert(round_to_float(top + 1, f16.quantum() - 65, f16) == 0);
  static_assert(round_to_float(top + 1, f16.quantum() - 63, f16) == 1);
  static_assert(round_to_float(3 * (top / 2), f16.quantum() - 63, f16) == 2);
}

// The processor's own rounding from f64 to f32, where the value is in range.
TEST(Convert, RoundsToSingle) {
  constexpr std::uint64_t seed = 11;
  SCOPED_TRACE(detail::message("seed ", seed));
  std::mt19937_64 random(seed);
  for (int k = 0; k < 200'000; ++k) {
    const int exponent = static_cast<int>(random() % 290) - 163;
    const double fraction = std::ldexp(static_cast<double>(random() >> 12), -52);
    const double v = std::ldexp(k % 2 == 0 ? 1 + fraction : -1 - fraction, exponent);
    ASSERT_EQ(Scalar::of(dtypes::float32, v).bits(), std::bit_cast<std::uint32_t>(static_cast<float>(v))) << v;
  }
  const double largest = std::numeric_limits<float>::max(), past = largest + 0x1p103;
  EXPECT_EQ(Scalar::of(dtypes::float32, std::nextafter(past, 0)).as_double(), largest);
  EXPECT_EQ(Scalar::of(dtypes::float32, past).as_double(), kInf);
  EXPECT_EQ(Scalar::of(dtypes::float32, -past).as_double(), -kInf);
}

}  // namespace
}  // namespace strata
