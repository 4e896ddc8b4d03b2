// Makes the loops of nests. A loop is identified by its path (the loops and segments around it), so that nests share
// their common outer loops.

#include "strata/codegen/nests.h"
#include "strata/base/sort_few.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

namespace strata {

std::vector<Expr> Nest::coordinates() const {
  std::vector<Expr> out;
  for (const Axis& p : axes) {
    Expr at = p.begin;
    for (const auto& [value, stride] : p.parts) at += value * stride.expr();
    out.push_back(at);
  }
  return out;
}

std::vector<Substitution> choices(const std::vector<std::pair<Variable, int>>& unrolled) {
  std::vector<Substitution> out = {{}};
  for (const auto& [variable, count] : unrolled) {
    std::vector<Substitution> longer;
    for (const Substitution& s : out)
      for (int k = 0; k < count; ++k) {
        longer.push_back(s);
        longer.back().emplace_back(variable, k);
      }
    out = std::move(longer);
  }
  return out;
}

// --- variables ---

UOp Nests::loop_of(const Variable& v) const {
  const auto it = loops_.find(std::string(v.name()));
  return it != loops_.end() ? it->second.loop : UOp();
}

int Nests::depth_of(const Variable& v) const {
  const auto it = loops_.find(std::string(v.name()));
  return it != loops_.end() ? it->second.depth : 0;
}

const Lanes* Nests::lanes_of(const Expr& a, const Expr& b) const {
  if (lanes_.empty()) return nullptr;
  for (const Expr* e : {&a, &b})
    for (const Variable& v : variables(*e))
      if (const auto it = lanes_.find(std::string(v.name())); it != lanes_.end()) return &it->second;
  return nullptr;
}

const Lanes* Nests::lanes(const std::string& name, int count) {
  return &lanes_.try_emplace(name, Lanes{Variable(name, 0, count - 1), count}).first->second;
}

Expr Nests::ranges_of(std::span<const Expr> expressions) const {
  std::vector<Expr> out;
  for (const Expr& e : expressions)
    for (const Variable& v : variables(e))
      if (const auto it = ranges_.find(std::string(v.name())); it != ranges_.end()) out.push_back(it->second);
  return all_of(out);
}

Expr Nests::have_iterations(const Expr& around, const Expr& index) const {
  std::vector<Expr> out;
  const std::vector<Variable> inside = variables(index);
  for (const Variable& v : variables(around)) {
    const auto it = ranges_.find(std::string(v.name()));
    const bool depends = std::any_of(inside.begin(), inside.end(), [&](const Variable& i) { return same(i, v); });
    if (it == ranges_.end() || depends) continue;
    // The range of a digit also contains the outer digits of its axis. A nest of digits has an iteration iff the index
    // with all digits 0 exists.
    Substitution first;
    for (const Variable& counter : variables(it->second))
      if (loops_.contains(std::string(counter.name()))) first.emplace_back(counter, Expr(0));
    out.push_back(substitute(it->second, first));
  }
  return all_of(out);
}

/// The counter of the loop `path`; makes the loop on the first call.
Variable Nests::loop(const std::string& path, const Int& trip_count, int depth, bool is_parallel, UOp around,
                     const std::function<Expr(const Variable&)>& range, const Bounds* bounds,
                     const std::optional<Expr>& last_end) {
  const auto [it, is_new] = paths_.try_emplace(path, Variable("ridx", 0, 0));
  if (!is_new) return it->second;
  // A loop that may have no iteration (of symbolic trip count, or 0) keeps a variable with at least two values: a
  // variable with one value would be simplified away, and its body would leave the loop.
  const bool has_iterations = trip_count.is_number() && trip_count.value() > 0;
  const std::int64_t last = std::max<std::int64_t>(trip_count.vmax(), has_iterations ? 1 : 2) - 1;
  it->second = Variable(detail::message("ridx", loops_.size()), 0, last);
  if (!has_iterations || range)
    ranges_.emplace(std::string(it->second.name()), range ? range(it->second) : it->second < trip_count.expr());
  const DType width = last < std::numeric_limits<std::int32_t>::max() ? dtypes::int32 : dtypes::int64;
  UOp begin = out_.graph.constant(width, 0), end = index_.integer(last_end.value_or(trip_count.expr()), width);
  if (bounds != nullptr) {
    begin = out_.graph.alu(Ops::WHERE, {bounds->holds, index_.integer(bounds->begin, width), begin});
    end = out_.graph.alu(Ops::WHERE, {bounds->holds, index_.integer(bounds->end, width), end});
  } else if (is_parallel) {
    begin = parallel_end(kRangeBegin), end = parallel_end(kRangeEnd);
    out_.parallel = trip_count;
  }
  const UOp made = out_.graph.add(UOps::LOOP, begin.dtype(), {begin, end}, {}, false);
  loops_.emplace(std::string(it->second.name()), LoopVariable{made, depth});
  out_.loops.emplace_back(it->second, made);
  if (around) out_.nest.push_back({made, around});
  return it->second;
}

const Nests::Bounds* Nests::bounds_of(std::size_t axis, const Part& part) const {
  const auto it = bounds_.find(axis);
  const std::vector<Segment>& segments = segments_of(axis);
  const Int& size = axes_.axes()[axis].size;
  const bool is_all = part.size == size && segments.size() == 1 && segments[0].size() == size;
  return it != bounds_.end() && is_all ? &it->second : nullptr;
}

UOp Nests::parallel_end(std::string_view name) {
  return parameter_(Variable(name, 0, std::numeric_limits<std::int64_t>::max()));
}

/// A loop that has one iteration in the call that ends the parallel range and none in other calls: the leftover
/// segments of the parallel axis run on one thread.
UOp Nests::last_call(const Int& trip_count) {
  if (last_call_) return last_call_;
  const UOp end = parallel_end(kRangeEnd), total = index_.integer(trip_count.expr(), dtypes::int64);
  const UOp zero = out_.graph.constant(dtypes::int64, 0), one = out_.graph.constant(dtypes::int64, 1);
  const UOp is_last = out_.graph.alu(Ops::CMPEQ, {end, total});
  const UOp begin = out_.graph.alu(Ops::WHERE, {is_last, zero, one});
  return last_call_ = out_.graph.add(UOps::LOOP, dtypes::int64, {begin, one}, {}, false);
}

// --- nests ---

/// The nest of the segments `segments`, one for each of `axes`. `path` identifies the loops around the nest;
/// `outer_lanes`: whether the lanes of an output axis are in use, so that lanes of this nest must be unrolled.
Nest Nests::nest(const std::vector<std::size_t>& axes, const std::vector<std::size_t>& segments, std::string path,
                 Role role, bool outer_lanes) {
  Nest out;
  out.segments = segments;
  struct Open {
    std::size_t depth, order, axis, part;
  };
  std::vector<Open> open;
  std::vector<std::pair<Variable, int>> along_lanes;  // copies of the axis with the lanes
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const std::size_t copies = out.copies.size();
    const Lanes* lanes = out.lanes;
    const Segment& segment = segments_of(axes[k])[segments[k]];
    out.axes.push_back({axes[k], segment.begin.expr(), {}});
    out.reaches_beyond = out.reaches_beyond || segment.reaches_beyond;
    std::size_t depth = 0;
    for (std::size_t p = 0; p < segment.parts.size(); ++p) {
      Int stride = 1;
      for (std::size_t q = p + 1; q < segment.parts.size(); ++q) stride *= segment.parts[q].size;
      out.axes[k].parts.emplace_back(0, stride);
      const bool is_loop = segment.parts[p].kind <= PartKind::parallel;
      if (is_loop)
        open.push_back({segment.parts[p].is_inside ? depth - 1 : depth++, order_of(axes[k], k, role), k, p});
      else
        unrolled_part(segment.parts[p], detail::message("a", axes[k], "s", segments[k], "p", p), outer_lanes,
                      out.axes[k].parts[p].first, out);
    }
    if (out.lanes == lanes) continue;
    const auto first = out.copies.begin() + static_cast<std::ptrdiff_t>(copies);
    along_lanes.assign(first, out.copies.end());
    out.copies.erase(first, out.copies.end());
  }
  // Last, so that they change fastest: what their vectors share, a broadcast element, is used at once and needs no
  // register for long.
  out.copies.insert(out.copies.end(), along_lanes.begin(), along_lanes.end());
  sort_few(open, [](const Open& a, const Open& b) {
    return std::tie(a.depth, a.order, a.part) < std::tie(b.depth, b.order, b.part);
  });
  UOp around;
  std::vector<std::int64_t> trip_counts;  // of out.loops
  int depth = role == Role::output ? 1 : 100;
  for (std::size_t k = 0; k < axes.size() && role == Role::output; ++k)
    around = leftover(axes[k], segments[k], around, out);
  for (const Open& o : open) {
    const Part& part = segments_of(axes[o.axis])[segments[o.axis]].parts[o.part];
    path += detail::message("/", axes[o.axis], ".", segments[o.axis], ".", o.part);
    out.order.push_back({o.axis, o.part, {}});
    if (part.size == Int(1) && part.kind == PartKind::loop) continue;
    const std::size_t known = loops_.size();
    const Bounds* const bounds = role == Role::reduction ? bounds_of(axes[o.axis], part) : nullptr;
    if (bounds != nullptr) path += detail::message("[", bounds->begin.render(), ",", bounds->end.render(), "]");
    const Variable v = loop(path, part.size, depth++, part.kind == PartKind::parallel, around,
                            range_of(out, o.axis, o.part), bounds, end_of(out, o.axis, o.part));
    if (loops_.size() != known) out_.counters.emplace_back(v, axes[o.axis]);
    around = loops_.at(std::string(v.name())).loop;
    out.loops.push_back(around);
    trip_counts.push_back(part.size.vmax());
    out.order.back().loop = around;
    out.axes[o.axis].parts[o.part].first = v;
  }
  if (role == Role::reduction)
    out.levels = levels_of(out, trip_counts, static_cast<std::size_t>(axes_.axes()[axes[0]].group));
  return out;
}

