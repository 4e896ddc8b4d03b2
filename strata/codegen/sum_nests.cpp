// The loops of ordered sums (SumOrder::defined) and of long bounded sums, which have nested accumulators (levels).

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "strata/codegen/nests.h"
#include "strata/codegen/scan.h"
#include "strata/ir/sum_order.h"

namespace strata {

namespace {

// A bounded sum over at most kFewIterations iterations has one level. In a longer sum the innermost accumulator adds up
// a run of iterations, and each accumulator around it a smaller number of these sums.
constexpr std::int64_t kFewIterations = 64;
constexpr std::int64_t kRuns[] = {64, 48, 32};
constexpr std::int64_t kTripCountsOfLevels[] = {32, 16, 8, 4, 2};
constexpr std::int64_t kLongestChain = 64;  // beyond the logarithm of the iterations, as in ir/sum_order.h
// Each value of a paired sum is two additions.
std::int64_t additions_of(SumOrder order) { return order == SumOrder::paired ? 2 : 1; }

bool is_loop(const Part& part) { return part.kind == PartKind::loop; }

/// The n in (most / 2, most] with the least remainder trip_count % n; the largest of several.
std::int64_t fitting_trip_count(std::int64_t trip_count, std::int64_t most) {
  std::int64_t best = most;
  for (std::int64_t n = most; n > most / 2; --n)
    if (trip_count % n < trip_count % best) best = n;
  return best;
}

/// Splits loop `at` of the segment into an outer loop and an inner loop of `inner` iterations; the remaining iterations
/// become a segment of their own.
std::vector<Segment> cut_loop(const Segment& segment, std::size_t at, std::int64_t inner) {
  const Int trip_count = segment.parts[at].size;
  const Int whole = trip_count.is_number() ? Int(trip_count.value() / inner) : Int(trip_count.expr() / inner);
  const Int rest = trip_count - whole * Int(inner);
  Int stride = 1;
  for (std::size_t k = at + 1; k < segment.parts.size(); ++k) stride *= segment.parts[k].size;
  std::vector<Segment> out = {segment};
  out[0].parts[at].size = whole;
  out[0].parts.insert(out[0].parts.begin() + static_cast<std::ptrdiff_t>(at) + 1, Part{PartKind::loop, inner, true});
  if (rest == Int(0)) return out;
  out.push_back(segment);
  out[1].begin = segment.begin + whole * Int(inner) * stride;
  out[1].parts[at].size = rest;
  return out;
}

/// The largest number of terms that one accumulator would add up in one of these segments.
std::int64_t longest_sum(std::span<const Segment> segments) {
  std::int64_t out = 1;
  for (const Segment& s : segments) {
    std::int64_t trip_count = 1;
    for (const Part& p : s.parts)
      if (is_loop(p) || p.kind == PartKind::unroll)
        if (!try_mul(trip_count, std::max<std::int64_t>(p.size.vmax(), 1), trip_count)) return trip_count;
    out = std::max(out, trip_count);
  }
  return out;
}

/// Chooses the lengths of levels for axes with these trip counts, outermost first: the chain of additions is at most
/// kLongestChain plus the logarithm; among these the choice with the fewest additions between levels, then the fewest
/// levels. Each iteration adds `additions` times.
SumLevels levels_for(std::span<const std::int64_t> trip_counts, std::int64_t all, std::int64_t additions) {
  const auto logarithm = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(all))) - 1;
  const std::int64_t longest = kLongestChain + logarithm;
  SumLevels best{kRuns[2] / additions, kTripCountsOfLevels[4]};
  auto fewest = std::pair(std::numeric_limits<std::int64_t>::max(), 0);
  for (const std::int64_t longest_run : kRuns) {
    const std::int64_t most = longest_run / additions;
    std::int64_t run = 1, room = most;
    for (std::size_t a = trip_counts.size(); a-- > 0 && room > 1; room /= trip_counts[a]) {
      run *= trip_counts[a] <= room ? trip_counts[a] : fitting_trip_count(trip_counts[a], room);
      if (trip_counts[a] > room) break;
    }
    for (const std::int64_t level : kTripCountsOfLevels) {
      std::int64_t left = (all - 1) / run + 1, chain = additions * run - 1;
      auto cost = std::pair(std::int64_t{0}, 1);  // sums added, levels
      for (; left > 1; ++cost.second) {
        const std::int64_t next = left > level ? fitting_trip_count(left, level) : left;
        cost.first += left;
        chain += next - 1;
        left = (left - 1) / next + 1;
      }
      if (chain <= longest && cost < fewest) best = {most, level}, fewest = cost;
    }
  }
  return best;
}

