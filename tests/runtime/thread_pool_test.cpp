// The pool of a child of fork(): @post of Executor::parallel_for, exceptions, nested use, many callers.
#include "strata/runtime/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

namespace strata {
namespace {

TEST(ThreadPool, CoversTheRangeOnce) {
  for (const int count : {1, 2, 5}) {
    ThreadPool pool(count);
    EXPECT_EQ(pool.concurrency(), count);
    for (const std::int64_t n : {0, 1, 2, 7, 1000})
      for (const std::int64_t grain : {1, 3, 1000}) {
        std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
        pool.parallel_for(5, 5 + n, grain, [&](std::int64_t b, std::int64_t e) {
          EXPECT_LT(b, e);
          EXPECT_LE(e - b, grain);
          for (; b < e; ++b) ++seen[static_cast<std::size_t>(b - 5)];
        });
        for (const std::atomic<int>& times : seen) EXPECT_EQ(times, 1);
      }
  }
}

TEST(ThreadPool, RangesAsLargeAsNumbersAre) {
  ThreadPool pool(3);
  constexpr auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::uint64_t> sum{0};
  pool.parallel_for(least, most, most, [&](std::int64_t b, std::int64_t e) {
    sum += static_cast<std::uint64_t>(e) - static_cast<std::uint64_t>(b);
  });
  EXPECT_EQ(sum, std::numeric_limits<std::uint64_t>::max());
}

TEST(ThreadPool, WhatABodyThrowsReachesTheCaller) {
  ThreadPool pool(4);
  for (int turn = 0; turn < 50; ++turn) {
    std::atomic<int> running{0};
    EXPECT_THROW(pool.parallel_for(0, 1000, 1,
                                   [&](std::int64_t b, std::int64_t) {
                                     ++running;
                                     const bool throws = b == 10 + turn;
                                     --running;
                                     if (throws) throw std::runtime_error("");
                                   }),
                 std::runtime_error);
    EXPECT_EQ(running, 0);
  }
}

TEST(ThreadPool, BodiesMayUseItAgainAndManyThreadsAtOnce) {
  ThreadPool pool(3);
  std::atomic<std::int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int k = 0; k < 3; ++k)
    callers.emplace_back([&] {
      for (int turn = 0; turn < 20; ++turn)
        pool.parallel_for(0, 8, 1, [&](std::int64_t, std::int64_t) {
          pool.parallel_for(0, 16, 1, [&](std::int64_t b, std::int64_t e) { sum += e - b; });
        });
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(sum, 3 * 20 * 8 * 16);
}

}  // namespace
}  // namespace strata
