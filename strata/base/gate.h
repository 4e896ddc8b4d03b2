// Gate: counts the threads inside a library, and can be shut so that no more threads enter: for a fork, and at the end
// of the process.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace strata {

/// Any thread may call any function; only one thread at a time may shut it. Waiting threads poll instead of using a
/// lock: after fork(), the child has no threads that wait on one.
class Gate {
 public:
  /// Marks its thread as inside for as long as it lives.
  class Visit {
   public:
    /// Waits while the gate is shut; forever, when it was shut for the end of the process. A null gate never waits.
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

  /// Shuts the gate for new threads, then waits at most `patience` until no thread is inside. True iff none is.
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
      } else if (state_.compare_exchange_weak(now, now + 1, std::memory_order_acquire, std::memory_order_relaxed)) {
        return;
      }
    }
  }

  std::atomic<std::uint64_t> state_{0};  // the number of threads inside, plus kShut
};

}  // namespace strata
