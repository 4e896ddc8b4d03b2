// Typed scalars: wrapping, saturation, rounding, bits, and distances in units of the last place.
#include "strata/dtype/scalar.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "strata/base/check.h"
#include "tests/dtype/special_values.h"

namespace strata {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kMostUnsigned = std::numeric_limits<std::uint64_t>::max();

TEST(Scalar, HasTheDtypeOfItsValue) {
  EXPECT_EQ(Scalar().dtype(), dtypes::boolean);
  EXPECT_FALSE(Scalar().as_bool());
  EXPECT_EQ(Scalar(true).dtype(), dtypes::boolean);
  EXPECT_EQ(Scalar(1).dtype(), dtypes::int32);
  EXPECT_EQ(Scalar(std::int64_t{1}).dtype(), dtypes::int64);
  EXPECT_EQ(Scalar(1.0F).dtype(), dtypes::float32);
  EXPECT_EQ(Scalar(1.0).dtype(), dtypes::float64);
  EXPECT_EQ(Scalar(std::numeric_limits<int>::min()).as_int(), std::numeric_limits<int>::min());
  EXPECT_EQ(Scalar(kLeast).as_int(), kLeast);
  EXPECT_EQ(Scalar(0.1F).as_double(), static_cast<double>(0.1F));
  EXPECT_EQ(Scalar(0.1).as_double(), 0.1);
}

TEST(Scalar, ComparesByDtypeAndBits) {
  EXPECT_EQ(Scalar(kNaN), Scalar(kNaN));
  EXPECT_FALSE(Scalar(0.0) == Scalar(-0.0));
  EXPECT_FALSE(Scalar(1.0) == Scalar(1.0F));
  EXPECT_FALSE(Scalar(1) == Scalar(true));
  EXPECT_EQ(Scalar(1.5F), Scalar::of(dtypes::float32, 1.5));
}

TEST(Scalar, WrapsIntegers) {
  const auto check = [](DType dtype, std::int64_t v, std::int64_t want) {
    EXPECT_EQ(Scalar::of(dtype, v).as_int(), want) << dtype.name() << " " << v;
    EXPECT_EQ(Scalar(v).cast(dtype).as_int(), want) << dtype.name() << " " << v;
  };
  check(dtypes::int8, 127, 127);
  check(dtypes::int8, 128, -128);
  check(dtypes::int8, 200, -56);
  check(dtypes::int8, -129, 127);
  check(dtypes::uint8, -1, 255);
  check(dtypes::uint8, 300, 44);
  check(dtypes::int16, 0x18000, -0x8000);
  check(dtypes::uint16, kLeast, 0);
  check(dtypes::int32, std::int64_t{1} << 31, std::numeric_limits<int>::min());
  check(dtypes::int32, kMost, -1);
  check(dtypes::uint32, -1, 0xffffffff);
  check(dtypes::uint64, -1, -1);
  check(dtypes::int64, kLeast, kLeast);
  check(dtypes::boolean, 256, 1);
  check(dtypes::boolean, kLeast, 1);
  check(dtypes::boolean, 0, 0);
  EXPECT_EQ(Scalar::of(dtypes::uint64, std::int64_t{-1}).as_uint(), kMostUnsigned);
  EXPECT_EQ(Scalar::of(dtypes::int8, kMostUnsigned).as_int(), -1);
  EXPECT_EQ(Scalar::of(dtypes::int64, kMostUnsigned).as_int(), -1);
  EXPECT_EQ(Scalar::of(dtypes::boolean, kMostUnsigned).as_int(), 1);
}

// Both paths of one value: as f64, and as f32 where it is one.
void check_truncation(DType dtype, double v, std::int64_t want) {
  EXPECT_EQ(Scalar::of(dtype, v).as_int(), want) << dtype.name() << " " << v;
  const Scalar single = Scalar::of(dtypes::float32, v);
  if (!std::isnan(v) && single.as_double() != v) return;
  EXPECT_EQ(single.cast(dtype).as_int(), want) << dtype.name() << " " << v;
}

TEST(Scalar, TruncatesAndSaturatesNarrowIntegers) {
  for (DType dtype : dtypes::all()) {
    if (!dtype.is_int() || dtype.bits() == 64) continue;
    const auto low = static_cast<std::int64_t>(lowest(dtype)), high = static_cast<std::int64_t>(highest(dtype));
    const auto check = [&](double v) {
      const double whole = std::trunc(v);
      const bool under = whole <= lowest(dtype), over = whole >= highest(dtype);
      check_truncation(dtype, v, under ? low : over ? high : static_cast<std::int64_t>(whole));
    };
    for (double end : {lowest(dtype) - 1, lowest(dtype), highest(dtype), highest(dtype) + 1, 0.0, 1.0, -1.0})
      for (double off : {0.0, 0.25, -0.25, 0.5, -0.5, 0.75, -0.75}) {
        const auto single = static_cast<float>(end + off);
        check(end + off);
        check(std::nextafter(end + off, kInf));
        check(std::nextafter(end + off, -kInf));
        check(static_cast<double>(std::nextafter(single, std::numeric_limits<float>::max())));
        check(static_cast<double>(std::nextafter(single, std::numeric_limits<float>::lowest())));
      }
    for (double v : {1e10, 1e19, 1e300, kInf}) {
      check(v);
      check(-v);
    }
    check_truncation(dtype, kNaN, 0);
  }
}

TEST(Scalar, TruncatesAndSaturatesWideIntegers) {
  const auto i64 = [](double v, std::int64_t want) { check_truncation(dtypes::int64, v, want); };
  const auto u64 = [](double v, std::uint64_t want) {
    check_truncation(dtypes::uint64, v, static_cast<std::int64_t>(want));
  };
  i64(0x1p63, kMost);
  i64(std::nextafter(0x1p63, 0), kMost - 1023);
  i64(std::nextafter(0x1p63F, 0.0F), kMost - (std::int64_t{1} << 39) + 1);
  i64(std::nextafter(0x1p63, kInf), kMost);
  i64(-0x1p63, kLeast);
  i64(std::nextafter(-0x1p63, 0), kLeast + 1024);
  i64(std::nextafter(-0x1p63F, 0.0F), kLeast + (std::int64_t{1} << 39));
  i64(std::nextafter(-0x1p63, -kInf), kLeast);
  u64(0x1p64, kMostUnsigned);
  u64(std::nextafter(0x1p64, 0), kMostUnsigned - 2047);
  u64(std::nextafter(0x1p64F, 0.0F), kMostUnsigned - (std::uint64_t{1} << 40) + 1);
  u64(std::nextafter(0x1p64, kInf), kMostUnsigned);
  u64(0x1p63, std::uint64_t{1} << 63);
  u64(-0x1p63, 0);
  for (double v : {-1.0, -0.5, -0.0, 0.0, 0.5, std::nextafter(1.0, 0.0)}) u64(v, 0);
  for (double v : {-0.5, -0.0, 0.0, 0.5, std::nextafter(-1.0, 0.0)}) i64(v, 0);
  i64(-1.5, -1);
  i64(kInf, kMost);
  i64(-kInf, kLeast);
  i64(kNaN, 0);
  u64(kInf, kMostUnsigned);
  u64(-kInf, 0);
  u64(kNaN, 0);
}

TEST(Scalar, IsTrueUnlessZero) {
  for (double v : {1.0, -1.0, 1e-300, kInf, -kInf, kNaN}) EXPECT_TRUE(Scalar(v).as_bool()) << v;
  for (double v : {0.0, -0.0}) EXPECT_FALSE(Scalar(v).as_bool()) << v;
  EXPECT_TRUE(Scalar::from_bits(dtypes::float16, 1).as_bool());
  EXPECT_EQ(Scalar(true).as_double(), 1);
  EXPECT_EQ(Scalar(true).cast(dtypes::bfloat16).bits(), 0x3f80U);
}

// An integer becomes a float in one step: by way of f64 the ties below would go down.
TEST(Scalar, RoundsIntegersOnce) {
  const std::uint64_t top = std::uint64_t{1} << 63;
  const auto check = [](DType dtype, std::uint64_t v, double want) {
    EXPECT_EQ(Scalar::of(dtype, v).as_double(), want) << dtype.name() << " " << v;
    const auto half = static_cast<std::int64_t>(v / 2);
    if (v % 2 != 0 || std::isinf(want)) return;
    EXPECT_EQ(Scalar::of(dtype, half).as_double(), want / 2) << dtype.name() << " " << half;
    EXPECT_EQ(Scalar::of(dtype, -half).as_double(), -want / 2) << dtype.name() << " " << half;
  };
  check(dtypes::float32, (1 << 24) + 1, 0x1p24);
  check(dtypes::float32, (1 << 24) + 3, 0x1p24 + 4);
  check(dtypes::float32, top + (std::uint64_t{1} << 39), 0x1p63);
  check(dtypes::float32, top + (std::uint64_t{1} << 39) + 2, 0x1p63 + 0x1p40);
  check(dtypes::float32, kMostUnsigned, 0x1p64);
  check(dtypes::bfloat16, top + (std::uint64_t{1} << 55), 0x1p63);
  check(dtypes::bfloat16, top + (std::uint64_t{1} << 55) + 2, 0x1p63 + 0x1p56);
  check(dtypes::float64, top + 1024, 0x1p63);
  check(dtypes::float64, top + 1026, 0x1p63 + 2048);
  check(dtypes::float64, kMostUnsigned, 0x1p64);
  check(dtypes::float16, 2049, 2048);
  check(dtypes::float16, 2051, 2052);
  check(dtypes::float16, 65519, 65504);
  check(dtypes::float16, 65520, kInf);
  check(dtypes::float16, kMostUnsigned, kInf);
  EXPECT_EQ(Scalar::of(dtypes::float16, kLeast).as_double(), -kInf);
  EXPECT_EQ(Scalar::of(dtypes::float32, kLeast).as_double(), -0x1p63);
}

TEST(Scalar, RoundsIntegersAsTheProcessor) {
  constexpr std::uint64_t seed = 5;
  SCOPED_TRACE(detail::message("seed ", seed));
  std::mt19937_64 random(seed);
  for (int k = 0; k < 100'000; ++k) {
    const std::uint64_t u = random() >> (random() % 64);
    const auto i = static_cast<std::int64_t>(random()) >> (random() % 64);
    ASSERT_EQ(Scalar::of(dtypes::float32, u), Scalar(static_cast<float>(u))) << u;
    ASSERT_EQ(Scalar::of(dtypes::float64, u), Scalar(static_cast<double>(u))) << u;
    ASSERT_EQ(Scalar::of(dtypes::float32, i), Scalar(static_cast<float>(i))) << i;
    ASSERT_EQ(Scalar::of(dtypes::float64, i), Scalar(static_cast<double>(i))) << i;
  }
}

TEST(Scalar, KeepsItsBits) {
  for (DType dtype : dtypes::all()) {
    if (dtype.bits() > 16 || dtype.is_bool()) continue;
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << dtype.bits(); ++bits) {
      const Scalar s = Scalar::from_bits(dtype, bits | 0xabcd'0000'0000'0000U);
      ASSERT_EQ(s.bits(), bits) << dtype.name();
      ASSERT_EQ(s.cast(dtype), s) << dtype.name();
      ASSERT_EQ(s.bitcast(dtype.bits() == 8 ? dtypes::int8 : dtypes::bfloat16).bits(), bits);
    }
  }
  // Signalling and quiet NaN of either sign, infinities, subnormals, zeros.
  for (std::uint64_t bits : {0x7f800001U, 0xff800001U, 0x7fc00000U, 0xffffffffU, 0x7f800000U, 0xff800000U, 1U,
                             0x807fffffU, 0x00800000U, 0x80000000U, 0U}) {
    EXPECT_EQ(Scalar::from_bits(dtypes::float32, bits).bits(), bits);
    EXPECT_EQ(Scalar(std::bit_cast<float>(static_cast<std::uint32_t>(bits))).bits(), bits);
  }
  for (std::uint64_t bits : {0x7ff0000000000001U, 0xffffffffffffffffU, 0x8000000000000000U})
    EXPECT_EQ(Scalar::from_bits(dtypes::float64, bits).bits(), bits);
  EXPECT_EQ(Scalar::from_bits(dtypes::boolean, 2), Scalar(true));
  EXPECT_EQ(Scalar::from_bits(dtypes::boolean, 256), Scalar(false));
}

TEST(Scalar, Bitcasts) {
  EXPECT_EQ(Scalar(1.0F).bitcast(dtypes::int32), Scalar(0x3f800000));
  EXPECT_EQ(Scalar(-1).bitcast(dtypes::uint32).as_uint(), 0xffffffffU);
  EXPECT_EQ(Scalar(0x3f800000).bitcast(dtypes::float32), Scalar(1.0F));
  EXPECT_EQ(Scalar::of(dtypes::uint8, std::int64_t{7}).bitcast(dtypes::boolean), Scalar(true));
  EXPECT_THROW((void)Scalar(1).bitcast(dtypes::int64), Error);
  EXPECT_THROW((void)Scalar(1).bitcast(dtypes::int32.vec(2)), Error);
}

TEST(Scalar, RefusesWhatIsNoScalarDtype) {
  const DType f = dtypes::float32;
  for (DType dtype : {dtypes::none, f.vec(2), f.pointer()}) {
    EXPECT_THROW((void)Scalar::of(dtype, 1.0), Error);
    EXPECT_THROW((void)Scalar::of(dtype, std::int64_t{1}), Error);
    EXPECT_THROW((void)Scalar::of(dtype, std::uint64_t{1}), Error);
    EXPECT_THROW((void)Scalar::from_bits(dtype, 1), Error);
    EXPECT_THROW((void)Scalar(1).cast(dtype), Error);
    EXPECT_THROW((void)load_scalar(dtype, &f), Error);
  }
}

TEST(Scalar, LivesInMemoryUnaligned) {
  for (DType dtype : dtypes::all()) {
    const Scalar s = Scalar::of(dtype, std::int64_t{-3});
    std::array<unsigned char, 16> bytes{};
    bytes.fill(0x5a);
    store_scalar(s, bytes.data() + 1);
    EXPECT_EQ(load_scalar(dtype, bytes.data() + 1), s) << dtype.name();
    EXPECT_EQ(bytes[0], 0x5a);
    EXPECT_EQ(bytes[1 + dtype.itemsize()], 0x5a) << dtype.name();
  }
  const double v = -1.25;
  const std::int16_t i = -2;
  EXPECT_EQ(load_scalar(dtypes::float64, &v), Scalar(v));
  EXPECT_EQ(load_scalar(dtypes::int16, &i).as_int(), -2);
  const unsigned char two = 2;
  EXPECT_EQ(load_scalar(dtypes::boolean, &two), Scalar(true));
}

TEST(Scalar, CountsUnitsOfTheLastPlace) {
  const auto check = [](DType dtype, double a, double b, std::uint64_t want) {
    const Scalar x = Scalar::of(dtype, a), y = Scalar::of(dtype, b);
    EXPECT_EQ(ulp_distance(x, y), want) << dtype.name() << " " << a << " " << b;
    EXPECT_EQ(ulp_distance(y, x), want) << dtype.name() << " " << a << " " << b;
  };
  for (DType dtype : {dtypes::float16, dtypes::bfloat16, dtypes::float32, dtypes::float64}) {
    const int digits = dtype.significand_bits();
    const double ulp = std::ldexp(1, 1 - digits);
    const double least = std::ldexp(1, dtype.min_exponent() - digits + 1);
    const std::uint64_t subnormals = std::uint64_t{1} << (digits - 1);
    check(dtype, 0.0, -0.0, 0);
    check(dtype, 1, 1, 0);
    check(dtype, 1, 1 + ulp, 1);
    check(dtype, 1, 1 - ulp / 2, 1);
    check(dtype, 1, 2, subnormals);
    check(dtype, -1, -2, subnormals);
    check(dtype, 0, least, 1);
    check(dtype, -0.0, least, 1);
    check(dtype, least, -least, 2);
    check(dtype, 3 * least, -2 * least, 5);
    check(dtype, 0, std::ldexp(1, dtype.min_exponent()), subnormals);
    check(dtype, highest(dtype), kInf, 1);
    check(dtype, lowest(dtype), -kInf, 1);
    check(dtype, kInf, -kInf, 2 * Scalar::of(dtype, kInf).bits());
    check(dtype, kNaN, kNaN, 0);
    check(dtype, kNaN, -kNaN, 0);
    check(dtype, kNaN, 0, kMostUnsigned);
    check(dtype, kNaN, kInf, kMostUnsigned);
  }
  EXPECT_THROW((void)ulp_distance(Scalar(1.0), Scalar(1.0F)), Error);
  EXPECT_THROW((void)ulp_distance(Scalar(1), Scalar(1)), Error);
}

}  // namespace
}  // namespace strata
