// Indexing with brackets. Integers, slices and new axes become movement ops; index tensors and masks then gather from,
// or scatter into, the axes that are left.

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"
#include "strata/ops/subscript.h"

namespace strata::ops {

namespace {

/// An index tensor (wrapped) for an axis of the result of the movement ops.
struct ByTensor {
  std::int64_t axis;
  Value index;
};
/// The movement ops, in order: shrink to `bounds`, stride by `steps`, reshape to `shape`. The reshape removes the axes
/// of integers, adds new axes and merges the axes of a mask into one.
struct Plan {
  Mask bounds;
  Ints steps, shape;
  std::vector<ByTensor> by_tensors;
};

constexpr std::int64_t kLongestStep = 1024;  // in a slice of symbolic size

/// The number of elements in steps of `step` of either sign among `size`, which is symbolic.
Int steps_in(const Int& size, std::int64_t step) {
  const std::int64_t apart = step < 0 ? -step : step;
  return apart == 1 ? size : Int((size + Int(apart - 1)).expr() / Expr(apart));
}

/// Translates subscripts into a Plan, one after another.
class Planner {
 public:
  explicit Planner(const Value& x) : x_(x) {}

  Plan plan(std::span<const Subscript> subscripts) {
    std::int64_t named = 0, ellipses = 0;
    for (const Subscript& s : subscripts) {
      named += axes_of(s);
      ellipses += std::holds_alternative<Ellipsis>(s) ? 1 : 0;
    }
    STRATA_CHECK(named <= x_.ndim(), shape, "[index] ", named, " axes are indexed, but shape ", render(x_.shape()),
                 " has ", x_.ndim());
    STRATA_CHECK(ellipses <= 1, shape, "[index] the index has ", ellipses, " ellipses: one at most is allowed");
    for (const Subscript& s : subscripts) {
      if (std::holds_alternative<Ellipsis>(s))
        for (std::int64_t k = named; k < x_.ndim(); ++k) add(Slice{});
      else
        std::visit([&](const auto& what) { add(what); }, s);
    }
    while (axis() < x_.ndim()) add(Slice{});
    return std::move(out_);
  }

 private:
  static std::int64_t axes_of(const Subscript& s) {
    if (const auto* mask = std::get_if<MaskPlaces>(&s)) return static_cast<std::int64_t>(mask->shape.size());
    return std::holds_alternative<Ellipsis>(s) || std::holds_alternative<NewAxis>(s) ? 0 : 1;
  }
  std::int64_t axis() const { return static_cast<std::int64_t>(out_.bounds.size()); }
  const Int& size() const { return x_.size(axis()); }
  void keep(const Int& begin, const Int& end, std::int64_t step = 1) {
    out_.bounds.push_back({begin, end});
    out_.steps.push_back(step);
  }

