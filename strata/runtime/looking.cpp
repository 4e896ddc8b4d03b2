#include "strata/runtime/looking.h"

#include <utility>

#include "strata/base/interrupt.h"

namespace strata {

namespace {
thread_local constinit Looking* innermost_looking = nullptr;
}  // namespace

Looking::Looking(std::atomic<bool>& is_stopped, bool is_asking)
    : is_stopped_(is_stopped), is_asking_(is_asking), outer_(std::exchange(innermost_looking, this)) {}
Looking::~Looking() { innermost_looking = outer_; }

void* Looking::address() { return reinterpret_cast<void*>(&Looking::look); }

// NOTE: compiled kernels call it, and exceptions cannot pass through their frames.
int Looking::look() noexcept {
  Looking* const mine = innermost_looking;
  if (mine == nullptr) return 0;
  if (mine->is_stopped_.load(std::memory_order_relaxed)) return 1;
  if (!mine->is_asking_ || !InterruptCheck::is_active()) return 0;
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
