// Meter: the slow path, which looks at the clock and at the work that is left.
#include "strata/base/meter.h"

#include <algorithm>
#include <string>
#include <utility>

#include "strata/base/check.h"

namespace strata {
namespace {

constexpr std::uint64_t kUnitsBetweenLooks = 1 << 14;  // a fraction of a millisecond

Meter::Clock::time_point after(double seconds) {
  constexpr double longest = 1e9;  // 30 years; the clock can represent it
  const std::chrono::duration<double> span(std::min(seconds, longest));
  return Meter::Clock::now() + std::chrono::duration_cast<Meter::Clock::duration>(span);
}

/// A number without trailing zeros: "0.5", "2".
std::string short_text(double seconds) {
  std::string text = std::to_string(seconds);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

Meter::Meter(std::uint64_t units, std::optional<double> seconds)
    : outer_(current_), units_(units), left_(units), seconds_(seconds) {
  if (seconds_) end_ = after(*seconds_);
  current_ = this;
}

// NOTE: after a limit is reached, until_look_ stays 0, so that every call comes here.
void Meter::look(std::uint64_t units) {
  left_ -= std::exchange(looked_for_, 0) - std::exchange(until_look_, 0);
  if (units > left_) {
    left_ = 0;
    is_spent_ = true;
  }
  STRATA_CHECK(!is_spent_, budget, "[budget] the request needs more than ", units_, " units of work");
  left_ -= units;
  if (seconds_ && Clock::now() >= end_)
    throw Error(ErrorKind::budget,
                detail::message("[budget] the request takes longer than ", short_text(*seconds_), " seconds"));
  looked_for_ = until_look_ = std::min(left_, kUnitsBetweenLooks);
}

}  // namespace strata