/// Along the axis of a scan: that all elements of an iteration are inside of the axis. Products of symbolic sizes need
/// the condition in this form.
std::function<Expr(const Variable&)> Nests::range_of(const Nest& nest, std::size_t axis, std::size_t part) const {
  const Nest::Axis& along = nest.axes[axis];
  if (static_cast<int>(along.axis) != axes_.scan_axis() || axes_.axes()[along.axis].size.is_number()) return {};
  Expr at = along.begin;
  for (std::size_t p = 0; p < part; ++p) at += along.parts[p].first * along.parts[p].second.expr();
  const Expr stride = along.parts[part].second.expr(), size = axes_.axes()[along.axis].size.expr();
  return [at, stride, size](const Variable& counter) { return at + counter * stride + (stride - 1) < size; };
}

/// The end of a loop of an axis with an end (KernelAxes::end_at()).
std::optional<Expr> Nests::end_of(const Nest& nest, std::size_t axis, std::size_t part) const {
  const Nest::Axis& along = nest.axes[axis];
  const Variable* const end = axes_.end_of(along.axis);
  if (end == nullptr) return std::nullopt;
  Expr at = along.begin;
  for (std::size_t p = 0; p < part; ++p) at += along.parts[p].first * along.parts[p].second.expr();
  const Segment& segment = segments_of(along.axis)[nest.segments[axis]];
  return min(segment.parts[part].size.expr(), ceildiv(*end - at, along.parts[part].second.expr()));
}

