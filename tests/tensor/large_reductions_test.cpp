// Reductions of 100,000 elements of each dtype: those of whole numbers are exact in what they are added up in, and
// rounded once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "strata/dtype/dtype.h"
#include "strata/tensor/tensor.h"
#include "tests/tensor/arrays.h"

namespace strata::test {
namespace {

constexpr std::int64_t kMany = 100000;

/// Whole numbers from -3 to 3, which every dtype has; without a sign from 0 on.
std::vector<double> small_numbers(DType d) {
  std::vector<double> out;
  std::uint64_t state = 1;
  for (std::int64_t k = 0; k < kMany; ++k) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto draw = static_cast<double>(state >> 33U & 0xffffU);
    out.push_back(d.is_bool() ? std::fmod(draw, 2) : std::fmod(draw, 7) - (d.is_unsigned() ? 0 : 3));
  }
  return out;
}

/// A result beside what it is in f64: to the bit, once that is rounded to the result's dtype.
void expect_rounded(const std::string& name, const Tensor& got, double want) {
  const Tensor rounded = Tensor::full({}, want, dtypes::float64).cast(got.dtype());
  EXPECT_EQ(got.buffer()[0].as_double(), rounded.buffer()[0].as_double()) << name << " of " << got.dtype().name();
}

void check_sums(const Tensor& x, const std::vector<double>& values, const std::string& where) {
  double sum = 0, squares = 0;
  for (const double v : values) sum += v, squares += v * v;
  const double count = static_cast<double>(kMany), mean = sum / count;
  expect_rounded(where + "sum", x.sum(), sum);
  expect_rounded(where + "sum of rows", x.reshape({100, 1000}).sum(1).sum(),
                 x.dtype().itemsize() == 2 && x.dtype().is_float()
                     ? x.reshape({100, 1000}).sum(1).cast(dtypes::float64).sum().item<double>()
                     : sum);
  expect_rounded(where + "sum of columns", x.reshape({10000, 10}).sum(0)[3],
                 x.cast(dtypes::float64).reshape({10000, 10}).shrink({{0, 10000}, {3, 4}}).sum().item<double>());
  expect_rounded(where + "cumsum", x.cumsum(0)[-1], sum);
  if (!x.dtype().is_float()) return;
  expect_rounded(where + "mean", x.mean(), mean);
  expect_rounded(where + "dot", x.dot(x), squares);
  expect_rounded(where + "matmul", x.reshape({1, kMany}).matmul(x.reshape({kMany, 1})).reshape({}), squares);
  const double variance = (squares - count * mean * mean) / (count - 1);
  const double last = x.dtype() == dtypes::bfloat16 ? 0.004 : x.dtype() == dtypes::float16 ? 0.0005 : 1e-5;
  EXPECT_NEAR(x.var().cast(dtypes::float64).item<double>(), variance, variance * last) << where;
  EXPECT_NEAR(x.std().cast(dtypes::float64).item<double>(), std::sqrt(variance), std::sqrt(variance) * last) << where;
  EXPECT_NEAR(x.norm().cast(dtypes::float64).item<double>(), std::sqrt(squares), std::sqrt(squares) * last) << where;
}

void check_extremes(const Tensor& x, const std::vector<double>& values, const std::string& where) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  expect_rounded(where + "max", x.max(), *high);
  expect_rounded(where + "min", x.min(), *low);
  const auto first = std::max_element(values.begin(), values.end());
  EXPECT_EQ(x.argmax().item<std::int64_t>(), first - values.begin()) << where;
  EXPECT_EQ(x.argmin().item<std::int64_t>(), std::min_element(values.begin(), values.end()) - values.begin()) << where;
  EXPECT_EQ(x.count_nonzero().item<std::int64_t>(), kMany - std::count(values.begin(), values.end(), 0.0)) << where;
  EXPECT_TRUE(x.any().item<bool>()) << where;
  EXPECT_FALSE(x.all().item<bool>()) << where;
}

/// Twos in front of ones and minus ones: what neither overflows nor rounds.
void check_product(DType d, const std::string& device, const std::string& where) {
  std::vector<double> factors(kMany, 1);
  factors[7] = factors[70007] = d.is_bool() ? 1 : 2;
  if (!d.is_bool() && !d.is_unsigned()) factors[99999] = -1;
  double want = 1;
  for (const double v : factors) want *= v;
  expect_rounded(where + "prod", f64(factors, {kMany}).to(device).cast(d).prod(), want);
  expect_rounded(where + "cumprod", f64(factors, {kMany}).to(device).cast(d).cumprod(0)[-1], want);
}

TEST(LargeReductions, OfEachDtypeAreRoundedOnce) {
  for (const DType d : dtypes::all()) {
    const std::string device(Device::default_device().name()), where = std::string(d.name()) + ": ";
    const std::vector<double> values = small_numbers(d);
    const Tensor x = f64(values, {kMany}).realize().to(device).cast(d).contiguous().realize();
    check_sums(x, values, where);
    check_extremes(x, values, where);
    check_product(d, device, where);
  }
}

TEST(LargeReductions, ArgmaxOfALongAxisIsTheFirstOfTheLargest) {
  constexpr std::int64_t n = (1 << 17) + 4101;  // blocks of 4096, and a rest
  const float nan = std::numeric_limits<float>::quiet_NaN();
  struct Put {
    std::int64_t at;
    float value;
  };
  const std::vector<std::pair<std::vector<Put>, std::int64_t>> cases = {
      {{}, 0},
      {{{4095, 1}, {4096, 1}}, 4095},
      {{{70000, 2}, {4096, 1}, {70001, 2}, {n - 1, 2}}, 70000},
      {{{n - 1, 3}, {5, 2}}, n - 1},
      {{{n - 1, nan}, {5, 2}}, n - 1},
      {{{n - 1, nan}, {9000, nan}, {9001, nan}, {5, 2}}, 9000},
      {{{n - 3, std::numeric_limits<float>::infinity()}, {n - 2, nan}}, n - 2},
  };
  for (const auto& [puts, want] : cases) {
    std::vector<float> values(n, -1);
    for (const Put& p : puts) values[static_cast<std::size_t>(p.at)] = p.value;
    const Tensor x = Tensor::from(values, {n});
    EXPECT_EQ(x.argmax().item<std::int64_t>(), want);
    EXPECT_EQ(x.neg().argmin().item<std::int64_t>(), want);
    // Along either axis, beside rows of other values.
    const Tensor rows = Tensor::stack(std::vector<Tensor>{x, x.flip(0)}, 0);
    const Tensor of_rows = rows.argmax(1), of_columns = rows.transpose(0, 1).argmax(0, true);
    EXPECT_EQ(of_rows[0].item<std::int64_t>(), want);
    EXPECT_EQ(of_columns.shape(), (Ints{1, 2}));
    EXPECT_EQ(of_columns[0][0].item<std::int64_t>(), want);
    EXPECT_EQ(of_columns[0][1].item<std::int64_t>(), of_rows[1].item<std::int64_t>());
  }
}

}  // namespace
}  // namespace strata::test
