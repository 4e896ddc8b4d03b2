#include "strata/spmd/part.h"

#include <algorithm>
#include <map>

#include "strata/graph/absorb.h"

namespace strata {

namespace {

std::int64_t length(const std::pair<std::int64_t, std::int64_t>& interval) { return interval.second - interval.first; }

Ints shape_of(const Intervals& box) {
  Ints out;
  for (const auto& interval : box) out.push_back(length(interval));
  return out;
}

Mask mask_of(const Intervals& box) {
  Mask out;
  for (const auto& [begin, end] : box) out.push_back({begin, end});
  return out;
}

/// The digits of the axes of a sharding made of splits, by axis, those of larger places first.
std::vector<std::vector<Sharding::Digit>> digits_by_axis(const Sharding& sharding) {
  std::vector<std::vector<Sharding::Digit>> out(sharding.shape().size());
  for (const Sharding::Digit& digit : sharding.digits())
    if (digit.size > 1) out[digit.axis].push_back(digit);
  for (auto& digits : out)
    std::sort(digits.begin(), digits.end(), [](const auto& a, const auto& b) { return a.place > b.place; });
  return out;
}

/// The axes of a padded tensor, cut into digits: their sizes, and what of them a rank has.
struct Digits {
  Ints sizes;    // all digits, by axis, the slowest first
  Ints present;  // 1 for those of ranks
  Mask own;      // the rank's
  Padding around;
};
Digits digits_of(const Sharding& sharding, std::int64_t rank) {
  Digits out;
  for (const auto& digits : digits_by_axis(sharding))
    for (const Sharding::Digit& digit : digits) {
      const std::int64_t at = digit.of_rank ? digit.of(rank) : 0, count = digit.of_rank ? 1 : digit.size;
      out.sizes.push_back(digit.size);
      out.present.push_back(count);
      out.own.push_back({at, at + count});
      out.around.push_back({at, digit.size - at - count});
    }
  return out;
}

Mask within(const Index& shape) {
  Mask out;
  for (const std::int64_t size : shape) out.push_back({0, size});
  return out;
}

/// Two runs of axes, of a RESHAPE's source and of its result, with as many elements.
struct Group {
  std::size_t source = 0, source_end = 0, result = 0, result_end = 0;
};
/// The shortest such runs. @pre the shapes have as many elements, at least 1
std::vector<Group> groups_of(const Index& source, const Index& result) {
  std::vector<Group> out;
  std::size_t i = 0, j = 0;
  while (i < source.size() || j < result.size()) {
    Group group{i, i, j, j};
    std::int64_t a = 1, b = 1;
    do {
      if (a <= b && group.source_end < source.size())
        a *= source[group.source_end++];
      else if (group.result_end < result.size())
        b *= result[group.result_end++];
      else
        a *= source[group.source_end++];
    } while (a != b);
    i = group.source_end, j = group.result_end;
    out.push_back(group);
  }
  return out;
}

class Parts {
 public:
  Parts(std::span<const RankMemory> memory, int first_slot) : memory_(memory), first_(first_slot) {}

  // NOTE: the recursion is as deep as the kernel, which has a few hundred nodes at most.
  LazyOp of(const LazyOp& n, const Intervals& box) {
    const auto key = std::pair(n.node(), std::vector(box.begin(), box.end()));
    if (const auto it = made_.find(key); it != made_.end()) return it->second;
    LazyOp out = made(n, box);
    STRATA_ASSERT(out.shape() == shape_of(box), "[part] ", spec_name(n.op()), " of shape ", render(out.shape()),
                  " in place of ", render(shape_of(box)));
    return made_.emplace(key, out).first->second;
  }
  std::vector<int> slots;
  bool cuts_axis = false;

