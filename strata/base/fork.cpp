// Fork hooks: registered once with pthread_atfork, and called in their order.
#include "strata/base/fork.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

#include "strata/base/check.h"

namespace strata {

namespace {

constexpr std::size_t kMostHooks = 32;
std::atomic<std::uint64_t> forks{0};

}  // namespace

/// All hooks, in order. NOTE: constant-initialized, because constructors at namespace scope add hooks.
struct ForkHandlers {
  static constinit std::array<ForkHook*, kMostHooks> hooks;
  static constinit std::size_t count;

  static void add(ForkHook& hook) {
    STRATA_ASSERT(count < kMostHooks, "more than ", kMostHooks, " hooks of fork()");
    if (count == 0) pthread_atfork(&before, &parent, &child);
    const auto end = hooks.begin() + static_cast<std::ptrdiff_t>(count++);
    const auto place = std::upper_bound(hooks.begin(), end, &hook,
                                        [](const ForkHook* a, const ForkHook* b) { return a->order_ < b->order_; });
    std::move_backward(place, end, end + 1);
    *place = &hook;
  }
  static void before() {
    for (std::size_t k = 0; k < count; ++k) hooks[k]->before_();
  }
  static void parent() {
    for (std::size_t k = count; k-- > 0;) hooks[k]->after_();
  }
  static void child() {
    forks.fetch_add(1, std::memory_order_relaxed);
    parent();
  }
};

constinit std::array<ForkHook*, kMostHooks> ForkHandlers::hooks{};
constinit std::size_t ForkHandlers::count = 0;

ForkHook::ForkHook(ForkOrder order, Function before, Function after) : order_(order), before_(before), after_(after) {
  ForkHandlers::add(*this);
}

std::uint64_t fork_generation() { return forks.load(std::memory_order_relaxed); }

}  // namespace strata
