// What Strata does where the system refuses threads or address space: it goes on, with one warning, and advises nothing
// that does not help. The refusals are real to all libraries of the process: this program's pthread_create stands in
// front of libc's. Each test runs in a process of its own, which has started nothing.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "strata/base/flags.h"
#include "strata/runtime/device.h"
#include "strata/runtime/llvm_library.h"
#include "strata/runtime/opencl_library.h"
#include "strata/runtime/tbb_executor.h"
#include "strata/runtime/thread_pool.h"
#include "strata/tensor/tensor.h"

namespace {

std::atomic<int> thread_limit{1 << 20};  // how many there may be at once beside the first one
std::atomic<int> live_threads{0};

struct Routine {
  void* (*function)(void*);
  void* argument;
};

void* run_routine(void* context) {
  const std::unique_ptr<const Routine> routine(static_cast<Routine*>(context));
  void* const result = routine->function(routine->argument);
  --live_threads;
  return result;
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                              void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (++live_threads > thread_limit) {
    --live_threads;
    return EAGAIN;
  }
  auto routine = std::make_unique<Routine>(Routine{function, argument});
  const int status = create(thread, attributes, run_routine, routine.get());
  if (status != 0) {
    --live_threads;
  } else {
    [[maybe_unused]] const Routine* const theirs = routine.release();
  }
  return status;
}

namespace strata {
namespace {

/// What a process said and how it ended: its status, or 1000 and the signal.
struct Outcome {
  std::string said;
  int status = 0;
};

/// f(), which prints, in a process of its own.
Outcome in_a_process(const std::function<void()>& f) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return {"no pipe", -1};
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    try {
      f();
    } catch (const std::exception& e) {
      std::cout << "threw " << e.what() << std::endl;
    }
    std::cout.flush();
    _exit(0);
  }
  close(ends[1]);
  Outcome out;
  std::array<char, 4096> part{};
  for (ssize_t size = 0; (size = read(ends[0], part.data(), part.size())) > 0;)
    out.said.append(part.data(), static_cast<std::size_t>(size));
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  out.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  return out;
}

int count_of(std::string_view text, std::string_view what) {
  int out = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++out;
  return out;
}

/// By a kernel in parallel.
void print_roots() {
  const std::vector<float> roots = Tensor::arange(1 << 20).cast(dtypes::float32).sqrt().to_vector<float>();
  std::cout << "roots " << roots[4] + roots[1'000'000] << "\n";
}

/// Those that need no drivers. NOTE: they are not asked here: what this process has opened the next ones have, too.
std::vector<std::string> devices() {
  std::vector<std::string> out{"INTERP", "CLANG"};
  if (STRATA_HAS_LLVM) out.emplace_back("LLVM");
  return out;
}

void limit_address_space(std::uint64_t mebibytes) {
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = mebibytes << 20;
  setrlimit(RLIMIT_AS, &limit);
}

std::uint64_t address_space() {  // MiB in use
  std::uint64_t pages = 0;
  if (const std::unique_ptr<FILE, int (*)(FILE*)> file(fopen("/proc/self/statm", "r"), fclose);
      file == nullptr || fscanf(file.get(), "%lu", &pages) != 1)
    return 0;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) >> 20;
}

/// Whether there would be threads.
bool has_threads() { return std::thread::hardware_concurrency() > 1; }

TEST(Scarce, LoopsRunOnTheThreadsThatThereAre) {
  for (const int limit : {0, 1}) {
    const int wanted = has_threads() ? static_cast<int>(std::thread::hardware_concurrency()) : 1;
    const int expected = std::min(limit + 1, wanted);
    const Outcome got = in_a_process([&] {
      thread_limit = limit;
      for (int k = 0; k < 3; ++k) {
        const std::unique_ptr<Executor> executor = make_executor(0);
        std::atomic<std::int64_t> sum{0};
        executor->parallel_for(0, 1000, 1, [&](std::int64_t begin, std::int64_t) { sum += begin; });
        std::cout << executor->concurrency() << " threads, " << sum << "\n";
      }
    });
    EXPECT_EQ(got.status, 0) << got.said;
    EXPECT_EQ(count_of(got.said, std::to_string(expected) + " threads, 499500\n"), 3) << got.said;
    EXPECT_EQ(count_of(got.said, "the system refuses more"), expected < wanted ? 1 : 0) << got.said;
  }
}