 private:
  LazyOp made(const LazyOp& n, const Intervals& box) {
    if (std::any_of(box.begin(), box.end(), [](const auto& i) { return length(i) == 0; })) return zero(n, box);
    switch (n.op()) {
      case Ops::LOAD: return load(n, box);
      case Ops::CONST: {
        const auto& arg = std::get<ConstArg>(n.arg());
        return constant(arg.value, arg.st.shrink(mask_of(box)).simplify());
      }
      case Ops::IOTA: return LazyOp::iota(n.dtype(), std::get<ShapeTracker>(n.arg()).shrink(mask_of(box)).simplify());
      case Ops::CAST: return of(n.src(0), box).cast(n.dtype());
      case Ops::BITCAST: return of(n.src(0), box).bitcast(n.dtype());
      case Ops::GATHER: {
        Intervals values = box;
        values.push_back({0, n.src(0).shape().back().value()});
        return LazyOp::gather(of(n.src(0), values), of(n.src(1), box));
      }
      case Ops::SCATTER: return scatter(n, box);
      case Ops::ORDER: {
        const auto& arg = std::get<OrderArg>(n.arg());
        return shrunk(n, box, arg.axis, [&](const Intervals& whole) {
          Intervals rows = whole;
          const auto axis = static_cast<std::size_t>(arg.axis);
          rows[axis] = {0, n.src(0).shape()[axis].value()};
          return LazyOp::order(of(n.src(0), rows), arg, n.shape()[axis]);
        });
      }
      default: break;
    }
    if (is_movement(n.op())) return movement(n, box);
    if (is_reduce(n.op())) {
      Intervals source = box;
      for (const std::int64_t axis : std::get<Axes>(n.arg()))
        source[static_cast<std::size_t>(axis)] = {0, n.src(0).shape()[static_cast<std::size_t>(axis)].value()};
      return LazyOp::reduce(n.op(), of(n.src(0), source), std::get<Axes>(n.arg()));
    }
    if (is_scan(n.op())) return scan(n, box);
    STRATA_ASSERT(is_elementwise(n.op()), "[part] ", spec_name(n.op()), " in a kernel");
    std::vector<LazyOp> operands;
    for (const LazyOp& s : n.src()) operands.push_back(of(s, box));
    return LazyOp::alu(n.op(), operands);
  }

  /// A constant whose addresses, which say nothing, are the same for all parts.
  static LazyOp constant(const Scalar& value, const ShapeTracker& st) {
    if (st.views().size() != 1) return LazyOp::constant(value, st);
    const View& view = st.views()[0];
    if (!view.mask()) return LazyOp::constant(value, view.shape());
    const Ints strides(view.shape().size(), 0);
    return LazyOp::constant(value, ShapeTracker({View::create(view.shape(), strides, 0, view.mask())}));
  }

  static LazyOp zero(const LazyOp& n, const Intervals& box) {
    return LazyOp::constant(Scalar(0).cast(n.dtype()), shape_of(box));
  }

  LazyOp load(const LazyOp& n, const Intervals& box) {
    const auto& arg = std::get<BufferArg>(n.arg());
    const RankMemory& memory = memory_[static_cast<std::size_t>(arg.slot)];
    if (memory.size == 0) return zero(n, box);
    std::vector<View> views = memory.whole.views();
    const ShapeTracker own = arg.st.shrink(mask_of(box)).simplify();
    views.insert(views.end(), own.views().begin(), own.views().end());
    auto it = std::find(slots.begin(), slots.end(), arg.slot);
    if (it == slots.end()) it = slots.insert(it, arg.slot);
    return LazyOp::load(first_ + static_cast<int>(it - slots.begin()), n.dtype(),
                        ShapeTracker(std::move(views)).simplify(), memory.size);
  }

  /// `make` of the box with all of `axis`, shrunk to the box.
  template <class F>
  LazyOp shrunk(const LazyOp& n, const Intervals& box, std::int64_t axis, const F& make) {
    const auto a = static_cast<std::size_t>(axis);
    Intervals whole = box;
    whole[a] = {0, n.shape()[a].value()};
    if (whole == box) return make(box);
    cuts_axis = true;
    Mask kept = mask_of(box);
    for (std::size_t j = 0; j < kept.size(); ++j)
      if (j != a) kept[j] = {0, length(box[j])};
    return make(whole).shrink(kept);
  }