std::size_t Nests::order_of(std::size_t axis, std::size_t at, Role role) const {
  if (role == Role::reduction) return at;
  const auto& order = axes_.order();
  return static_cast<std::size_t>(std::find(order.begin(), order.end(), axis) - order.begin());
}

UOp Nests::leftover(std::size_t axis, std::size_t segment, UOp around, Nest& out) {
  if (static_cast<int>(axis) != axes_.parallel_axis()) return around;
  const std::vector<Segment>& segments = segments_of(axis);
  if (segments[segment].parts[0].kind == PartKind::parallel) return around;
  for (const Segment& s : segments)
    if (s.parts[0].kind == PartKind::parallel) around = last_call(s.parts[0].size);
  out.loops.push_back(around);
  return around;
}

void Nests::unrolled_part(const Part& part, const std::string& name, bool outer_lanes, Expr& value, Nest& out) {
  const int count = static_cast<int>(part.size.value());
  if (part.kind == PartKind::lanes && !outer_lanes) {
    out.lanes = lanes(detail::message("lane_", name), count);
    value = out.lanes->variable;
    return;
  }
  const Variable v(detail::message("_uidx_", name), 0, count - 1);
  value = v;
  const bool one_accumulator = part.kind == PartKind::unroll || part.kind == PartKind::lanes;
  (one_accumulator ? out.iterations : out.copies).emplace_back(v, count);
}

/// All choices of one segment per axis, the last axis fastest.
std::vector<std::vector<std::size_t>> Nests::segment_choices(const std::vector<std::size_t>& axes) const {
  std::vector<std::vector<std::size_t>> out = {{}};
  for (const std::size_t a : axes) {
    std::vector<std::vector<std::size_t>> longer;
    for (const auto& choice : out)
      for (std::size_t s = 0; s < segments_of(a).size(); ++s) {
        if (segments_of(a)[s].size().vmax() == 0) continue;  // empty for all values of the variables
        longer.push_back(choice);
        longer.back().push_back(s);
      }
    out = std::move(longer);
  }
  return out;
}

std::vector<Nest> Nests::of_outputs(const std::vector<std::size_t>& axes) {
  std::vector<Nest> out;
  for (const auto& segments : segment_choices(axes)) out.push_back(nest(axes, segments, "out", Role::output, false));
  return out;
}

std::vector<Nest> Nests::of_group(const ReduceGroup& group, std::span<const Expr> around, std::string_view apart) {
  std::vector<std::size_t> axes;
  for (std::size_t j = 0; j < group.count; ++j) axes.push_back(group.first + j);
  bool outer_lanes = false;
  std::set<std::string> names;
  for (const Expr& e : around)
    for (const Variable& v : variables(e)) {
      if (loops_.contains(std::string(v.name()))) names.emplace(v.name());
      outer_lanes = outer_lanes || lanes_.contains(std::string(v.name()));
    }
  std::string path = detail::message("group", group.first, ".", apart_, apart, ":");
  for (const std::string& name : names) path += detail::message(name, ",");
  const auto number = static_cast<std::size_t>(&group - axes_.groups().data());
  if (orders_[number] == SumOrder::defined) return {ordered(group, path, outer_lanes)};
  std::vector<Nest> out;
  for (const auto& segments : segment_choices(axes)) {
    // The nests run one after another and share no loops.
    std::string own = path;
    for (const std::size_t s : segments) own += detail::message(s, "|");
    out.push_back(nest(axes, segments, own, Role::reduction, outer_lanes));
  }
  return out;
}

}  // namespace strata
