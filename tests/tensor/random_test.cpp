// Random numbers: the published function, the same everywhere, distributed as they say.

#include "strata/tensor/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace strata::test {
namespace {

/// Threefry-2x32-20 on the host, written from the paper.
std::pair<std::uint32_t, std::uint32_t> threefry(std::uint64_t counter, std::uint64_t seed) {
  const unsigned rotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  const auto k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  const std::uint32_t keys[3] = {k0, k1, k0 ^ k1 ^ 0x1BD11BDAU};
  std::uint32_t x = static_cast<std::uint32_t>(counter) + k0, y = static_cast<std::uint32_t>(counter >> 32) + k1;
  for (unsigned r = 0; r < 20; ++r) {
    x += y;
    y = (y << rotations[r % 8]) | (y >> (32 - rotations[r % 8]));
    y ^= x;
    if (r % 4 == 3) x += keys[(r / 4 + 1) % 3], y += keys[(r / 4 + 2) % 3] + r / 4 + 1;
  }
  return {x, y};
}

std::vector<float> drawn(const char* device, std::uint64_t seed, std::int64_t count) {
  return rand({count}, dtypes::float32, Generator(seed)).to(device).to_vector<float>();
}

TEST(Random, IsThePublishedFunction) {
  EXPECT_EQ(threefry(0, 0), (std::pair<std::uint32_t, std::uint32_t>{0x6b200159U, 0x99ba4efeU}));  // known answer
  const std::vector<float> numbers = drawn("INTERP", 0x123456789abcdefU, 100);
  for (std::size_t k = 0; k < numbers.size(); ++k)
    EXPECT_EQ(numbers[k], static_cast<float>(threefry(k, 0x123456789abcdefU).first >> 8) * 0x1p-24F);
}

TEST(Random, IsTheSameOnEveryDevice) {
  const std::vector<float> expected = drawn("INTERP", 7, 1000);
  for (const Device* device : Device::all()) {
    if (!device->missing().empty() || device->name() == "NULL") continue;
    EXPECT_EQ(drawn(std::string(device->name()).c_str(), 7, 1000), expected) << device->name();
  }
}

TEST(Random, GoesOnAndBeginsAgain) {
  Generator g(3);
  const std::vector<float> first = rand({5}, dtypes::float32, g).to_vector<float>();
  const std::vector<float> second = rand({5}, dtypes::float32, g).to_vector<float>();
  EXPECT_NE(first, second);
  g.manual_seed(3);
  std::vector<float> both = rand({10}, dtypes::float32, g).to_vector<float>();
  EXPECT_TRUE(std::equal(first.begin(), first.end(), both.begin()));
  EXPECT_TRUE(std::equal(second.begin(), second.end(), both.begin() + 5));
}

TEST(Random, IsDrawnWhenItIsWritten) {
  Generator g(3);
  const Tensor a = rand({4}, dtypes::float32, g), b = rand({4}, dtypes::float32, g);
  const std::vector<float> later = b.to_vector<float>(), sooner = a.to_vector<float>();
  g.manual_seed(3);
  EXPECT_EQ(rand({4}, dtypes::float32, g).to_vector<float>(), sooner);
  EXPECT_EQ(rand({4}, dtypes::float32, g).to_vector<float>(), later);
}

struct Distribution {
  double mean, deviation, low, high;
};
Distribution distribution(const std::vector<double>& x) {
  Distribution out{0, 0, x[0], x[0]};
  for (const double v : x)
    out.mean += v / static_cast<double>(x.size()), out.low = std::min(out.low, v), out.high = std::max(out.high, v);
  for (const double v : x) out.deviation += (v - out.mean) * (v - out.mean) / static_cast<double>(x.size());
  out.deviation = std::sqrt(out.deviation);
  return out;
}

TEST(Random, IsDistributedAsItSays) {
  for (const DType d : {dtypes::float16, dtypes::bfloat16, dtypes::float32, dtypes::float64}) {
    const Distribution u = distribution(rand({20000}, d, Generator(1)).cast(dtypes::float64).to_vector<double>());
    EXPECT_NEAR(u.mean, 0.5, 0.01) << d.name();
    EXPECT_NEAR(u.deviation, std::sqrt(1 / 12.0), 0.01) << d.name();
    EXPECT_GE(u.low, 0);
    EXPECT_LT(u.high, 1) << d.name();
    const Distribution n = distribution(randn({20000}, d, Generator(2)).cast(dtypes::float64).to_vector<double>());
    EXPECT_NEAR(n.mean, 0, 0.03) << d.name();
    EXPECT_NEAR(n.deviation, 1, 0.03) << d.name();
  }
  const Distribution i =
      distribution(randint(-3, 4, {20000}, dtypes::int64, Generator(4)).cast(dtypes::float64).to_vector<double>());
  EXPECT_NEAR(i.mean, 0, 0.05);
  EXPECT_EQ(i.low, -3);
  EXPECT_EQ(i.high, 3);
  const Distribution wide = distribution(
      randint(INT64_MIN, INT64_MAX, {2000}, dtypes::int64, Generator(4)).cast(dtypes::float64).to_vector<double>());
  EXPECT_LT(wide.low, -9e18);
  EXPECT_GT(wide.high, 9e18);
  EXPECT_NEAR(bernoulli(Tensor::full({20000}, 0.3), Generator(5)).mean().item(), 0.3, 0.02);
}

TEST(Random, OnlyWhatHasAWeightIsDrawn) {
  const Tensor known = Tensor::from(std::vector<double>{0, 2, -1, NAN, 0, 0, -3, NAN}, {2, 4});
  const Tensor rows = known + 0;  // what is to be computed is not looked at
  EXPECT_EQ(multinomial(rows, 3, true, Generator(1)).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{1, 1, 1, -1, -1, -1}));
  EXPECT_EQ(multinomial(rows, 2, false, Generator(1)).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{1, -1, -1, -1}));
  EXPECT_THROW(multinomial(known, 3, true), Error);
  EXPECT_THROW(multinomial(Tensor::zeros({2, 4}), 1), Error);
}

TEST(Random, DropoutKeepsTheMean) {
  const Tensor x = Tensor::ones({20000});
  const std::vector<float> y = dropout(x, 0.25, true, Generator(6)).to_vector<float>();
  const auto zeros = std::count(y.begin(), y.end(), 0.0F);
  EXPECT_NEAR(static_cast<double>(zeros) / 20000, 0.25, 0.02);
  EXPECT_EQ(static_cast<std::size_t>(zeros + std::count(y.begin(), y.end(), 1 / 0.75F)), y.size());
  EXPECT_EQ(dropout(x, 0.25, false).node(), x.node());
  EXPECT_THROW(dropout(x, 1.5), Error);
  EXPECT_THROW(rand({2}, dtypes::int32), Error);
  EXPECT_THROW(randint(3, 3, {2}), Error);
}

}  // namespace
}  // namespace strata::test
