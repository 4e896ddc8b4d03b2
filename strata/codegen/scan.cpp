#include "strata/codegen/scan.h"

#include <algorithm>
#include <utility>

#include "strata/ir/scan_order.h"

namespace strata {

namespace {

constexpr std::int64_t kSequence = 4;  // elements of one iteration of a scan that is computed one after another

bool is_grouped(const LazyNode& scan) { return is_grouped_scan(std::get<AxisArg>(scan.arg).op, scan.dtype); }

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
    Segment segment{done, {{PartKind::loop, count}}};
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
  const UOp identity = out_.graph.constant(identity_of(op == Ops::MULACC ? Ops::SUM : op, scan.dtype));
  return {identity, identity, identity};
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

std::vector<UOp> ScanUOps::grouped(Ops op, std::span<const UOp> loops, std::vector<UOp> values, bool in_lanes,
                                   Totals& totals) {
  std::vector<UOp> out = prefixes(op, std::move(values), in_lanes ? static_cast<int>(kScanLanes) : 1);
  // In lanes each lane has the totals: a sum of vectors takes less than the way to a scalar and back.
  const int lanes = out.back().dtype().lanes();
  UOp total = in_lanes ? ops_.widened(out_.graph.lane(out.back(), lanes - 1), lanes) : out.back();
  Totals in_front = totals;
  for (std::size_t k = 0; k < loops.size(); ++k) {
    const UOp first = ops_.widened(k + 1 == loops.size() ? totals[k] : identity_, lanes);
    in_front[k] = carry(first, loops[k]);
    total = carried(in_front[k], ops_.alu(combining_op(op), {in_front[k], total}), loops[k]);
    totals[k] = k + 1 == loops.size() ? total : identity_;
  }
  const UOp before = combined(op, combined(op, in_front[2], in_front[1]), in_front[0]);
  for (UOp& value : out) value = ops_.alu(combining_op(op), {value, before});
  return out;
}

std::vector<UOp> ScanUOps::in_sequence(const LazyNode& scan, std::span<const UOp> loops, std::span<const UOp> values,
                                       Totals& totals) {
  const Ops op = std::get<AxisArg>(scan.arg).op;
  const UOp loop = loops.empty() ? UOp() : loops[0];
  const int lanes = std::max(LaneOps::most_lanes(values), totals[0].dtype().lanes());
  const UOp before = carry(ops_.widened(totals[0], lanes), loop);
  const std::size_t count = values.size() / scan.src.size();
  std::vector<UOp> out;
  out.reserve(count);
  for (std::size_t k = 0; k < count; ++k) {
    const UOp last = out.empty() ? before : out.back();
    if (op != Ops::MULACC) {
      out.push_back(ops_.alu(combining_op(op), {last, values[k]}));
    } else if (target_.contract && scan.dtype.is_float()) {
      out.push_back(ops_.alu(Ops::MULACC, {values[k], last, values[count + k]}));
    } else {
      out.push_back(ops_.alu(Ops::ADD, {ops_.alu(Ops::MUL, {values[k], last}), values[count + k]}));
    }
  }
  totals[0] = carried(before, out.back(), loop);
  return out;
}

std::vector<UOp> ScanUOps::results(const LazyNode& scan, std::span<const UOp> loops, std::span<const UOp> values,
                                   bool in_lanes, Totals& totals) {
  identity_ = first(scan)[0];
  std::vector<UOp> all(values.begin(), values.end());
  const int lanes = in_lanes ? static_cast<int>(kScanLanes) : LaneOps::most_lanes(values);
  for (UOp& value : all) value = ops_.widened(value, lanes);
  const Ops op = std::get<AxisArg>(scan.arg).op;
  const bool is_recurrence = op == Ops::MULACC;
  if ((in_lanes && !is_recurrence) || is_grouped(scan)) return grouped(op, loops, std::move(all), in_lanes, totals);
  if (!in_lanes) return in_sequence(scan, loops, all, totals);
  std::vector<UOp> places, out;
  for (const UOp value : all)
    for (int k = 0; k < lanes; ++k) places.push_back(out_.graph.lane(value, k));
  const std::vector<UOp> results = in_sequence(scan, loops, places, totals);
  for (std::size_t k = 0; k < results.size(); k += static_cast<std::size_t>(lanes))
    out.push_back(out_.graph.add(UOps::VECTORIZE, scan.dtype.vec(lanes),
                                 std::span(results).subspan(k, static_cast<std::size_t>(lanes))));
  return out;
}

}  // namespace strata