  void add(const Int& given) {
    const Int n = size(), index = known(is_less(given, 0)) ? given + n : given;
    check_inside(index, given);
    keep(index, index + Int(1));
  }
  /// Checks that `index` (for messages: written as `given`) is an element of the current axis.
  void check_inside(const Int& index, const Int& given) const {
    STRATA_CHECK(known(is_at_most(0, index)) && known(is_less(index, size())), shape, "[index] index ", given.render(),
                 " is outside of axis ", axis(), " of size ", size().render());
  }
  void add(const Slice& s) {
    STRATA_CHECK(s.step != 0, domain, "[index] a slice of axis ", axis(), " has step 0");
    const Int n = size();
    const bool is_number = n.is_number() && (!s.begin || s.begin->is_number()) && (!s.end || s.end->is_number());
    if (!is_number) return add_symbolic(s);
    if (s.step > 0) {
      const std::int64_t begin = cut(s.begin, 0, 0, n.value()), end = cut(s.end, n.value(), 0, n.value());
      const std::int64_t count = begin < end ? (end - begin - 1) / s.step + 1 : 0;
      keep(begin, count > 0 ? begin + (count - 1) * s.step + 1 : begin, count > 1 ? s.step : 1);
      out_.shape.push_back(count);
    } else {
      const std::int64_t step = std::max(s.step, -kPosInf), most = n.value() - 1, begin = cut(s.begin, most, -1, most),
                         end = cut(s.end, -1 - n.value(), -1, most);
      const std::int64_t count = end < begin ? (begin - end - 1) / -step + 1 : 0;
      const std::int64_t first = count > 0 ? begin + (count - 1) * step : 0;
      keep(first, count > 0 ? begin + 1 : first, count > 1 ? step : 1);
      out_.shape.push_back(count);
    }
  }
  /// A bound of a slice, or `none` if it is absent, with negative values counted from the end, clamped to [least,
  /// most].
  std::int64_t cut(const std::optional<Int>& end, std::int64_t none, std::int64_t least, std::int64_t most) const {
    const std::int64_t v = end ? end->value() : none;
    return std::clamp(v < 0 ? v + size().value() : v, least, most);
  }
  void add_symbolic(const Slice& s) {
    const Int n = size();
    const auto from_end = [&](const Int& v) { return known(is_less(v, 0)) ? v + n : v; };
    const Int begin = s.begin ? from_end(*s.begin) : Int(0), end = s.end ? from_end(*s.end) : n;
    STRATA_CHECK(
        s.step == 1 || (s.step > 0 && s.step <= kLongestStep) || (!s.begin && !s.end && s.step >= -kLongestStep), shape,
        "[index] a slice of axis ", axis(), " of size ", n.render(), " from ", begin.render(), " to ", end.render(),
        " is symbolic: the step must be from 1 to ", kLongestStep, ", or negative without bounds, not ", s.step);
    keep(begin, end, s.step);
    out_.shape.push_back(steps_in(end - begin, s.step));
  }
  void add(Ellipsis) {}
  void add(NewAxis) { out_.shape.push_back(1); }
  void add(const Indices& indices) {
    const auto place = static_cast<std::int64_t>(out_.shape.size());
    const Int n = size();
    if (indices.extremes)
      for (const std::int64_t end : {indices.extremes->least, indices.extremes->most})
        check_inside(end < 0 ? Int(end) + size() : Int(end), end);
    out_.by_tensors.push_back({place, wrapped(indices.index, n, "index")});
    out_.shape.push_back(n);
    keep(0, n);
  }
  void add(const MaskPlaces& mask) {
    const auto place = static_cast<std::int64_t>(out_.shape.size());
    Int merged = 1;
    for (const Int& n : mask.shape) {
      STRATA_CHECK(n == size(), shape, "[index] a mask of shape ", render(mask.shape), " does not match axis ", axis(),
                   " of size ", size().render());
      merged *= n;
      keep(0, n);
    }
    out_.by_tensors.push_back({place, mask.places});
    out_.shape.push_back(merged);
  }

