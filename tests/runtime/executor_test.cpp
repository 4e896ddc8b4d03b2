// The executors of runtime/: @post of Executor::parallel_for with threads, exceptions, nested use.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "strata/runtime/tbb_executor.h"
#include "strata/runtime/thread_executor.h"

namespace strata {
namespace {

/// Executors by the number of threads, 0: one for each processor.
struct Maker {
  const char* name;
  std::unique_ptr<Executor> (*make)(int count);
};
const Maker kMakers[] = {
    {"Default", make_executor},
    {"Own", [](int count) { return make_thread_executor(count == 0 ? 4 : count); }},
};
class ExecutorThread : public testing::TestWithParam<Maker> {
 protected:
  static std::unique_ptr<Executor> make(int count) { return GetParam().make(count); }
};
INSTANTIATE_TEST_SUITE_P(All, ExecutorThread, testing::ValuesIn(kMakers),
                         [](const auto& test) { return test.param.name; });

using Chunk = std::pair<std::int64_t, std::int64_t>;

/// The chunks that were run, in increasing order.
std::vector<Chunk> chunks(Executor& executor, std::int64_t begin, std::int64_t end, std::int64_t grain) {
  std::multiset<Chunk> seen;
  std::mutex mutex;
  executor.parallel_for(begin, end, grain, [&](std::int64_t b, std::int64_t e) {
    const std::lock_guard lock(mutex);
    seen.insert({b, e});
  });
  return {seen.begin(), seen.end()};
}

void expect_cover(const std::vector<Chunk>& seen, std::int64_t begin, std::int64_t end, std::int64_t grain) {
  std::int64_t at = begin;
  for (const auto& [b, e] : seen) {
    ASSERT_EQ(b, at);
    ASSERT_LT(b, e);
    ASSERT_LE(static_cast<std::uint64_t>(e) - static_cast<std::uint64_t>(b), static_cast<std::uint64_t>(grain));
    at = e;
  }
  ASSERT_EQ(at, begin < end ? end : begin);
}

TEST_P(ExecutorThread, CoversTheRangeOnce) {
  for (const int count : {0, 1, 2, 8}) {
    const std::unique_ptr<Executor> executor = make(count);
    for (std::int64_t begin = -3; begin <= 3; ++begin)
      for (std::int64_t end = -4; end <= 9; ++end)
        for (const std::int64_t grain : {1, 2, 3, 7, 20})
          expect_cover(chunks(*executor, begin, end, grain), begin, end, grain);
    expect_cover(chunks(*executor, 0, 20000, 1), 0, 20000, 1);
  }
}

TEST_P(ExecutorThread, ReachesBothEndsOfTheLine) {
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
  const std::unique_ptr<Executor> executor = make(2);
  expect_cover(chunks(*executor, lowest, highest, highest), lowest, highest, highest);
  expect_cover(chunks(*executor, lowest, highest, highest / 1000), lowest, highest, highest / 1000);
  expect_cover(chunks(*executor, highest - 3, highest, 2), highest - 3, highest, 2);
}

TEST_P(ExecutorThread, WhatBodiesWroteIsVisibleToTheCaller) {
  const std::unique_ptr<Executor> executor = make(0);
  std::vector<std::int64_t> squares(100000, -1);
  for (int round = 0; round < 20; ++round) {
    executor->parallel_for(0, 100000, 100, [&](std::int64_t b, std::int64_t e) {
      for (std::int64_t i = b; i < e; ++i) squares[static_cast<std::size_t>(i)] = i * i + round;
    });
    for (std::int64_t i = 0; i < 100000; ++i) ASSERT_EQ(squares[static_cast<std::size_t>(i)], i * i + round);
  }
}

TEST_P(ExecutorThread, NeverMoreThreadsThanItSays) {
  for (const int count : {0, 1, 2, 3, 64}) {
    const std::unique_ptr<Executor> executor = make(count);
    EXPECT_GE(executor->concurrency(), 1);
    EXPECT_LE(executor->concurrency(), count > 0 ? count : executor->concurrency());
    std::set<std::thread::id> seen;
    std::mutex mutex;
    std::atomic<int> running = 0, most = 0;
    executor->parallel_for(0, 2000, 1, [&](std::int64_t, std::int64_t) {
      const int now = ++running;
      for (int before = most; before < now && !most.compare_exchange_weak(before, now);) {
      }
      {
        const std::lock_guard lock(mutex);
        seen.insert(std::this_thread::get_id());
      }
      --running;
    });
    EXPECT_LE(most.load(), executor->concurrency());
    EXPECT_GE(seen.size(), 1u);
  }
}

// Two bodies that wait for each other: where the executor says that two can run, they meet.
TEST_P(ExecutorThread, RunsBodiesAtTheSameTime) {
  const std::unique_ptr<Executor> executor = make(2);
  const int together = executor->concurrency();
  std::atomic<int> arrived = 0;
  executor->parallel_for(0, 2, 1, [&](std::int64_t, std::int64_t) {
    ++arrived;
    while (arrived < together) std::this_thread::yield();
  });
  EXPECT_EQ(arrived.load(), 2);
}

TEST_P(ExecutorThread, PropagatesAnException) {
  const std::unique_ptr<Executor> executor = make(0);
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> running = 0;
    try {
      executor->parallel_for(0, 1000, 1, [&](std::int64_t b, std::int64_t) {
        ++running;
        const bool fails = b % 10 == 7;
        --running;
        if (fails) throw std::out_of_range("seven");
      });
      FAIL() << "did not throw";
    } catch (const std::out_of_range& error) {
      EXPECT_STREQ(error.what(), "seven");
      EXPECT_EQ(running.load(), 0);
    }
    expect_cover(chunks(*executor, 0, 100, 3), 0, 100, 3);  // and it can be used again
  }
}

TEST_P(ExecutorThread, MayBeNested) {
  const std::unique_ptr<Executor> executor = make(0), other = make(2);
  for (Executor* inner : {executor.get(), other.get()}) {
    std::vector<std::atomic<int>> seen(std::size_t{64} * 64);
    executor->parallel_for(0, 64, 1, [&](std::int64_t b, std::int64_t) {
      inner->parallel_for(0, 64, 4, [&](std::int64_t c, std::int64_t e) {
        for (; c < e; ++c) ++seen[static_cast<std::size_t>(b * 64 + c)];
      });
    });
    for (const std::atomic<int>& n : seen) ASSERT_EQ(n.load(), 1);
  }
}

// While a body waits for its nested loop, its thread begins no other body of the outer one.
TEST_P(ExecutorThread, NestedLoopsDoNotInterleaveOuterBodies) {
  const std::unique_ptr<Executor> executor = make(0);
  thread_local int depth = 0;
  std::atomic<int> deepest = 0;
  executor->parallel_for(0, 200, 1, [&](std::int64_t, std::int64_t) {
    if (++depth > 1) deepest = 2;
    executor->parallel_for(0, 50, 1, [&](std::int64_t, std::int64_t) { std::this_thread::yield(); });
    --depth;
  });
  EXPECT_EQ(deepest.load(), 0);
}

TEST_P(ExecutorThread, IsSharedByThreads) {
  const std::unique_ptr<Executor> executor = make(0);
  std::atomic<std::int64_t> total = 0;
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      for (int round = 0; round < 20; ++round)
        executor->parallel_for(0, 1000, 10, [&](std::int64_t b, std::int64_t e) { total += e - b; });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total.load(), 4 * 20 * 1000);
}

TEST(MakeExecutor, RefusesANegativeCountAndAGrainBelowOne) {
  for (const int count : {-1, std::numeric_limits<int>::min()}) {
    try {
      make_executor(count);
      FAIL() << "did not throw";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::domain);
    }
  }
  EXPECT_THROW(make_executor(2)->parallel_for(0, 1, 0, [](std::int64_t, std::int64_t) {}), Error);
}

}  // namespace
}  // namespace strata
