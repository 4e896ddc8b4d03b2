// What jit.h promises to those who have no time: a replay on memory that is there allocates nothing and takes no lock.
// Counted where the C library does both.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <ostream>
#include <span>
#include <vector>

#include "strata/runtime/tbb_executor.h"
#include "strata/tensor/interop.h"
#include "strata/tensor/jit.h"
#include "strata/tensor/scan.h"

#if !STRATA_SANITIZED  // whose own are in these places

#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>

namespace {

thread_local constinit bool is_counting = false;
thread_local constinit std::size_t allocations = 0, locks = 0;

void note_allocation() {
  if (is_counting) ++allocations;
}

}  // namespace

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) {
  note_allocation();
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  note_allocation();
  return __libc_calloc(count, bytes);
}
void* realloc(void* block, std::size_t bytes) {
  note_allocation();
  return __libc_realloc(block, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  note_allocation();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
  note_allocation();
  *block = __libc_memalign(alignment, bytes);
  return *block == nullptr ? ENOMEM : 0;
}
int pthread_mutex_lock(pthread_mutex_t* mutex) {
  using Lock = int (*)(pthread_mutex_t*);
  static constinit Lock real = nullptr;
  if (real == nullptr) real = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  if (is_counting) ++locks;
  return real(mutex);
}
}

namespace strata {
namespace {

struct Counts {
  std::size_t allocations, locks;
  bool operator==(const Counts&) const = default;
};
std::ostream& operator<<(std::ostream& os, const Counts& c) {
  return os << c.allocations << " allocations, " << c.locks << " locks";
}

/// Of one call, after some that are none in the steady state.
template <class F>
Counts counted(const F& f) {
  for (int k = 0; k < 4; ++k) f();
  allocations = locks = 0;
  is_counting = true;
  f();
  is_counting = false;
  return {allocations, locks};
}

TEST(RealTime, WhatIsCountedIsSeen) {
  EXPECT_GE(counted([] { delete new int; }).allocations, 1U);
  std::mutex mutex;
  EXPECT_EQ(counted([&] { const std::lock_guard lock(mutex); }), (Counts{0, 1}));
}

TEST(RealTime, ReplaysIntoMemoryThatIsThere) {
  std::vector<float> in(256, 1), out(256), more(256);
  const Tensor x = as_tensor(std::span(in), {256}), y = as_tensor(std::span(out), {256}),
               z = as_tensor(std::span(more), {256});
  auto one = jit([](const Tensor& a) { return (a * 2 + 1).relu(); });
  EXPECT_EQ(counted([&] { one.into(y, x); }), (Counts{0, 0}));
  EXPECT_EQ(out[7], 3);
  in[7] = 20;
  one.into(y, x);
  EXPECT_EQ(out[7], 41);

  const std::vector<Tensor> both{y, z};
  auto two = jit([](const Tensor& a, const Tensor& b) { return std::vector<Tensor>{a + b, a.softmax(0)}; });
  EXPECT_EQ(counted([&] { two.into(both, x, x); }), (Counts{0, 0}));
  EXPECT_EQ(out[7], 40);
}

TEST(RealTime, StatesThatGoOn) {
  const Tensor state = Tensor::zeros({2}, dtypes::float32).realize();
  std::vector<float> in{1, 2}, out(2);
  const Tensor x = as_tensor(std::span(in), {2}), y = as_tensor(std::span(out), {2});
  auto filter = jit([&](const Tensor& a) {
    state.assign(state * 0.5F + a);
    return state * 2;
  });
  EXPECT_EQ(counted([&] { filter.into(y, x); }), (Counts{0, 0}));
  float expected = 0;
  for (int k = 0; k < 5; ++k) expected = expected * 0.5F + 1;
  EXPECT_EQ(out[0], 2 * expected);
}

TEST(RealTime, LoopsToo) {
  std::vector<float> in(64, 1), out(1);
  const Tensor x = as_tensor(std::span(in), {64}), y = as_tensor(std::span(out), Ints{});
  auto f = jit([](const Tensor& a) {
    const auto step = [](const Tensor& s, const Tensor& e) { return std::pair(s * 0.5F + e, s); };
    return scan(step, Tensor::zeros({}), a).first;
  });
  EXPECT_EQ(counted([&] { f.into(y, x); }), (Counts{0, 0}));
  EXPECT_NEAR(out[0], 2, 1e-6);
}

TEST(RealTime, OnOneThreadLargeKernelsToo) {
  const std::unique_ptr<Executor> one_thread = threads(1);
  set_default_executor(one_thread.get());
  std::vector<float> in(1 << 20, 1), out(1 << 20);
  const Tensor x = as_tensor(std::span(in), {1 << 20}), y = as_tensor(std::span(out), {1 << 20});
  auto f = jit([](const Tensor& a) { return a.exp() + a; });
  EXPECT_EQ(counted([&] { f.into(y, x); }), (Counts{0, 0}));
  set_default_executor(nullptr);
}

}  // namespace
}  // namespace strata

#endif