  LazyOp scan(const LazyOp& n, const Intervals& box) {
    const auto& arg = std::get<AxisArg>(n.arg());
    return shrunk(n, box, arg.axis, [&](const Intervals& whole) {
      std::vector<LazyOp> sources;
      for (const LazyOp& s : n.src()) sources.push_back(of(s, whole));
      if (arg.op == Ops::MULACC)
        return LazyOp::recurrence(std::span(sources).first(sources.size() - 1), sources.back(), arg.axis);
      return sources.size() == 2 ? LazyOp::scan_behind(arg.op, sources[0], sources[1], arg.axis)
                                 : LazyOp::scan(arg.op, sources[0], arg.axis);
    });
  }
  LazyOp scatter(const LazyOp& n, const Intervals& box) {
    const auto& arg = std::get<AxisArg>(n.arg());
    return shrunk(n, box, arg.axis, [&](const Intervals& whole) {
      const auto axis = static_cast<std::size_t>(arg.axis);
      Intervals values = whole;
      values[axis] = {0, n.src(1).shape()[axis].value()};
      return LazyOp::scatter(arg.op, of(n.src(0), whole), of(n.src(1), values), of(n.src(2), values), arg.axis);
    });
  }

  LazyOp movement(const LazyOp& n, const Intervals& box) {
    const Ints& from = n.src(0).shape();
    Intervals below(from.size(), {0, 0});
    switch (n.op()) {
      case Ops::RESHAPE: return reshape(n, box);
      case Ops::PERMUTE: {
        const Axes& order = std::get<Axes>(n.arg());
        for (std::size_t j = 0; j < order.size(); ++j) below[static_cast<std::size_t>(order[j])] = box[j];
        return of(n.src(0), below).permute(order);
      }
      case Ops::EXPAND:
        for (std::size_t j = 0; j < box.size(); ++j)
          below[j] = from[j] == n.shape()[j] ? box[j] : std::pair<std::int64_t, std::int64_t>(0, 1);
        return of(n.src(0), below).expand(shape_of(box));
      case Ops::SHRINK: {
        const Mask& bounds = std::get<Mask>(n.arg());
        for (std::size_t j = 0; j < box.size(); ++j)
          below[j] = {box[j].first + bounds[j].begin.value(), box[j].second + bounds[j].begin.value()};
        return of(n.src(0), below);
      }
      case Ops::PAD: {
        const Padding& padding = std::get<Padding>(n.arg());
        Padding left;
        for (std::size_t j = 0; j < box.size(); ++j) {
          const std::int64_t before = padding[j].first.value(), size = from[j].value();
          below[j] = {std::clamp<std::int64_t>(box[j].first - before, 0, size),
                      std::clamp<std::int64_t>(box[j].second - before, 0, size)};
          if (length(below[j]) == 0) return zero(n, box);
          left.push_back({below[j].first + before - box[j].first, box[j].second - before - below[j].second});
        }
        return of(n.src(0), below).pad(left);
      }
      default: {
        const Ints& steps = std::get<Ints>(n.arg());
        for (std::size_t j = 0; j < box.size(); ++j) {
          const std::int64_t step = steps[j].value(), size = from[j].value();
          const std::int64_t first = box[j].first * step, last = (box[j].second - 1) * step;
          below[j] = step > 0 ? std::pair(first, last + 1) : std::pair(size - 1 + last, size + first);
        }
        return of(n.src(0), below).stride(steps);
      }
    }
  }

  /// Where the elements of the box are a box of the source, group by group, that one; else the least box, padded.
  LazyOp reshape(const LazyOp& n, const Intervals& box) {
    const Index from = *numbers(n.src(0).shape()), to = *numbers(n.shape());
    if (product(n.shape()) == Int(0)) return zero(n, box);
    Intervals below = box_of(n.src(0).shape());
    Ints around;  // the shape of the result, where groups that are not exact are whole
    Padding padding(from.size(), {0, 0});
    Mask kept;
    for (const Group& g : groups_of(from, to)) {
      const bool is_exact = is_box_below(from, to, g, box, below);
      for (std::size_t i = g.source; i < g.source_end && !is_exact; ++i)
        padding[i] = {below[i].first, from[i] - below[i].second};
      for (std::size_t j = g.result; j < g.result_end; ++j) {
        around.push_back(is_exact ? length(box[j]) : to[j]);
        kept.push_back(is_exact ? Extent{0, length(box[j])} : Extent{box[j].first, box[j].second});
      }
    }
    return of(n.src(0), below).pad(padding).reshape(around).shrink(kept);
  }

