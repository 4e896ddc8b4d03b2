// SpinLock: a lock for a few instructions, of one byte.
#pragma once

#include <atomic>
#include <thread>

namespace strata::detail {

/// Meets what std::lock_guard asks for. A thread that waits long gives its processor to others.
class SpinLock {
 public:
  void lock() {
    while (taken_.exchange(true, std::memory_order_acquire))
      for (int spin = 0; taken_.load(std::memory_order_relaxed); ++spin)
        if (spin > 64) std::this_thread::yield();
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

}  // namespace strata::detail
