// Long work that can be ended: by Ctrl-C, by a button, by a deadline.
//
//   const InterruptCheck check([&] {
//     if (cancelled) throw Cancelled();
//   });
//   y.realize();                            // Cancelled comes out of it, soon after `cancelled` is set
//
// Work looks while a graph is made, scheduled and compiled, between kernels, and inside long ones, on the thread that asked for
// it. What is thrown ends the work as an error does: what was realized by then stays so, and nothing half done is seen.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace strata {

/// While it lives, long work of this thread calls `check` from time to time, which throws to end the work. Those around it are
/// asked, too. It may use Strata itself; it is not asked again meanwhile.
class InterruptCheck {
 public:
  using Check = std::function<void()>;

  /// @param between the least time from one call of `check` to the next; the first is as long after work first looked
  explicit InterruptCheck(Check check,
                          std::chrono::milliseconds between = std::chrono::milliseconds(20));
  /// @pre the thread that made it, in reverse order
  ~InterruptCheck();
  InterruptCheck(const InterruptCheck&) = delete;
  InterruptCheck& operator=(const InterruptCheck&) = delete;

  /// Whether this thread has one.
  static bool is_active();

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

/// A place where work can end: asks this thread's checks where it is time to. Some ten nanoseconds where there are any.
/// @throws what a check throws
void check_interrupt();
/// The same for places that are met every microsecond or so: looks each 64th time.
void check_interrupt_often();

}  // namespace strata
