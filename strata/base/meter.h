// Meter: a limit on the work of one question, in counted steps and in time.
//
//   const Meter meter(units, seconds);   // until the end of the scope, for this thread
//   answer(question);                    // throws Error (budget) when it needs more than `units` or `seconds`
//
// Code that takes time calls Meter::charge; one unit is about 10 to 30 nanoseconds of this library's work. Without a
// meter nothing is counted. `strata batch` makes one Meter for each request.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace strata {

/// Limits the work of the thread that makes it, while it lives. While an inner Meter lives, an outer one is not charged
/// and does not look at the clock. Other threads are not counted.
class Meter {
 public:
  using Clock = std::chrono::steady_clock;

  /// Without `seconds` time is not limited. @pre seconds, when given, are finite and not negative
  explicit Meter(std::uint64_t units, std::optional<double> seconds = {});
  ~Meter() { current_ = outer_; }
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  /// Counts work that this thread is about to do, when there is a meter. Looks at the clock about every 16,384 units.
  /// NOTE: once a limit is reached, every later call throws too, so code that treats an Error as "not known" soon ends;
  /// the owner of the meter calls check() at the end to notice.
  /// @throws Error (budget) when more than `units` are charged in all (exactly `units` are allowed), or the time is
  /// over
  static void charge(std::uint64_t units) {
    if (Meter* const meter = current_; meter != nullptr) [[unlikely]]
      meter->take(units);
  }
  /// Whether a Meter limits this thread.
  static bool is_set() { return current_ != nullptr; }
  /// Throws when charge() threw before, even if that Error was caught. NOTE: time that ran out after the last look at
  /// the clock may stay unnoticed.
  /// @throws Error (budget) when a limit was reached
  void check() { take(0); }

 private:
  void take(std::uint64_t units) {
    if (units >= until_look_) [[unlikely]]
      return look(units);
    until_look_ -= units;
  }
  void look(std::uint64_t units);

  static inline constinit thread_local Meter* current_ = nullptr;

  Meter* outer_;
  std::uint64_t units_, left_;    // left_: before the work since the last look at the clock
  std::uint64_t looked_for_ = 0;  // units from the last look at the clock to the next
  std::uint64_t until_look_ = 0;
  bool is_spent_ = false;
  std::optional<double> seconds_;
  Clock::time_point end_;
};

}  // namespace strata
