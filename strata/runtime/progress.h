// Progress: a progress bar of one line, with rate and remaining time, for long loops on a terminal. It draws nothing
// elsewhere.
//
//   Progress progress("training", steps);
//   for (...) progress.advance(1, "loss 0.12");
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace strata {

/// A progress bar for `total` steps (a total below 1 counts as 1). The destructor erases it. For one thread at a time.
class Progress {
 public:
  /// Draws to `to` if it is a terminal. @pre `to` stays open while this object lives
  Progress(std::string_view what, std::int64_t total, std::FILE* to = stderr);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Counts `by` more steps as done, up to the total, and replaces the note, also by an empty one. Redraws at most ten
  /// times a second, and when all steps are done.
  void advance(std::int64_t by = 1, std::string_view note = {});
  /// The text of the bar `seconds` after the beginning; before the first step without rate and time. E.g. 2 seconds
  /// after it: "training  [############............]  50 % 10/20  5.0/s  2.0 s left  loss 0.12".
  std::string line(double seconds) const;

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_, note_;
  std::int64_t total_, done_ = 0;
  std::FILE* to_;  // null if nothing is drawn
  Clock::time_point begin_ = Clock::now(), drawn_ = begin_;
};

}  // namespace strata