/// Splits the loops of the segments into levels: `room` iterations in the innermost loop, at most `level` in each loop
/// around it.
std::vector<Segment> cut_long(const std::vector<Segment>& segments, std::int64_t room, std::int64_t level) {
  std::vector<Segment> out;
  std::vector<Segment> open(segments.rbegin(), segments.rend());
  while (!open.empty()) {
    const Segment s = std::move(open.back());
    open.pop_back();
    std::int64_t most = room;
    std::size_t at = s.parts.size();
    // Find a loop that is too long. Loops further inside have been split already, or are short.
    for (std::size_t k = s.parts.size(); k-- > 0;) {
      if (!is_loop(s.parts[k])) continue;
      if (s.parts[k].size.vmax() > most) {
        at = k;
        break;
      }
      most = level;
    }
    if (at == s.parts.size()) {
      out.push_back(s);
      continue;
    }
    const Int& trip_count = s.parts[at].size;
    const std::vector<Segment> cut =
        cut_loop(s, at, trip_count.is_number() ? fitting_trip_count(trip_count.value(), most) : most);
    open.insert(open.end(), cut.rbegin(), cut.rend());
  }
  return out;
}

}  // namespace

std::vector<SumOrder> sum_orders(const LazyOp& kernel, const KernelAxes& axes, const Target& target) {
  std::vector<SumOrder> out(axes.groups().size(), SumOrder::free);
  if (target.reassociate && !target.bounded) return out;
  for (const LazyNode* n : postorder(kernel))
    if (is_ordered(n->op, n->dtype))
      out[static_cast<std::size_t>(&axes.group_of(n) - axes.groups().data())] = !target.reassociate ? SumOrder::defined
                                                                                : n->src[0].op() == Ops::DOT2
                                                                                    ? SumOrder::paired
                                                                                    : SumOrder::bounded;
  return out;
}

Nests::Nests(const KernelAxes& axes, Lowered& out, IndexUOps& index, std::function<UOp(const Variable&)> parameter,
             std::vector<SumOrder> orders)
    : axes_(axes),
      out_(out),
      index_(index),
      parameter_(std::move(parameter)),
      orders_(std::move(orders)),
      levels_(axes.groups().size()) {
  for (const LoopAxis& axis : axes.axes()) segments_.push_back(axis.segments);
  if (const int scan = axes.scan_axis(); scan >= 0)
    segments_[static_cast<std::size_t>(scan)] =
        scan_segments(axes.axes()[static_cast<std::size_t>(scan)], *axes.scan()->node);
  for (std::size_t g = 0; g < axes.groups().size(); ++g) {
    if (orders_[g] != SumOrder::bounded && orders_[g] != SumOrder::paired) continue;
    const ReduceGroup& group = axes.groups()[g];
    std::int64_t all = 1;
    std::vector<std::int64_t> trip_counts;
    for (std::size_t a = group.first; a < group.first + group.count; ++a) {
      trip_counts.push_back(longest_sum(segments_[a]));
      if (!try_mul(all, trip_counts.back(), all)) all = std::numeric_limits<std::int64_t>::max();
    }
    const std::int64_t additions = additions_of(orders_[g]);
    if (all <= kFewIterations / additions) continue;
    levels_[g] = levels_for(trip_counts, all, additions);
    std::int64_t room = levels_[g].run;
    for (std::size_t a = trip_counts.size(); a-- > 0;) {
      std::vector<Segment>& segments = segments_[group.first + a];
      segments = cut_long(segments, room > 1 ? room : levels_[g].level, levels_[g].level);
      room = trip_counts[a] <= room ? room / trip_counts[a] : 1;
    }
  }
}