  /// Sets `below` for the axes of a group: to the box that has the elements of `box`, true where it has no others.
  static bool is_box_below(const Index& from, const Index& to, const Group& g, const Intervals& box, Intervals& below) {
    std::int64_t first = 0, last = 0, count = 1;  // row-major numbers in the group
    for (std::size_t j = g.result; j < g.result_end; ++j) {
      first = first * to[j] + box[j].first;
      last = last * to[j] + box[j].second - 1;
      count *= length(box[j]);
    }
    std::int64_t inner = 1;
    for (std::size_t i = g.source; i < g.source_end; ++i) inner *= from[i];
    std::int64_t held = 1, low = first, high = last;
    for (std::size_t i = g.source; i < g.source_end; ++i) {
      inner /= from[i];
      below[i] = {low / inner, high / inner + 1};
      held *= length(below[i]);
      low %= inner, high %= inner;
      if (length(below[i]) > 1) {
        for (std::size_t k = i + 1; k < g.source_end; ++k) below[k] = {0, from[k]}, held *= from[k];
        break;
      }
    }
    return last - first + 1 == count && held == count;
  }

  std::span<const RankMemory> memory_;
  int first_;
  std::map<std::pair<const LazyNode*, std::vector<std::pair<std::int64_t, std::int64_t>>>, LazyOp> made_;
};

}  // namespace

Intervals box_of(const Ints& shape) {
  Intervals out;
  for (const Int& size : shape) out.push_back({0, size.value()});
  return out;
}

Index local_axes(const Sharding& sharding) {
  Index out;
  for (const auto& digits : digits_by_axis(sharding)) {
    std::int64_t size = 1;
    for (const Sharding::Digit& digit : digits) size *= digit.of_rank ? 1 : digit.size;
    out.push_back(size);
  }
  return out;
}

RankMemory local_of(const Sharding& sharding, std::int64_t rank) {
  const Digits digits = digits_of(sharding, rank);
  const Ints padded = to_ints(sharding.padded_shape());
  const std::int64_t size = sharding.layout().mode(1).size().value();
  return {ShapeTracker::from_shape(digits.present).pad(digits.around).reshape(padded).shrink(within(sharding.shape())),
          size};
}

RankMemory dense_of(const StridedBox& box, const Index& shape) {
  if (box.empty() && !shape.empty()) return {ShapeTracker::from_shape(to_ints(shape)), 0};
  Ints sizes;
  Padding around;
  std::int64_t size = 1;
  for (std::size_t j = 0; j < box.size(); ++j) {
    sizes.push_back(box[j].size());
    around.push_back({box[j].begin, shape[j] - box[j].end()});
    size *= box[j].size();
  }
  return {ShapeTracker::from_shape(sizes).pad(around), size};
}

PartsOf parts_of(std::span<const LazyOp> values, std::span<const Intervals> boxes, std::span<const RankMemory> memory,
                 int first_slot) {
  Parts parts(memory, first_slot);
  PartsOf out;
  for (std::size_t k = 0; k < values.size(); ++k) out.values.push_back(absorb_movement(parts.of(values[k], boxes[k])));
  out.slots = std::move(parts.slots);
  out.cuts_axis = parts.cuts_axis;
  return out;
}

LazyOp local_part(const LazyOp& value, const Sharding& sharding, std::int64_t rank) {
  const Digits digits = digits_of(sharding, rank);
  Padding padding;
  for (std::size_t j = 0; j < sharding.shape().size(); ++j)
    padding.push_back({0, sharding.padded_shape()[j] - sharding.shape()[j]});
  return value.pad(padding).reshape(digits.sizes).shrink(digits.own).reshape(to_ints(local_axes(sharding)));
}

}  // namespace strata
