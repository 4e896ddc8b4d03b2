// A door that threads pass for work inside, and that can be shut: at a fork, at the end of the process.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace strata {

/// Any function from any thread; one thread at a time shuts it. Waiting is by looking again: a child of fork() finds nobody who
/// waits.
class Gate {
 public:
  /// While it lives, its thread is inside.
  class Visit {
   public:
    /// Waits while the gate is shut: for good, where that is at the end of the process. Null: there is none to pass.
    explicit Visit(Gate* gate) : gate_(gate) {
      if (gate_ != nullptr) gate_->enter();
    }
    ~Visit() {
      if (gate_ != nullptr) gate_->state_.fetch_sub(1, std::memory_order_release);
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    Gate* gate_;
  };

  /// Nobody comes in from now on. Waits until nobody is inside, for at most `patience`; whether that is so.
  bool shut(std::chrono::milliseconds patience = std::chrono::hours(1)) {
    const auto begin = std::chrono::steady_clock::now();
    state_.fetch_or(kShut, std::memory_order_acq_rel);
    while ((state_.load(std::memory_order_acquire) & ~kShut) != 0) {
      if (std::chrono::steady_clock::now() - begin >= patience) return false;
      std::this_thread::sleep_for(kBetween);
    }
    return true;
  }
  void open() { state_.fetch_and(~kShut, std::memory_order_release); }

 private:
  static constexpr std::uint64_t kShut = std::uint64_t{1} << 63;
  static constexpr std::chrono::microseconds kBetween{200};

  void enter() {
    std::uint64_t now = state_.load(std::memory_order_relaxed);
    for (;;) {
      if ((now & kShut) != 0) {
        std::this_thread::sleep_for(kBetween);
        now = state_.load(std::memory_order_relaxed);
      } else if (state_.compare_exchange_weak(now, now + 1, std::memory_order_acquire,
                                              std::memory_order_relaxed)) {
        return;
      }
    }
  }

  std::atomic<std::uint64_t> state_{0};  // how many are inside, and kShut
};

}  // namespace strata
