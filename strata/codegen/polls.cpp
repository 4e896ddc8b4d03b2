#include "strata/codegen/polls.h"

#include <algorithm>
#include <bit>

#include "strata/base/int_math.h"
#include "strata/base/sort_few.h"
#include "strata/codegen/estimate.h"

namespace strata {

namespace {

constexpr double kBetweenPolls = 0.01;           // seconds, by estimate
constexpr std::int64_t kUnknownTripCount = 256;  // the assumed trip count of a loop of symbolic size
constexpr std::int64_t kMostBetween = std::int64_t{1} << 20;

bool is_parallel(UOp loop) {
  const auto* begin = std::get_if<Variable>(&loop.src(0).arg());
  return begin != nullptr && begin->name() == kRangeBegin;
}

std::int64_t trip_count_of(UOp loop) {
  if (is_parallel(loop)) return 1;  // the analysis considers one iteration of the parallel loop
  const UOp begin = loop.src(0), end = loop.src(1);
  if (begin.op() != UOps::CONST) return 1;
  if (end.op() != UOps::CONST) return kUnknownTripCount;
  return std::max<std::int64_t>(end.constant().as_int() - begin.constant().as_int(), 1);
}

/// A LOOP in the list.
struct Level {
  std::size_t loop;
  double trip_count;  ///< its iterations in one iteration of the parallel loop: the product with the loops around it
  bool can_poll;      ///< no loop around it has a poll
  bool is_innermost = true;
};

}  // namespace

std::int64_t Polls::every(std::size_t loop) const {
  const auto it = std::find_if(loops.begin(), loops.end(), [&](const At& at) { return at.loop == loop; });
  return it != loops.end() ? it->every : 0;
}

Polls polls_of(const Kernel& kernel) {
  Polls out;
  out.slot = static_cast<int>(kernel.buffers.size());
  double seconds = estimated_seconds(vector_cost_of(kernel));
  if (kernel.parallel) seconds /= static_cast<double>(std::max<std::int64_t>(kernel.parallel->vmax(), 1));
  if (seconds <= kLongIteration) return out;
  const double wanted = seconds / kBetweenPolls;
  const auto poll = [&](const Level& at) {
    const double between = std::clamp(at.trip_count / wanted, 1.0, static_cast<double>(kMostBetween));
    const auto every = std::bit_floor(static_cast<std::uint64_t>(between));
    out.loops.push_back({at.loop, static_cast<std::int64_t>(every)});
  };
  std::vector<Level> open;
  for (const UOp u : kernel.uops) {
    if (u.op() == UOps::LOOP) {
      Level next{u.num(), static_cast<double>(trip_count_of(u)), !is_parallel(u)};
      if (!open.empty()) {
        Level& around = open.back();
        around.is_innermost = false;
        next.trip_count *= around.trip_count;
        const bool polls = out.every(around.loop) != 0;
        next.can_poll = next.can_poll && !polls && (around.can_poll || is_parallel(kernel.uops[around.loop]));
      }
      if (next.can_poll && next.trip_count >= wanted) poll(next);
      open.push_back(next);
    } else if (u.op() == UOps::ENDLOOP) {
      const Level& ended = open.back();
      if (ended.can_poll && ended.is_innermost && out.every(ended.loop) == 0) poll(ended);
      open.pop_back();
    }
  }
  sort_few(out.loops, [](const Polls::At& a, const Polls::At& b) { return a.loop < b.loop; });
  return out;
}

}  // namespace strata
