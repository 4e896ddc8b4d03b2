// What processes do while threads are inside Strata: end, fork. Timing decides, so that each is tried many times.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "strata/base/flags.h"
#include "strata/base/fork.h"
#include "strata/base/interrupt.h"
#include "strata/tensor/jit.h"
#include "tests/tensor/arrays.h"

namespace strata::test {
namespace {

using std::chrono::milliseconds;

/// The status that the process ended with, 1000 and the signal, or -1 for one that hung and was ended.
int end_of(pid_t pid, std::chrono::seconds patience = std::chrono::seconds(60)) {
  const auto begin = std::chrono::steady_clock::now();
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() - begin > patience) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      return -1;
    }
    std::this_thread::sleep_for(milliseconds(1));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/// Kernels that are new each time, and some that are not.
void build_and_run(const std::atomic<bool>& ends, int k) {
  for (int n = 0; !ends; ++n) {
    const Tensor x = Tensor::ones({16 + (n * 7 + k) % 97, 33}, dtypes::float32);
    (void)(x.matmul(x.permute({1, 0})) * static_cast<float>(n % 7)).sum().item<float>();
  }
}

// The thread that ends the process is alone: it compiles without others.
TEST(ProcessEnd, ExitHandlersMayComputeGraphs) {
  for (int turn = 0; turn < 3; ++turn) {
    const pid_t pid = fork();
    if (pid == 0) {
      (void)(Tensor::ones({3, 5 + turn}, dtypes::float32) * 1.5F).sum().item<float>();
      static int size;
      size = 7 + turn;
      std::atexit([] {
        const Tensor x = Tensor::ones({4, size}, dtypes::float32);  // three kernels
        const float sum = ((x * 3.0F).sum(0).contiguous().exp().contiguous() * 0.5F).sum().item<float>();
        _exit(sum > 0 ? 7 : 3);
      });
      std::exit(1);
    }
    EXPECT_EQ(end_of(pid, std::chrono::seconds(30)), 7);
  }
}

// NOTE: a process of its own, which the next test starts.
TEST(ProcessEnd, DISABLED_WhileOthersWork) {
  static std::atomic<bool> never{false};
  for (int k = 0; k < 3; ++k) std::thread(build_and_run, std::cref(never), k).detach();
  const char* const pause = std::getenv("STRATA_TEST_PAUSE");
  std::this_thread::sleep_for(milliseconds(pause != nullptr ? std::atoi(pause) : 100));
  std::exit(7);
}

// NOTE: not for ThreadSanitizer, which does not see how the statics of the plugin for LLVM are guarded: hence the name.
TEST(ProcessEnd, IsCleanWhateverOthersDo) {
  for (int turn = 0; turn < 8; ++turn) {
    setenv("STRATA_TEST_PAUSE", std::to_string(50 + 40 * turn).c_str(), 1);
    const pid_t pid = fork();
    if (pid == 0) {
      execl("/proc/self/exe", "tensor_tests", "--gtest_also_run_disabled_tests",
            "--gtest_filter=ProcessEnd.DISABLED_WhileOthersWork", "--gtest_brief=1", nullptr);
      _exit(99);
    }
    EXPECT_EQ(end_of(pid), 7) << "turn " << turn;
  }
}

TEST(InterruptOfGraphs, EndsTheirMakingAndTheirScheduling) {
  struct Ended {};
  const Tensor begin = Tensor::ones({4}, dtypes::float32).realize();
  Tensor x = begin;
  {
    const InterruptCheck check([] { throw Ended(); });
    const auto build = [&] {
      for (std::int64_t k = 0; k < std::int64_t{1} << 40; ++k) x = x * 1.5F + static_cast<float>(k % 97);
    };
    EXPECT_THROW(build(), Ended);
  }
  for (int k = 0; k < 100000; ++k) x = x * 1.5F + static_cast<float>(k % 97);
  {
    const InterruptCheck check([] { throw Ended(); }, milliseconds(1));
    EXPECT_THROW(x.realize(), Ended);
  }
  EXPECT_FALSE(x.is_realized());
  EXPECT_EQ((begin + 1).sum().item<float>(), 8);
}

class Fork : public testing::Test {
 protected:
  void SetUp() override {
    if (STRATA_SANITIZED) GTEST_SKIP() << "sanitizers have threads and locks of their own";
  }
};

TEST_F(Fork, WhileOthersBuildAndRun) {
  const Tensor kept = Tensor::arange(1000).cast(dtypes::float32).realize();
  std::atomic<bool> ends{false};
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k) threads.emplace_back(build_and_run, std::cref(ends), k);
  std::this_thread::sleep_for(milliseconds(50));
  for (int turn = 0; turn < 40; ++turn) {
    const pid_t pid = fork();
    if (pid == 0) {
      const float sum = (kept * 2 + static_cast<float>(turn)).sum().item<float>();
      _exit(sum == 999000.0F + 1000.0F * static_cast<float>(turn) ? 0 : 1);
    }
    EXPECT_EQ(end_of(pid), 0) << "turn " << turn;
  }
  ends = true;
  for (std::thread& t : threads) t.join();
}

TEST_F(Fork, TheChildHasThreadsOfItsOwn) {
  const Tensor x = Tensor::ones({1 << 20}, dtypes::float32).realize();
  EXPECT_EQ((x * 2).sum().item<float>(), 2 << 20);
  const std::uint64_t generation = fork_generation();
  const pid_t pid = fork();
  if (pid == 0) {
    const bool is_right = (x * 3).sum().item<float>() == 3 << 20 && fork_generation() == generation + 1;
    const pid_t grandchild = fork();
    if (grandchild == 0) _exit((x * 5).sum().item<float>() == 5 << 20 ? 0 : 1);
    _exit(is_right && end_of(grandchild) == 0 ? 0 : 1);
  }
  EXPECT_EQ(end_of(pid), 0);
  EXPECT_EQ(fork_generation(), generation);
}

TEST_F(Fork, OfAThreadWhileAnotherIsInACapturedFunction) {
  std::atomic<bool> is_inside{false}, may_go{false};
  auto f = jit([&](const Tensor& a) {
    is_inside = true;
    while (!may_go) std::this_thread::yield();
    return a + 1;
  });
  std::thread other([&] { f(f32({1})); });
  while (!is_inside) std::this_thread::yield();
  const pid_t pid = fork();
  if (pid == 0) {
    may_go = true;
    bool is_right = true;
    for (float k = 0; k < 4; ++k) is_right = is_right && f(f32({k})).item<float>() == k + 1;
    _exit(is_right ? 0 : 1);
  }
  EXPECT_EQ(end_of(pid), 0);
  may_go = true;
  other.join();
}

}  // namespace
}  // namespace strata::test
