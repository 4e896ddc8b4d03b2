// The order of sums: every element once, chains as short as it is said, and the same for a row whatever is around it.
#include "strata/ir/sum_order.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

namespace strata {
namespace {

std::vector<SumDigit> order_of(const std::vector<std::int64_t>& sizes) {
  Ints all;
  for (const std::int64_t size : sizes) all.push_back(size);
  return sum_order({all.data(), all.size()});
}

/// The elements that the digits name, in their order, by row-major number.
std::vector<std::int64_t> elements_of(const std::vector<std::int64_t>& sizes) {
  const std::vector<SumDigit> digits = order_of(sizes);
  std::vector<std::int64_t> out, at(sizes.size(), 0), turn(digits.size(), 0);
  for (std::size_t d = 0;;) {
    if (d == digits.size()) {
      std::int64_t flat = 0;
      for (std::size_t k = 0; k < sizes.size(); ++k) flat = flat * sizes[k] + at[k];
      out.push_back(flat);
    } else if (turn[d] < digits[d].count && at[digits[d].axis] < sizes[digits[d].axis]) {
      ++d;
      continue;
    } else {
      at[digits[d].axis] -= turn[d] * digits[d].stride;
      turn[d] = 0;
    }
    if (d == 0) return out;
    --d;
    ++turn[d];
    at[digits[d].axis] += digits[d].stride;
  }
}

TEST(SumOrder, NamesEachElementOnce) {
  std::mt19937_64 random(5);
  for (int n = 0; n < 400; ++n) {
    std::vector<std::int64_t> sizes;
    std::int64_t all = 1;
    for (std::uint64_t k = random() % 4 + 1; k > 0 && all < 20'000; --k) {
      sizes.push_back(1 + static_cast<std::int64_t>(random() % (random() % 2 == 0 ? 40 : 5000)));
      all *= sizes.back();
    }
    if (all > 200'000) continue;
    const std::vector<std::int64_t> named = elements_of(sizes);
    ASSERT_EQ(static_cast<std::int64_t>(named.size()), all) << testing::PrintToString(sizes);
    ASSERT_EQ(std::set<std::int64_t>(named.begin(), named.end()).size(), named.size());
  }
}

TEST(SumOrder, ChainsAreShort) {
  std::mt19937_64 random(6);
  for (int n = 0; n < 5000; ++n) {
    std::vector<std::int64_t> sizes;
    double logarithm = 0;
    for (std::uint64_t k = random() % 12 + 1; k > 0 && logarithm < 40; --k) {
      sizes.push_back(1 + static_cast<std::int64_t>(random() % (std::uint64_t{1} << random() % 32)));
      logarithm += std::log2(static_cast<double>(sizes.back()));
    }
    ASSERT_LE(static_cast<double>(longest_chain(order_of(sizes))), 64 + logarithm) << testing::PrintToString(sizes);
  }
}

// The bits of sums: what is here may not change.
TEST(SumOrder, IsWhatItIs) {
  const auto text = [](const std::vector<std::int64_t>& sizes) {
    std::string out;
    for (const SumDigit& d : order_of(sizes))
      out += detail::message(out.empty() ? "" : d.continues ? "+" : " ", d.axis, ":", d.stride, "x", d.count);
    return out;
  };
  EXPECT_EQ(text({}), "");
  EXPECT_EQ(text({1, 1}), "");
  EXPECT_EQ(text({3}), "0:1x3");
  EXPECT_EQ(text({7}), "0:1x4 0:4x2");
  EXPECT_EQ(text({64}), "0:1x4 0:4x4 0:16x4");
  EXPECT_EQ(text({1000}), "0:1x4 0:4x4 0:512x2 0:16x32");
  EXPECT_EQ(text({4096}), "0:1x4 0:4x4 0:512x8 0:16x32");
  EXPECT_EQ(text({10'000'000}), "0:2097152x5 0:262144x8 0:32768x8 0:4096x8 0:1x4 0:4x4 0:512x8 0:16x32");
  EXPECT_EQ(text({64, 3, 3}), "0:1x4 0:4x4 0:48x2 0:16x3+1:1x3+2:1x3");
  EXPECT_EQ(text({256, 1, 1}), text({256}));
  EXPECT_EQ(text({32, 56, 56}), "0:8x4 0:1x8 1:8x7 1:1x8 2:1x4 2:4x4 2:16x4");
  EXPECT_EQ(text({2, 32}), "0:1x2 1:1x32");
}

TEST(SumOrder, LanesGoAlongTheLastAxis) {
  const auto axis = [](const Ints& sizes) { return lane_axis_of({sizes.data(), sizes.size()}); };
  EXPECT_EQ(axis({1000}), 0);
  EXPECT_EQ(axis({8, 1000}), 1);
  EXPECT_EQ(axis({8, 1000, 1}), 1);
  EXPECT_EQ(axis({1000, 8}), -1);
  EXPECT_EQ(axis({1, 1}), -1);
}

TEST(SumOrder, SixteenBitFloatsAreAddedUpInF32) {
  EXPECT_EQ(accumulator_of(Ops::SUM, dtypes::bfloat16), dtypes::float32);
  EXPECT_EQ(accumulator_of(Ops::PROD, dtypes::float16.vec(4)), dtypes::float32.vec(4));
  EXPECT_EQ(accumulator_of(Ops::REDUCE_MAX, dtypes::float16), dtypes::float16);
  EXPECT_EQ(accumulator_of(Ops::SUM, dtypes::float64), dtypes::float64);
  EXPECT_EQ(accumulator_of(Ops::SUM, dtypes::int16), dtypes::int16);
}

}  // namespace
}  // namespace strata
