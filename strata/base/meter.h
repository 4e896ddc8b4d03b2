// How much one question may cost: steps of the algebra are counted where they are taken, and a clock is looked at.
//
//   const Meter meter(units, seconds);   // until the end of the scope, for this thread
//   answer(question);                    // throws Error (budget) when either is used up
//
// What takes time says so by Meter::charge: a unit is some 10 to 30 nanoseconds of this library's work. Without a meter nothing is
// counted.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace strata {

/// A limit on the work of this thread while it lives; the innermost one counts.
class Meter {
 public:
  using Clock = std::chrono::steady_clock;

  /// @pre seconds, where they are given, are finite and not negative
  explicit Meter(std::uint64_t units, std::optional<double> seconds = {});
  ~Meter() { current_ = outer_; }
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  /// Counts what this thread is about to do, where there is a meter. NOTE: once a limit was reached each further call throws, so
  /// that code that takes an Error for "not known" ends soon; who made the meter asks check() in the end.
  /// @throws Error (budget)
  static void charge(std::uint64_t units) {
    if (Meter* const meter = current_; meter != nullptr) [[unlikely]]
      meter->take(units);
  }
  /// @throws Error (budget) iff a limit was reached
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
  std::uint64_t units_, left_;    // left_: before what was taken since the last look
  std::uint64_t looked_for_ = 0;  // units from the last look to the next
  std::uint64_t until_look_ = 0;
  bool is_spent_ = false;
  std::optional<double> seconds_;
  Clock::time_point end_;
};

}  // namespace strata