  const Value& x_;
  Plan out_;
};

/// Every step-th element of dimension k, of symbolic size: the dimension is padded, and cut into rows of `step`.
LazyOp every_symbolic(const LazyOp& x, std::size_t k, std::int64_t step) {
  const Int& size = x.shape()[k];
  const Int apart = step < 0 ? -step : step, count = steps_in(size, step);
  LazyOp turned = step < 0 ? x.flip({static_cast<std::int64_t>(k)}) : x;
  if (apart == Int(1)) return turned;
  Padding behind(x.shape().size(), {0, 0});
  behind[k].second = apart - Int(1);
  Mask whole, first;
  Ints rows, out = x.shape();
  for (std::size_t j = 0; j < x.shape().size(); ++j) {
    const Int n = j == k ? count : x.shape()[j];
    whole.push_back({0, j == k ? count * apart : n});
    rows.push_back(n), first.push_back({0, n});
    if (j == k) rows.push_back(apart), first.push_back({0, 1});
  }
  out[k] = count;
  return turned.pad(behind).shrink(whole).reshape(rows).shrink(first).reshape(out);
}

/// The movement ops of `plan` applied to x.
LazyOp seen(const LazyOp& x, const Plan& plan) {
  LazyOp out = x.shrink(plan.bounds);
  Ints steps = plan.steps;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    if (out.shape()[k].is_number() || steps[k] == Int(1)) continue;
    out = every_symbolic(out, k, steps[k].value());
    steps[k] = 1;
  }
  return out.stride(steps).reshape(plan.shape);
}

/// The inverse of seen(): the elements of `value`, of the plan's shape, at the places of a tensor of `shape` that the
/// plan selects; 0 elsewhere.
LazyOp put_back(const LazyOp& value, const Plan& plan, const Ints& shape) {
  const std::size_t ndim = shape.size();
  Ints counts, split, spread;
  Padding behind, around;
  Mask kept;
  Axes turned;
  for (std::size_t k = 0; k < ndim; ++k) {
    const auto& [begin, end] = plan.bounds[k];
    const std::int64_t step = plan.steps[k].value();
    const Int size = end - begin, apart = step < 0 ? -step : step;
    const Int count = step == 1           ? size
                      : !size.is_number() ? steps_in(size, step)
                                          : Int((size.value() - 1) / apart.value() + 1);
    if (step < 0) turned.push_back(static_cast<std::int64_t>(k));
    counts.push_back(count);
    split.push_back(count), behind.push_back({0, 0});
    if (!(apart == Int(1))) split.push_back(1), behind.push_back({0, apart - Int(1)});
    spread.push_back(count * apart), kept.push_back({0, size});
    around.push_back({begin, shape[k] - end});
  }
  const LazyOp apart = value.reshape(counts).flip(turned).reshape(split).pad(behind);
  return apart.reshape(spread).shrink(kept).pad(around);
}

/// Merges the axes that have index tensors into one axis, and the index tensors into one row-major index.
class Joined {
 public:
  Joined(const Ints& shape, const std::vector<ByTensor>& by_tensors) : shape_(shape) {
    std::vector<Ints> shapes;
    Int n = 1;
    for (const ByTensor& b : by_tensors) {
      axes_.push_back(b.axis);
      shapes.push_back(b.index.shape());
      n *= shape[static_cast<std::size_t>(b.axis)];
    }
    index_shape_ = broadcast_shape("index", shapes);
    count_ = n;
    const bool side_by_side = axes_.back() - axes_.front() + 1 == static_cast<std::int64_t>(axes_.size());
    front_ = side_by_side ? axes_.front() : 0;
    index_ = one_index(by_tensors);
  }

  const Value& index() const { return *index_; }
  /// (rest..., n): x with the indexed axes moved to the end and merged.
  Value together(const Value& x) const {
    Ints sizes = rest();
    sizes.push_back(count_);
    return x.movedim(axes_, last_axes()).reshape(sizes);
  }
  /// The inverse of together().
  Value apart(const Value& x) const {
    Ints sizes = rest();
    for (const std::int64_t a : axes_) sizes.push_back(shape_[static_cast<std::size_t>(a)]);
    return x.reshape(sizes).movedim(last_axes(), axes_);
  }
  /// The shape of the result: the other axes, with the dimensions of the index at the place of the indexed axes (or in
  /// front).
  Ints result() const { return with_front(index_shape_); }
  // flat(): a tensor of the result's shape as (rest..., k); shaped() is the inverse.
  Value flat(const Value& x) const {
    Ints sizes = rest();
    sizes.push_back(product(index_shape_));
    return x.movedim(index_axes(), last_of(index_shape_.size())).reshape(sizes);
  }
  Value shaped(const Value& x) const {
    Ints sizes = rest();
    for (const Int& n : index_shape_) sizes.push_back(n);
    return x.reshape(sizes).movedim(last_of(index_shape_.size()), index_axes());
  }

 private:
  Ints rest() const { return sizes_without(shape_, axes_); }
  Ints with_front(const Ints& inner) const {
    Ints out;
    const Ints others = rest();
    for (std::size_t k = 0; k <= others.size(); ++k) {
      if (k == static_cast<std::size_t>(front_))
        for (const Int& n : inner) out.push_back(n);
      if (k < others.size()) out.push_back(others[k]);
    }
    return out;
  }
  static Axes last_of(std::size_t count) {
    Axes out;
    for (std::size_t k = count; k > 0; --k) out.push_back(-static_cast<std::int64_t>(k));
    return out;
  }
  Axes last_axes() const { return last_of(axes_.size()); }
  Axes index_axes() const {
    Axes out;
    for (std::size_t k = 0; k < index_shape_.size(); ++k) out.push_back(front_ + static_cast<std::int64_t>(k));
    return out;
  }
  /// The row-major index over the indexed axes; -1, which selects nothing, where one of several indices is outside of
  /// its axis.
  Value one_index(const std::vector<ByTensor>& by_tensors) const {
    if (by_tensors.size() == 1) return by_tensors[0].index.flatten();
    std::optional<Value> sum, is_inside;
    for (const ByTensor& b : by_tensors) {
      const Int& size = shape_[static_cast<std::size_t>(b.axis)];
      const Value n = size.is_number() ? Value::full({}, size.value(), dtypes::int64) : Value::of(size.expr());
      const Value inside = b.index.ge(0) & b.index.lt(n);
      sum = sum ? *sum * n + b.index : b.index;
      is_inside = is_inside ? *is_inside & inside : inside;
    }
    return is_inside->where(*sum, -1).broadcast_to(index_shape_).flatten();
  }

