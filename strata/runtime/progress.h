// A line that says how far long work is: a bar, the rate, the time that is left. Nothing where the output is no terminal.
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

/// The line, for as long as this lives.
class Progress {
 public:
  /// Draws to `to` if that is a terminal, at most ten times a second. @pre it is open as long as this lives
  Progress(std::string_view what, std::int64_t total, std::FILE* to = stderr);
  ~Progress();  // ends the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(std::int64_t by = 1, std::string_view note = {});
  /// "training  [#####.....]  50 % 10/20  5.1/s  2 s left  loss 0.12", `seconds` after the beginning.
  std::string line(double seconds) const;

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_, note_;
  std::int64_t total_, done_ = 0;
  std::FILE* to_;  // null where nothing is drawn
  Clock::time_point begin_ = Clock::now(), drawn_ = begin_;
};

}  // namespace strata