TEST(Scarce, PoolsRunOnTheThreadsThatThereAre) {
  const Outcome got = in_a_process([] {
    thread_limit = 1;
    ThreadPool pool(4);
    std::atomic<std::int64_t> sum{0};
    for (int k = 0; k < 2; ++k) pool.parallel_for(0, 1000, 1, [&](std::int64_t begin, std::int64_t) { sum += begin; });
    std::cout << "sum " << sum << "\n";
  });
  EXPECT_EQ(got.status, 0) << got.said;
  EXPECT_EQ(count_of(got.said, "sum 999000\n"), 1) << got.said;
  EXPECT_EQ(count_of(got.said, "loops run on 2 of 4 threads: the system refuses more"), 1) << got.said;
}

TEST(Scarce, KernelsRunWithoutThreads) {
  for (const std::string& device : devices()) {
    const Outcome got = in_a_process([&] {
      thread_limit = 0;
      const ScopedFlag<std::string> on(flags::DEVICE, device);
      print_roots();
    });
    EXPECT_EQ(got.status, 0) << device << ": " << got.said;
    EXPECT_EQ(count_of(got.said, "roots 1002\n"), 1) << device << ": " << got.said;
    const int wanted = has_threads() && device != "INTERP" ? 1 : 0;  // INTERP asks for no threads
    EXPECT_EQ(count_of(got.said, "the system refuses more"), wanted) << device << ": " << got.said;
  }
}

TEST(Scarce, DriversThatNeedThreadsAreLeftAlone) {
  const Outcome got = in_a_process([] {
    thread_limit = 0;
    std::cout << "missing: " << Device::get("OPENCL").missing() << "\n";
    const ScopedFlag<std::string> on(flags::DEVICE, "OPENCL");
    print_roots();
  });
  EXPECT_EQ(got.status, 0) << got.said;
  if (STRATA_HAS_OPENCL) {
    EXPECT_EQ(count_of(got.said, "missing: [opencl] the system grants 0 of "), 1) << got.said;
    EXPECT_EQ(count_of(got.said, "threw [opencl] the system grants 0 of "), 1) << got.said;
    EXPECT_EQ(count_of(got.said, "apt-get"), 0) << got.said;
  }
}

TEST(Scarce, KernelsRunInLittleAddressSpace) {
  for (const std::string& device : devices()) {
    const Outcome got = in_a_process([&] {
      limit_address_space(512);
      const ScopedFlag<std::string> on(flags::DEVICE, device);
      print_roots();
    });
    EXPECT_EQ(got.status, 0) << device << ": " << got.said;
    EXPECT_EQ(count_of(got.said, "roots 1002\n"), 1) << device << ": " << got.said;
  }
}

TEST(Scarce, WhatDoesNotFitIsNotToBeInstalled) {
  const Outcome got = in_a_process([] {
    limit_address_space(address_space() + 64);  // less than LLVM takes
    for (const char* const device : {"LLVM", "OPENCL"})
      std::cout << "missing: " << Device::get(device).missing() << "\n";
    std::cout << "remedies: " << LlvmLibrary::remedy().text() << OpenClLibrary::remedy().text() << "\n";
  });
  EXPECT_EQ(got.status, 0) << got.said;
  if (STRATA_HAS_LLVM) {
    EXPECT_EQ(count_of(got.said, "missing: [llvm] "), 1) << got.said;
    EXPECT_EQ(count_of(got.said, "the address space is limited to "), STRATA_HAS_OPENCL ? 2 : 1) << got.said;
    EXPECT_EQ(count_of(got.said, "llvm"), count_of(got.said, "[llvm]") + count_of(got.said, "libstrata_llvm"))
        << got.said;
  }
  if (STRATA_HAS_LLVM && STRATA_HAS_OPENCL) {
    EXPECT_EQ(count_of(got.said, "apt-get"), 0) << got.said;
  }
}

}  // namespace
}  // namespace strata
