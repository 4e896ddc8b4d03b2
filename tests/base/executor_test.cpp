// @post of Executor::parallel_for: chunks of at most `grain` cover [begin, end) exactly once.
#include "strata/base/executor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

namespace strata {
namespace {

using Chunks = std::vector<std::pair<std::int64_t, std::int64_t>>;

Chunks chunks(std::int64_t begin, std::int64_t end, std::int64_t grain) {
  Chunks seen;
  SerialExecutor().parallel_for(begin, end, grain, [&](std::int64_t b, std::int64_t e) { seen.emplace_back(b, e); });
  return seen;
}

TEST(SerialExecutor, CoversTheRangeOnceInOrder) {
  for (std::int64_t begin = -5; begin <= 5; ++begin) {
    for (std::int64_t end = -6; end <= 12; ++end) {
      for (std::int64_t grain = 1; grain <= 20; ++grain) {
        std::int64_t at = begin;
        for (const auto& [b, e] : chunks(begin, end, grain)) {
          ASSERT_EQ(b, at);
          ASSERT_LT(b, e);
          ASSERT_LE(e - b, grain);
          at = e;
        }
        ASSERT_EQ(at, begin < end ? end : begin);
      }
    }
  }
}

TEST(SerialExecutor, ReachesBothEndsOfTheLine) {
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(chunks(lowest, highest, highest), (Chunks{{lowest, -1}, {-1, highest - 1}, {highest - 1, highest}}));
  EXPECT_EQ(chunks(highest - 3, highest, 2), (Chunks{{highest - 3, highest - 1}, {highest - 1, highest}}));
}

TEST(SerialExecutor, PropagatesTheFirstException) {
  int calls = 0;
  const auto body = [&](std::int64_t b, std::int64_t) {
    ++calls;
    if (b == 4) throw std::out_of_range("four");
  };
  EXPECT_THROW(SerialExecutor().parallel_for(0, 10, 2, body), std::out_of_range);
  EXPECT_EQ(calls, 3);
}

TEST(SerialExecutor, RefusesAGrainBelowOne) {
  SerialExecutor executor;
  for (const std::int64_t grain : {std::int64_t{0}, std::int64_t{-1}}) {
    try {
      executor.parallel_for(0, 10, grain, [](std::int64_t, std::int64_t) {});
      FAIL() << "did not throw";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::domain);
    }
  }
}

TEST(SerialExecutor, IsAnExecutor) {
  SerialExecutor serial;
  Executor& executor = serial;
  std::int64_t total = 0;
  executor.parallel_for(0, 100, 7, [&](std::int64_t b, std::int64_t e) {
    for (std::int64_t i = b; i < e; ++i) total += i;
  });
  EXPECT_EQ(total, 4950);
  EXPECT_EQ(executor.concurrency(), 1);
}

}  // namespace
}  // namespace strata
