#include "strata/runtime/progress.h"

#include <unistd.h>

#include <algorithm>

#include "strata/base/check.h"

namespace strata {

namespace {

constexpr std::int64_t kWidth = 24;
constexpr auto kBetween = std::chrono::milliseconds(100);

/// A number with one decimal below 10, else without.
std::string brief(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 10 ? "%.1f" : "%.0f", value);
  return text;
}

}  // namespace

Progress::Progress(std::string_view what, std::int64_t total, std::FILE* to)
    : what_(what), total_(std::max<std::int64_t>(total, 1)), to_(isatty(fileno(to)) != 0 ? to : nullptr) {}

Progress::~Progress() {
  if (to_ == nullptr) return;
  std::fprintf(to_, "\r\033[K");
  std::fflush(to_);
}

void Progress::advance(std::int64_t by, std::string_view note) {
  done_ = std::min(done_ + by, total_);
  note_ = note;
  const Clock::time_point now = Clock::now();
  if (to_ == nullptr || (now - drawn_ < kBetween && done_ < total_)) return;
  drawn_ = now;
  std::fprintf(to_, "\r\033[K%s", line(std::chrono::duration<double>(now - begin_).count()).c_str());
  std::fflush(to_);
}

std::string Progress::line(double seconds) const {
  const auto full = static_cast<std::size_t>(kWidth * done_ / total_);
  const std::string bar = std::string(full, '#') + std::string(static_cast<std::size_t>(kWidth) - full, '.');
  std::string out = detail::message(what_, "  [", bar, "]  ", 100 * done_ / total_, " % ", done_, "/", total_);
  if (seconds > 0 && done_ > 0) {
    const double rate = static_cast<double>(done_) / seconds;
    out += detail::message("  ", brief(rate), "/s  ", brief(static_cast<double>(total_ - done_) / rate), " s left");
  }
  if (!note_.empty()) out += detail::message("  ", note_);
  return out;
}

}  // namespace strata
