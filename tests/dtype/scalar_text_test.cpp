// Scalars as text: the forms, that it reads back, and that fewer digits would not.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>

#include "strata/base/check.h"
#include "strata/dtype/scalar.h"
#include "tests/dtype/special_values.h"

namespace strata {
namespace {

TEST(ScalarText, OfIntegersAndBools) {
  const auto check = [](DType dtype, std::int64_t v, std::string_view want) {
    EXPECT_EQ(Scalar::of(dtype, v).text(), want);
  };
  check(dtypes::boolean, 0, "False");
  check(dtypes::boolean, 7, "True");
  check(dtypes::int8, -128, "-128");
  check(dtypes::uint8, -1, "255");
  check(dtypes::int32, 3, "3");
  check(dtypes::int64, std::numeric_limits<std::int64_t>::min(), "-9223372036854775808");
  check(dtypes::uint64, -1, "18446744073709551615");
}

TEST(ScalarText, OfFloats) {
  const auto check = [](DType dtype, double v, std::string_view want) {
    EXPECT_EQ(Scalar::of(dtype, v).text(), want) << dtype.name() << " " << v;
  };
  for (DType dtype : {dtypes::float16, dtypes::bfloat16, dtypes::float32, dtypes::float64}) {
    check(dtype, 0, "0.0");
    check(dtype, -0.0, "-0.0");
    check(dtype, 2, "2.0");
    check(dtype, -2, "-2.0");
    check(dtype, 0.5, "0.5");
    check(dtype, 0.1, "0.1");
    check(dtype, -1.5, "-1.5");
    check(dtype, kInf, "inf");
    check(dtype, -kInf, "-inf");
    check(dtype, std::numeric_limits<double>::quiet_NaN(), "nan");
    check(dtype, -std::numeric_limits<double>::quiet_NaN(), "nan");
  }
  check(dtypes::float32, 1.0 / 3, "0.33333334");
  check(dtypes::float32, 1e-45, "1e-45");
  check(dtypes::float32, 1e10, "1e+10");
  check(dtypes::float32, 3.4028234663852886e38, "3.4028235e+38");
  check(dtypes::float32, 0x1p24, "16777216.0");
  check(dtypes::float64, 1.0 / 3, "0.3333333333333333");
  check(dtypes::float64, 5e-324, "5e-324");
  check(dtypes::float64, 123456, "123456.0");
  check(dtypes::float16, 1.0 / 3, "0.3333");
  check(dtypes::float16, 65504, "65500.0");
  check(dtypes::float16, 0x1p-24, "6e-08");
  check(dtypes::float16, 1.0009765625, "1.001");
  check(dtypes::bfloat16, 1.0 / 3, "0.334");
  check(dtypes::bfloat16, 0x1p-133, "9e-41");
  check(dtypes::bfloat16, 0x1.fep127, "3.39e+38");
}

// The digits of a decimal text, without the zeros at its ends.
int count_digits(const std::string& text) {
  std::string digits;
  for (char c : text.substr(0, text.find('e')))
    if (c >= '0' && c <= '9') digits += c;
  const std::size_t first = digits.find_first_not_of('0');
  return first == std::string::npos ? 1 : static_cast<int>(digits.find_last_not_of('0') - first) + 1;
}

// Whether a decimal of so many digits next to `v` reads back as it: the nearest, and those beside it.
bool reads_back(double v, int digits, std::uint16_t (*narrow)(double)) {
  std::array<char, 64> buffer{};
  (void)std::snprintf(buffer.data(), buffer.size(), "%.*e", digits - 1, v);
  std::string number(buffer.data());
  const int exponent = std::atoi(number.c_str() + number.find('e') + 1) - (digits - 1);
  number.resize(number.find('e'));
  std::erase(number, '.');
  for (int step : {-1, 0, 1}) {
    const std::string text = detail::message(std::atoi(number.c_str()) + step, "e", exponent);
    if (narrow(std::strtod(text.c_str(), nullptr)) == narrow(v)) return true;
  }
  return false;
}

void check_all(DType dtype, std::uint16_t (*narrow)(double)) {
  for (std::uint16_t bits = 0; bits < 0x8000; ++bits) {
    const Scalar s = Scalar::from_bits(dtype, bits);
    const std::string text = s.text();
    if (s.is_nan()) {
      ASSERT_EQ(text, "nan");
      continue;
    }
    ASSERT_EQ(Scalar::from_bits(dtype, bits | 0x8000U).text(), "-" + text);
    ASSERT_EQ(narrow(std::strtod(text.c_str(), nullptr)), bits) << text;
    if (s.as_double() == kInf) continue;
    ASSERT_NE(text.find_first_of(".e"), std::string::npos) << text;
    const int digits = count_digits(text);
    ASSERT_TRUE(digits == 1 || !reads_back(s.as_double(), digits - 1, narrow)) << text;
  }
}

TEST(ScalarText, OfAllF16IsShortest) { check_all(dtypes::float16, f64_to_f16); }
TEST(ScalarText, OfAllBf16IsShortest) { check_all(dtypes::bfloat16, f64_to_bf16); }

TEST(ScalarText, OfSingleAndDoubleReadsBack) {
  constexpr std::uint64_t seed = 3;
  SCOPED_TRACE(detail::message("seed ", seed));
  std::mt19937_64 random(seed);
  for (int k = 0; k < 20'000; ++k) {
    const Scalar f = Scalar::from_bits(dtypes::float32, random());
    if (!f.is_nan()) {
      ASSERT_EQ(Scalar(std::strtof(f.text().c_str(), nullptr)), f) << f.text();
    }
    const Scalar d = Scalar::from_bits(dtypes::float64, random());
    if (!d.is_nan()) {
      ASSERT_EQ(Scalar(std::strtod(d.text().c_str(), nullptr)), d) << d.text();
    }
  }
}

}  // namespace
}  // namespace strata
