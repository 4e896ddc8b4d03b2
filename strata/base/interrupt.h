// InterruptCheck: a way to end long work early, on Ctrl-C, a button or a deadline.
//
//   const InterruptCheck check([&] {
//     if (cancelled) throw Cancelled();
//   });
//   y.realize();                            // throws Cancelled soon after `cancelled` is set
//
// Work calls the check while a graph is made, scheduled and compiled, between kernels, and inside long kernels, always
// on the thread that started the work. An exception from the check ends the work as an error does: tensors that were
// realized by then stay realized, and nothing is left half done.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace strata {

/// While it lives, long work on this thread calls `check` from time to time; `check` throws to end the work. Enclosing
/// checks are called, too. `check` may use Strata itself; no check is called during that.
class InterruptCheck {
 public:
  using Check = std::function<void()>;

  /// @param between the least time between two calls of `check`, and before the first call
  explicit InterruptCheck(Check check, std::chrono::milliseconds between = std::chrono::milliseconds(20));
  /// @pre on the thread that made it, in reverse order of construction
  ~InterruptCheck();
  InterruptCheck(const InterruptCheck&) = delete;
  InterruptCheck& operator=(const InterruptCheck&) = delete;

  /// True iff this thread has an InterruptCheck.
  static bool is_active();
  /// True iff check_interrupt() would call a check of this thread now, or begin to wait for its time. Where it is
  /// false, what a call needs besides can be left out.
  static bool is_due();

 private:
  friend void check_interrupt();
  friend void check_interrupt_often();
  using Clock = std::chrono::steady_clock;

  void poll();
  static void poll_all(InterruptCheck* innermost);

  Check check_;
  std::chrono::milliseconds between_;
  Clock::time_point last_{};
  std::uint32_t calls_ = 0;
  InterruptCheck* outer_;
};

/// While it lives no check of this thread is called: for work that must not be left half done, of at most about a
/// second.
class UninterruptedScope {
 public:
  UninterruptedScope();
  ~UninterruptedScope();
  UninterruptedScope(const UninterruptedScope&) = delete;
  UninterruptedScope& operator=(const UninterruptedScope&) = delete;

 private:
  InterruptCheck* before_;
};

/// A point at which work can end: calls this thread's checks that are due. Takes some ten nanoseconds when there are
/// any.
/// @throws what a check throws
void check_interrupt();
/// The same for points that are reached every microsecond or so: looks at the clock every 64th time.
void check_interrupt_often();

}  // namespace strata