/// Groups the loops of a nest into levels, from the innermost loop on: loops share an accumulator as long as their
/// product of trip counts is within the length of the level.
std::vector<std::size_t> Nests::levels_of(const Nest& nest, std::span<const std::int64_t> trip_counts,
                                          std::size_t group) const {
  if (orders_[group] == SumOrder::free) return {trip_counts.size()};
  std::vector<std::size_t> out = {0};  // innermost first
  std::int64_t most = levels_[group].run, together = 1;
  for (const auto& [variable, count] : nest.iterations) together *= count;
  for (std::size_t k = trip_counts.size(); k-- > 0;) {
    const std::int64_t more = std::max<std::int64_t>(trip_counts[k], 1);
    if (out.back() > 0 && together > most / more) {
      out.push_back(0);
      most = levels_[group].level;
      together = 1;
    }
    together *= more;
    ++out.back();
  }
  return {out.rbegin(), out.rend()};
}

/// The nest of an ordered sum, with a loop for each digit of sum_order(). If an axis has lanes, these are its digits
/// below kSumLanes.
Nest Nests::ordered(const ReduceGroup& group, const std::string& path, bool outer_lanes) {
  Nest out;
  out.is_ordered = true;
  Ints sizes;
  int lane_axis = -1;
  for (std::size_t j = 0; j < group.count; ++j) {
    const LoopAxis& axis = axes_.axes()[group.first + j];
    sizes.push_back(axis.size);
    out.axes.push_back({group.first + j, Expr(0), {}});
    for (const Part& p : axis.segments[0].parts)
      if (p.kind == PartKind::lanes && !outer_lanes) lane_axis = static_cast<int>(j);
  }
  open_digits(out, {sizes.data(), sizes.size()}, path, lane_axis);
  return out;
}

void Nests::open_digits(Nest& out, std::span<const Int> sizes, std::string path, int lane_axis) {
  UOp around;
  int depth = 100;
  const std::vector<SumDigit> digits = sum_order(sizes);
  bool has_run = false;
  Expr in_front = 0;  // the index along the lane axis in front of the digit index // kSumLanes % S
  for (std::size_t d = 0; d < digits.size(); ++d) {
    const SumDigit& digit = digits[d];
    const bool in_lanes = static_cast<int>(digit.axis) == lane_axis;
    if (in_lanes && digit.stride < kSumLanes) {
      out.scalar_levels = out.levels.size();
      continue;
    }
    Expr& at = out.axes[digit.axis].begin;
    const Expr size = sizes[digit.axis].expr();
    const bool is_run = in_lanes && digit.stride == kSumLanes;
    if (is_run) in_front = at;
    has_run = has_run || is_run;
    // Vectors that are not full are left to the tail.
    const std::int64_t whole = is_run ? digit.stride : 1;
    const Int trip_count = min(Expr(digit.count), (size - at + (digit.stride - whole)) / digit.stride);
    path += detail::message("/", d);
    if (!digit.continues || out.levels.empty()) out.levels.push_back(0);
    if (trip_count == Int(1)) continue;
    const Expr begin = at;
    const Variable v = loop(path, trip_count, depth++, false, around, [&](const Variable& counter) {
      return begin + counter * digit.stride + (whole - 1) < size;
    });
    around = loops_.at(std::string(v.name())).loop;
    out.loops.push_back(around);
    ++out.levels.back();
    at += v * digit.stride;
  }
  if (lane_axis < 0) return;
  const auto axis = static_cast<std::size_t>(lane_axis);
  if (!has_run && sizes[axis].expr().vmin() < kSumLanes) {  // one whole vector, or none
    const Expr begin = out.axes[axis].begin, all = sizes[axis].expr();
    const Variable v = loop(path + "/v", all / kSumLanes, depth, false, around, [&](const Variable& counter) {
      return begin + counter * kSumLanes + (kSumLanes - 1) < all;
    });
    out.loops.push_back(loops_.at(std::string(v.name())).loop);
    out.levels.push_back(1);
    out.axes[axis].begin += v * kSumLanes;
  }
  out.lanes = lanes(detail::message("lane_a", out.axes[axis].axis), static_cast<int>(kSumLanes));
  out.axes[axis].begin += out.lanes->variable;
  const Expr size = sizes[axis].expr(), filled = size / kSumLanes * kSumLanes;
  if (same(filled, size)) return;
  Nest::Tail tail{out.coordinates(), 1};
  tail.coordinates[axis] = filled + out.lanes->variable;
  constexpr std::int64_t run = kSumLanes * kSumRun;
  tail.guard = (out.lanes->variable < size - filled) && (in_front == filled / run * run);
  out.tail = std::move(tail);
}

}  // namespace strata
