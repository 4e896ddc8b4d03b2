// The InterruptChecks of a thread, and the calls to them.
#include "strata/base/interrupt.h"

#include <utility>

namespace strata {

namespace {

thread_local constinit InterruptCheck* innermost_check = nullptr;
constexpr std::uint32_t kOften = 64;

}  // namespace

UninterruptedScope::UninterruptedScope() : before_(std::exchange(innermost_check, nullptr)) {}
UninterruptedScope::~UninterruptedScope() { innermost_check = before_; }

InterruptCheck::InterruptCheck(Check check, std::chrono::milliseconds between)
    : check_(std::move(check)), between_(between), outer_(innermost_check) {
  innermost_check = this;
}
InterruptCheck::~InterruptCheck() { innermost_check = outer_; }

bool InterruptCheck::is_active() { return innermost_check != nullptr; }

bool InterruptCheck::is_due() {
  if (innermost_check == nullptr) return false;
  const Clock::time_point now = Clock::now();
  for (const InterruptCheck* c = innermost_check; c != nullptr; c = c->outer_)
    if (c->last_ == Clock::time_point() || now - c->last_ >= c->between_) return true;
  return false;
}

void InterruptCheck::poll() {
  const Clock::time_point now = Clock::now();
  if (last_ == Clock::time_point()) last_ = now;
  if (now - last_ < between_) return;
  last_ = now;
  const UninterruptedScope asking;  // a check that runs must not be interrupted by itself
  check_();
}

void InterruptCheck::poll_all(InterruptCheck* innermost) {
  for (InterruptCheck* c = innermost; c != nullptr; c = c->outer_) c->poll();
}

void check_interrupt() {
  if (innermost_check != nullptr) InterruptCheck::poll_all(innermost_check);
}

void check_interrupt_often() {
  InterruptCheck* const check = innermost_check;
  if (check != nullptr && ++check->calls_ % kOften == 0) InterruptCheck::poll_all(check);
}

}  // namespace strata
