// Executors of std::threads: when their threads begin and end, in children of fork(), too. NOTE: ThreadSanitizer knows
// no threads of such children: it has executor_test.cpp.
#include "strata/runtime/thread_executor.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <thread>

#include "strata/runtime/tbb_executor.h"
#include "tests/runtime/processes.h"

namespace strata {
namespace {

/// The threads of this process.
int threads_now() {
  DIR* const tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return 0;
  int out = -2;  // "." and ".."
  while (readdir(tasks) != nullptr) ++out;
  closedir(tasks);
  return out;
}

/// The threads of this process, once those that were joined have gone: a joined thread is listed until the kernel has
/// taken it away, shortly after join() returns.
int threads_down_to(int expected) {
  const auto begin = std::chrono::steady_clock::now();
  int now = threads_now();
  while (now > expected && std::chrono::steady_clock::now() - begin < std::chrono::seconds(10)) {
    std::this_thread::yield();
    now = threads_now();
  }
  return now;
}

std::int64_t sum_on(Executor& executor) {
  std::atomic<std::int64_t> sum{0};
  executor.parallel_for(0, 1000, 10, [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end; ++begin) sum += begin;
  });
  return sum;
}
constexpr std::int64_t kSum = 499500;

/// A thread that runs loops for as long as the process lives.
void run_loops_for_ever(Executor& executor) {
  std::thread([&executor] {
    for (;;) sum_on(executor);
  }).detach();
}

TEST(OwnExecutor, BeginsWithALoopOfSeveralChunks) {
  EXPECT_EQ(in_a_process([] {  // where no thread of an earlier test is
              std::unique_ptr<Executor> executor = make_thread_executor(3);
              if (executor->concurrency() != 3) return 1;
              executor->parallel_for(0, 10, 10, [](std::int64_t, std::int64_t) {});
              if (threads_now() != 1) return 2;
              if (sum_on(*executor) != kSum || threads_now() != 3) return 3;
              executor.reset();
              return threads_down_to(1) == 1 ? 0 : 4;
            }),
            0);
}

TEST(OwnExecutor, ChildrenHaveTheirOwn) {
  const std::unique_ptr<Executor> executor = make_thread_executor(3);
  EXPECT_EQ(sum_on(*executor), kSum);
  const int result = in_a_process([&] {
    if (threads_now() != 1) return 1;
    if (sum_on(*executor) != kSum || threads_now() != 3) return 2;
    return in_a_process([&] { return sum_on(*executor) == kSum && threads_now() == 3 ? 0 : 3; });
  });
  EXPECT_EQ(result, 0);
  EXPECT_EQ(sum_on(*executor), kSum);
}

TEST(OwnExecutor, ForksWhileLoopsRun) {
  static Executor& executor = *make_thread_executor(3).release();  // for threads that outlive the test
  EXPECT_EQ(in_a_process([&] {
              for (int k = 0; k < 3; ++k) run_loops_for_ever(executor);
              for (int k = 0; k < 30; ++k)
                if (const int result = in_a_process([&] { return sum_on(executor) == kSum ? 0 : 1; })) return result;
              return 0;
            }),
            0);
}

/// What a process does last. Handlers run in reverse order: that of the executors, which their first loop registers, is
/// before this one.
void (*last_act)() = nullptr;
const int last_act_is_registered = std::atexit([] {
  if (last_act != nullptr) last_act();
});

// exit() ends the threads while others begin loops, which run on their callers alone then.
TEST(OwnExecutor, TheEndOfTheProcessWaits) {
  ASSERT_EQ(last_act_is_registered, 0);
  static Executor* executor = nullptr;
  for (const int others : {0, 1, 2})
    EXPECT_EQ(in_a_process([&]() -> int {
                executor = make_thread_executor(4).release();
                if (sum_on(*executor) != kSum || threads_now() != 4) return 2;
                for (int k = 0; k < others; ++k) run_loops_for_ever(*executor);
                static int left = 0;
                left = 1 + others;
                last_act = [] { _exit(sum_on(*executor) == kSum ? threads_down_to(left) : 100); };
                std::exit(3);
              }),
              1 + others);
}

// A chunk that ends the process does not wait for its own thread; nor does oneTBB, where the parent has used it, for
// threads that exist only there: each process would need more than ten seconds. The quickest tells, whatever else the
// machine does.
TEST(OwnExecutor, AChunkMayEndTheProcess) {
  EXPECT_EQ(sum_on(*make_executor(0)), kSum);
  auto quickest = std::chrono::steady_clock::duration::max();
  for (int turn = 0; turn < 5; ++turn) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(in_a_process([&]() -> int {
                static Executor& executor = *make_thread_executor(4).release();
                static std::atomic<bool> is_first{true};
                executor.parallel_for(0, 100, 1, [](std::int64_t at, std::int64_t) {
                  if (at > 50 && is_first.exchange(false)) std::exit(7);
                });
                return 1;
              }),
              7);
    quickest = std::min(quickest, std::chrono::steady_clock::now() - begin);
  }
  EXPECT_LT(quickest, std::chrono::seconds(9));
}

// An executor that is destroyed at the end of the process, after a chunk has ended it.
TEST(OwnExecutor, IsLeftWhereAChunkEndsTheProcess) {
  for (int turn = 0; turn < 5; ++turn)
    EXPECT_EQ(in_a_process([&]() -> int {
                static std::unique_ptr<Executor> executor = make_thread_executor(4);
                static std::atomic<bool> is_first{true};
                executor->parallel_for(0, 10000, 1, [](std::int64_t at, std::int64_t) {
                  if (at > 50 && is_first.exchange(false)) std::exit(7);
                });
                return 1;
              }),
              7);
}

}  // namespace
}  // namespace strata
