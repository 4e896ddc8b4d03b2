#include "strata/codegen/scan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "strata/ir/scan_order.h"

namespace strata {

namespace {

constexpr std::int64_t kSequence = 4;  // elements of one iteration of a scan that is computed one after another

bool has_fronts(const LazyNode& scan) { return std::get<AxisArg>(scan.arg).op != Ops::MULACC && scan.src.size() == 2; }
bool is_grouped(const LazyNode& scan) {
  return has_fronts(scan) || is_grouped_scan(std::get<AxisArg>(scan.arg).op, scan.dtype);
}

Int quotient(const Int& a, std::int64_t b) { return a.is_number() ? Int(a.value() / b) : Int(a.expr() / b); }

}  // namespace

std::vector<Segment> scan_segments(const LoopAxis& axis, const LazyNode& scan) {
  const bool in_lanes = axis.segments[0].parts.back().kind == PartKind::lanes;
  const std::int64_t group = in_lanes || is_grouped(scan) ? kScanGroup : kSequence;
  const std::int64_t lanes = in_lanes ? kScanLanes : 1;
  // The parts of a group, or of the first elements of a group.
  const auto unit = [&](const Int& elements) {
    std::vector<Part> parts;
    const Int vectors = elements.is_number() ? Int((elements.value() + lanes - 1) / lanes) : Int(group / lanes);
    if (!(vectors == Int(1)) || !in_lanes) parts.push_back({PartKind::unroll, vectors});
    if (in_lanes) parts.push_back({PartKind::lanes, lanes});
    return parts;
  };
  std::vector<Segment> out;
  Int done = 0;  // elements of the segments so far
  const auto add = [&](std::size_t loops) {
    const std::int64_t length = loops == 1 ? group : kScanLengths[loops - 1];
    const Int count = quotient(axis.size - done, length);
    if (count == Int(0)) return;
    const bool is_shared = loops == kScanLengths.size() && axis.segments[0].parts[0].kind == PartKind::parallel;
    Segment segment{done, {{is_shared ? PartKind::parallel : PartKind::loop, count}}};
    for (std::size_t k = 1; k < loops; ++k) segment.parts.push_back({PartKind::loop, kScanRun, true});
    const std::vector<Part> parts = unit(group);
    segment.parts.insert(segment.parts.end(), parts.begin(), parts.end());
    out.push_back(std::move(segment));
    done = done + count * Int(length);
  };
  for (std::size_t loops = is_grouped(scan) ? kScanLengths.size() : 1; loops > 0; --loops) add(loops);
  const Int rest = axis.size - done;
  if (rest == Int(0)) return out;
  Segment last{done, {{PartKind::loop, 1}}, in_lanes || !rest.is_number()};
  const std::vector<Part> parts = unit(rest);
  last.parts.insert(last.parts.end(), parts.begin(), parts.end());
  out.push_back(std::move(last));
  return out;
}

std::vector<UOp> loops_along(const Nest& nest, std::size_t axis) {
  std::vector<UOp> out;
  for (std::size_t k = nest.order.size(); k-- > 0;)
    if (nest.axes[nest.order[k].axis].axis == axis) out.push_back(nest.order[k].loop);
  return out;
}

UOp ScanUOps::combined(Ops op, UOp total, UOp value) {
  if (total == identity_) return value;  // no total is -0
  return value == identity_ ? total : ops_.alu(combining_op(op), {total, value});
}

/// A new accumulator: rows that share a loop begin alike.
UOp ScanUOps::carry(UOp first, UOp loop) {
  return loop ? out_.graph.add(UOps::CARRY, first.dtype(), {first, loop}, {}, false) : first;
}

UOp ScanUOps::carried(UOp carry, UOp next, UOp loop) {
  if (!loop) return next;
  out_.carried.push_back(out_.graph.add(UOps::CARRIED, next.dtype(), {carry, next}));
  return out_.carried.back();
}

ScanUOps::Totals ScanUOps::first(const LazyNode& scan) {
  const Ops op = std::get<AxisArg>(scan.arg).op;
  const bool is_recurrence = op == Ops::MULACC;
  const UOp identity = out_.graph.constant(identity_of(is_recurrence ? Ops::SUM : op, scan.dtype));
  return Totals(is_recurrence ? scan.src.size() - 1 : kScanLengths.size(), identity);
}

/// The prefixes of a group, in vectors or one by one; see ir/scan_order.h.
std::vector<UOp> ScanUOps::prefixes(Ops op, std::vector<UOp> values, int lanes) {
  for (int half = 1; half < static_cast<int>(values.size()) * lanes; half *= 2)
    for (std::size_t k = 0; k < values.size(); ++k) {
      UOp& value = values[k];
      if (half < lanes) {
        value = doubled(op, value, half);
      } else if (const int partner = scan_partner(static_cast<int>(k) * lanes, half); partner >= 0) {
        const UOp from = values[static_cast<std::size_t>(partner / lanes)];
        const UOp total = lanes > 1 ? out_.graph.lane(from, lanes - 1) : from;
        value = ops_.alu(combining_op(op), {value, total});
      }
    }
  return values;
}

/// The step of `half` elements of prefixes in one vector. The lanes without a partner have that of their neighbours,
/// too: the shuffle is a broadcast in parts of the vector.
UOp ScanUOps::doubled(Ops op, UOp value, int half) {
  std::vector<UOp> partners, has_partner;
  for (int k = 0; k < value.dtype().lanes(); ++k) {
    partners.push_back(out_.graph.lane(value, scan_partner(k | half, half)));
    has_partner.push_back(out_.graph.constant(Scalar(scan_partner(k, half) >= 0)));
  }
  const UOp mask = out_.graph.add(UOps::VECTORIZE, dtypes::boolean.vec(value.dtype().lanes()), has_partner);
  const UOp shuffled = out_.graph.add(UOps::VECTORIZE, value.dtype(), partners);
  return ops_.alu(Ops::WHERE, {mask, ops_.alu(combining_op(op), {value, shuffled}), value});
}

/// `front`: the total in front of the block, where it is known.
std::vector<UOp> ScanUOps::grouped(Ops op, std::span<const UOp> loops, std::vector<UOp> values, bool in_lanes,
                                   UOp front, Totals& totals) {
  std::vector<UOp> out = prefixes(op, std::move(values), in_lanes ? static_cast<int>(kScanLanes) : 1);
  // In lanes each lane has the totals: a sum of vectors takes less than the way to a scalar and back.
  const int lanes = out.back().dtype().lanes();
  UOp total = in_lanes ? ops_.widened(out_.graph.lane(out.back(), lanes - 1), lanes) : out.back();
  Totals in_front = totals;
  if (front) in_front[2] = ops_.widened(front, lanes);
  for (std::size_t k = 0; k < std::min(loops.size(), front ? totals.size() - 1 : totals.size()); ++k) {
    const UOp first = ops_.widened(k + 1 == loops.size() ? totals[k] : identity_, lanes);
    in_front[k] = carry(first, loops[k]);
    total = carried(in_front[k], ops_.alu(combining_op(op), {in_front[k], total}), loops[k]);
    totals[k] = k + 1 == loops.size() ? total : identity_;
  }
  const UOp before = combined(op, combined(op, in_front[2], in_front[1]), in_front[0]);
  for (UOp& value : out) value = ops_.alu(combining_op(op), {value, before});
  return out;
}

std::vector<UOp> ScanUOps::in_sequence(Ops op, std::span<const UOp> loops, std::span<const UOp> values,
                                       Totals& totals) {
  const UOp loop = loops.empty() ? UOp() : loops[0];
  const int lanes = std::max(LaneOps::most_lanes(values), totals[0].dtype().lanes());
  const UOp before = carry(ops_.widened(totals[0], lanes), loop);
  std::vector<UOp> out;
  out.reserve(values.size());
  for (const UOp value : values) out.push_back(ops_.alu(combining_op(op), {out.empty() ? before : out.back(), value}));
  totals[0] = carried(before, out.back(), loop);
  return out;
}

/// The elements of a recurrence behind those of `before`, which become the last ones of the result.
std::vector<UOp> ScanUOps::one_after_another(std::span<const UOp> values, std::size_t factors,
                                             std::vector<UOp>& before) {
  const std::size_t count = values.size() / (factors + 1);
  std::vector<UOp> out, a(factors);
  out.reserve(count);
  for (std::size_t j = 0; j < count; ++j) {
    for (std::size_t k = 0; k < factors; ++k) a[k] = values[k * count + j];
    out.push_back(recurrences_.next(a, before, values[factors * count + j]));
    before.pop_back();
    before.insert(before.begin(), out.back());
  }
  return out;
}

/// one_after_another() of the lanes of vectors, or of scalars, which all lanes have.
std::vector<UOp> ScanUOps::in_places(std::span<const UOp> vectors, std::size_t factors, std::vector<UOp>& before) {
  constexpr int lanes = static_cast<int>(kScanLanes);
  std::vector<UOp> places, out;
  for (const UOp value : vectors)
    for (int k = 0; k < lanes; ++k) places.push_back(value.dtype().is_vector() ? out_.graph.lane(value, k) : value);
  const std::vector<UOp> results = one_after_another(places, factors, before);
  for (std::size_t k = 0; k < results.size(); k += lanes)
    out.push_back(out_.graph.add(UOps::VECTORIZE, results[k].dtype().vec(lanes), std::span(results).subspan(k, lanes)));
  return out;
}

std::vector<UOp> ScanUOps::recurrence(const LazyNode& scan, std::span<const UOp> loops, std::span<const UOp> values,
                                      bool in_lanes, Totals& totals) {
  const std::size_t factors = scan.src.size() - 1, count = values.size() / scan.src.size();
  const UOp loop = loops.empty() ? UOp() : loops[0];
  std::optional<RecurrenceUOps::Group> group;
  if (in_lanes && target_.reassociate && scan.dtype.is_float()) {
    std::vector<std::vector<UOp>> of;
    for (std::size_t k = 0; k < factors; ++k)
      of.emplace_back(values.begin() + static_cast<std::ptrdiff_t>(k * count),
                      values.begin() + static_cast<std::ptrdiff_t>((k + 1) * count));
    std::vector<UOp> terms;
    for (const UOp term : values.subspan(factors * count))
      terms.push_back(ops_.widened(term, static_cast<int>(kScanLanes)));
    group = recurrences_.group(of, terms);
  }
  const int lanes = group      ? static_cast<int>(kScanLanes)
                    : in_lanes ? 1
                               : std::max(LaneOps::most_lanes(values), totals[0].dtype().lanes());
  std::vector<UOp> before;
  for (const UOp total : totals) before.push_back(carry(ops_.widened(total, lanes), loop));
  std::vector<UOp> last = before, out;
  if (group) {
    std::vector<UOp> scalars;
    for (const UOp total : before) scalars.push_back(out_.graph.lane(total, 0));
    out = recurrences_.behind(*group, before, in_places(values, factors, scalars));
    for (std::size_t k = 0; k < factors; ++k)
      last[k] = ops_.widened(out_.graph.lane(out.back(), lanes - 1 - static_cast<int>(k)), lanes);
  } else if (in_lanes) {
    out = in_places(values, factors, last);
  } else {
    std::vector<UOp> all(values.begin(), values.end());
    for (UOp& value : all) value = ops_.widened(value, lanes);
    out = one_after_another(all, factors, last);
  }
  // An iteration of fewer elements than factors moves totals: each is read before the loop gives it its next value.
  for (std::size_t k = factors; k-- > 0;) totals[k] = carried(before[k], last[k], loop);
  return out;
}

std::vector<UOp> ScanUOps::results(const LazyNode& scan, std::span<const UOp> loops, std::span<const UOp> values,
                                   bool in_lanes, Totals& totals) {
  identity_ = first(scan)[0];
  const Ops op = std::get<AxisArg>(scan.arg).op;
  if (op == Ops::MULACC) return recurrence(scan, loops, values, in_lanes, totals);
  const UOp front = has_fronts(scan) ? values[0] : UOp();
  if (front) values = values.subspan(values.size() / 2);
  std::vector<UOp> all(values.begin(), values.end());
  const int lanes = in_lanes ? static_cast<int>(kScanLanes) : LaneOps::most_lanes(values);
  for (UOp& value : all) value = ops_.widened(value, lanes);
  if (in_lanes || is_grouped(scan)) return grouped(op, loops, std::move(all), in_lanes, front, totals);
  return in_sequence(op, loops, all, totals);
}

}  // namespace strata