  Ints shape_, index_shape_;
  Axes axes_;
  std::int64_t front_ = 0;
  Int count_;
  std::optional<Value> index_;
};

/// `there`, the elements that the movement ops select, with `value` put at the indexed places.
Value replaced(const Value& there, const Plan& plan, const Value& value, std::optional<Reduce> reduce) {
  const Combine combine{reduce};
  if (plan.by_tensors.empty()) {
    Value all = fitted(value, plan.shape);
    if (!reduce) return all;
    if (*reduce == Reduce::sum) return there + all;
    return put_at(there.unsqueeze(-1), -1, counting(1), all.unsqueeze(-1), combine).squeeze(-1);
  }
  const Joined joined(plan.shape, plan.by_tensors);
  const Value values = joined.flat(fitted(value, joined.result()));
  return joined.apart(put_at(joined.together(there), -1, joined.index(), values, combine));
}

}  // namespace

Value fitted(const Value& value, const Ints& shape) {
  Value out = value;
  while (out.ndim() > static_cast<std::int64_t>(shape.size()) && out.size(0) == Int(1)) out = out.squeeze(0);
  const Ints shapes[] = {out.shape(), shape};
  STRATA_CHECK(broadcast_shape("index_put", shapes) == shape, shape, "[index_put] a value of shape ",
               render(value.shape()), " does not fill shape ", render(shape));
  return out.broadcast_to(shape);
}

bool is_one_for_all(const Value& value, const Value& x, const Value& mask) {
  const std::int64_t rest = x.ndim() - mask.ndim();
  if (rest < 0 || value.ndim() > rest + 1) return false;
  for (std::int64_t k = 0; k < mask.ndim(); ++k)
    if (!(mask.size(k) == x.size(k))) return false;
  for (std::int64_t k = 0; k < value.ndim(); ++k) {
    const std::int64_t axis = x.ndim() - value.ndim() + k;  // of x; a dimension in front of `rest` counts the places
    const bool is_place = value.ndim() - k > rest;
    if (!(value.size(k) == Int(1)) && (is_place || !(value.size(k) == x.size(axis)))) return false;
  }
  return true;
}
Value with_one_value(const Value& x, const Value& mask, const Value& value, bool accumulate) {
  Ints sizes = mask.shape();
  for (std::int64_t k = mask.ndim(); k < x.ndim(); ++k) sizes.push_back(1);
  const Value v = value.ndim() > x.ndim() - mask.ndim() ? value.squeeze(0) : value;
  return mask.reshape(sizes).where(accumulate ? x + v : v, x).cast(x.dtype());
}

Value index(const Value& x, std::span<const Subscript> subscripts) {
  const Plan plan = Planner(x).plan(subscripts);
  Value there = seen(x, plan);
  if (plan.by_tensors.empty()) return there;
  const Joined joined(plan.shape, plan.by_tensors);
  return joined.shaped(picked(joined.together(there).unsqueeze(-2), joined.index()));
}

Value index_put(const Value& x, std::span<const Subscript> subscripts, const Value& value,
                std::optional<Reduce> reduce) {
  const Plan plan = Planner(x).plan(subscripts);
  const Value values = replaced(seen(x, plan), plan, value, reduce);
  const LazyOp marks = LazyOp::constant(Scalar(true), values.shape());
  const LazyOp is_there = put_back(marks, plan, x.shape()), put = put_back(values, plan, x.shape());
  return is_there == marks ? put : LazyOp::alu(Ops::WHERE, {is_there, put, x});
}

}  // namespace strata::ops
