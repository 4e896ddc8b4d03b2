#include "strata/runtime/polling.h"

#include <utility>

#include "strata/base/interrupt.h"

namespace strata {

namespace {
thread_local constinit Polling* innermost_polling = nullptr;
}  // namespace

Polling::Polling(std::atomic<bool>& is_stopped, bool is_asking)
    : is_stopped_(is_stopped), is_asking_(is_asking), outer_(std::exchange(innermost_polling, this)) {}
Polling::~Polling() { innermost_polling = outer_; }

void* Polling::address() { return reinterpret_cast<void*>(&Polling::poll); }

// NOTE: compiled kernels call it, and exceptions cannot pass through their frames.
int Polling::poll() noexcept {
  Polling* const mine = innermost_polling;
  if (mine == nullptr) return 0;
  if (mine->is_stopped_.load(std::memory_order_relaxed)) return 1;
  if (!mine->is_asking_ || !InterruptCheck::is_due()) return 0;
  bool goes_on = false;
  std::packaged_task<void()> asking([&goes_on] {
    check_interrupt();
    goes_on = true;
  });
  asking();
  if (goes_on) return 0;
  mine->thrown_ = asking.get_future();
  mine->is_stopped_.store(true, std::memory_order_relaxed);
  return 1;
}

}  // namespace strata
