// Brackets: what stands in them as movements, and as indices of axes that are left.

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "strata/tensor/access.h"
#include "strata/tensor/indexed.h"

namespace strata {

Subscript::Subscript(const Tensor& indices, Place at)
    : what_(std::make_shared<const Tensor>(indices)), at_(at) {}

Subscript Subscript::checked(const Tensor& indices, Place at) {
  Subscript out(indices, at);
  out.is_checked_ = true;
  return out;
}

namespace {

struct Extremes {
  std::int64_t least, most;
};
template <class T>
Extremes extremes_of(const Tensor& x) {
  // What is beyond 63 bits is outside of every axis, too.
  const auto cut = [](T v) {
    return std::in_range<std::int64_t>(v) ? static_cast<std::int64_t>(v) : kPosInf;
  };
  const auto [least, most] = std::ranges::minmax(x.span<T>());
  return {cut(least), cut(most)};
}
/// Of one or more integers, whose memory is read.
Extremes extremes(const Tensor& x) {
  const DType d = x.dtype();
  if (d == dtypes::int64) return extremes_of<std::int64_t>(x);
  if (d == dtypes::int32) return extremes_of<std::int32_t>(x);
  if (d == dtypes::int16) return extremes_of<std::int16_t>(x);
  if (d == dtypes::int8) return extremes_of<std::int8_t>(x);
  if (d == dtypes::uint64) return extremes_of<std::uint64_t>(x);
  if (d == dtypes::uint32) return extremes_of<std::uint32_t>(x);
  if (d == dtypes::uint16) return extremes_of<std::uint16_t>(x);
  return extremes_of<std::uint8_t>(x);
}

using TensorPointer = std::shared_ptr<const Tensor>;

/// Indices, wrapped, into an axis of what the movements leave.
struct ByTensor {
  std::int64_t axis;
  Tensor index;
};
/// First the bounds, then every step-th, then the shape: without axes of integers, with new ones, with those of a
/// mask as one.
struct Plan {
  Mask bounds;
  Ints steps, shape;
  std::vector<ByTensor> by_tensors;
};

/// Reads subscripts one after another.
class Planner {
 public:
  explicit Planner(const Tensor& x) : x_(x) {}

  Plan plan(std::span<const Subscript> subscripts) {
    std::int64_t named = 0, ellipses = 0;
    for (const Subscript& s : subscripts) {
      named += axes_of(s);
      ellipses += std::holds_alternative<Ellipsis>(s.what()) ? 1 : 0;
    }
    STRATA_CHECK(named <= x_.ndim(), shape, "[index] ", named, " axes are named, shape ",
                 render(x_.shape()), " has ", x_.ndim());
    STRATA_CHECK(ellipses <= 1, shape, "[index] an ellipsis stands there ", ellipses, " times");
    for (const Subscript& s : subscripts) {
      if (s.is_checked()) check_inside(*std::get<TensorPointer>(s.what()));
      if (std::holds_alternative<Ellipsis>(s.what()))
        for (std::int64_t k = named; k < x_.ndim(); ++k) add(Slice{});
      else
        std::visit([&](const auto& what) { add(what); }, s.what());
    }
    while (axis() < x_.ndim()) add(Slice{});
    return std::move(out_);
  }

 private:
  static std::int64_t axes_of(const Subscript& s) {
    if (const auto* tensor = std::get_if<TensorPointer>(&s.what()))
      return (*tensor)->dtype().is_bool() ? (*tensor)->ndim() : 1;
    return std::holds_alternative<Int>(s.what()) || std::holds_alternative<Slice>(s.what()) ? 1 : 0;
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
  /// `index`, as which one was given, names an element of this axis.
  void check_inside(const Int& index, const Int& given) const {
    STRATA_CHECK(known(is_at_most(0, index)) && known(is_less(index, size())), shape,
                 "[index] index ", given.render(), " is outside of axis ", axis(), " of size ",
                 size().render());
  }
  void check_inside(const Tensor& indices) const {
    if (!indices.dtype().is_int() || indices.numel() == Int(0)) return;
    const auto [least, most] = extremes(indices);
    check_inside(least < 0 ? Int(least) + size() : Int(least), least);
    check_inside(most < 0 ? Int(most) + size() : Int(most), most);
  }
  void add(const Slice& s) {
    STRATA_CHECK(s.step != 0, domain, "[index] a slice of axis ", axis(), " has step 0");
    const Int n = size();
    const bool is_number =
        n.is_number() && (!s.begin || s.begin->is_number()) && (!s.end || s.end->is_number());
    if (!is_number) return add_symbolic(s);
    if (s.step > 0) {
      const std::int64_t begin = cut(s.begin, 0, 0, n.value()),
                         end = cut(s.end, n.value(), 0, n.value());
      const std::int64_t count = begin < end ? (end - begin - 1) / s.step + 1 : 0;
      keep(begin, count > 0 ? begin + (count - 1) * s.step + 1 : begin, count > 1 ? s.step : 1);
      out_.shape.push_back(count);
    } else {
      const std::int64_t step = std::max(s.step, -kPosInf), most = n.value() - 1,
                         begin = cut(s.begin, most, -1, most),
                         end = cut(s.end, -1 - n.value(), -1, most);
      const std::int64_t count = end < begin ? (begin - end - 1) / -step + 1 : 0;
      const std::int64_t first = count > 0 ? begin + (count - 1) * step : 0;
      keep(first, count > 0 ? begin + 1 : first, count > 1 ? step : 1);
      out_.shape.push_back(count);
    }
  }
  /// An end of a slice, or what stands for it, between `least` and `most`.
  std::int64_t cut(const std::optional<Int>& end, std::int64_t none, std::int64_t least,
                   std::int64_t most) const {
    const std::int64_t v = end ? end->value() : none;
    return std::clamp(v < 0 ? v + size().value() : v, least, most);
  }
  void add_symbolic(const Slice& s) {
    const Int n = size();
    const auto from_end = [&](const Int& v) { return known(is_less(v, 0)) ? v + n : v; };
    const Int begin = s.begin ? from_end(*s.begin) : Int(0), end = s.end ? from_end(*s.end) : n;
    STRATA_CHECK(s.step == 1, shape, "[index] a slice of axis ", axis(), " of size ", n.render(),
                 " from ", begin.render(), " to ", end.render(),
                 " is symbolic: its step is 1, not ", s.step);
    keep(begin, end);
    out_.shape.push_back(end - begin);
  }
  void add(Ellipsis) {}
  void add(NewAxis) { out_.shape.push_back(1); }
  void add(const TensorPointer& tensor) {
    STRATA_CHECK(&tensor->device() == &x_.device(), domain, "[index] tensors on ",
                 x_.device().name(), " and on ", tensor->device().name(), ": move one with to()");
    const auto place = static_cast<std::int64_t>(out_.shape.size());
    if (tensor->dtype().is_bool()) return add_mask(*tensor, place);
    const std::int64_t n = number_of(size(), "index");
    out_.by_tensors.push_back({place, wrapped(*tensor, n, "index")});
    out_.shape.push_back(n);
    keep(0, n);
  }
  void add_mask(const Tensor& mask, std::int64_t place) {
    Int merged = 1;
    for (const Int& n : mask.shape()) {
      STRATA_CHECK(n == size(), shape, "[index] a mask of shape ", render(mask.shape()),
                   " beside axis ", axis(), " of size ", size().render());
      merged *= n;
      keep(0, n);
    }
    out_.by_tensors.push_back({place, places_of(mask)});
    out_.shape.push_back(merged);
  }

  const Tensor& x_;
  Plan out_;
};

LazyOp seen(const LazyOp& x, const Plan& plan) {
  return x.shrink(plan.bounds).stride(plan.steps).reshape(plan.shape);
}

/// `value`, of the plan's shape, where the plan sees it in a tensor of `shape`; 0 elsewhere.
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
    const Int count = step == 1 ? size : Int((size.value() - 1) / apart.value() + 1);
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

/// Axes with tensors' indices as one, and these indices as one.
class Joined {
 public:
  Joined(const Ints& shape, const std::vector<ByTensor>& by_tensors) : shape_(shape) {
    std::vector<Ints> shapes;
    std::int64_t n = 1;
    for (const ByTensor& b : by_tensors) {
      axes_.push_back(b.axis);
      shapes.push_back(b.index.shape());
      n *= number_of(shape[static_cast<std::size_t>(b.axis)], "index");
    }
    index_shape_ = broadcast_shape("index", shapes);
    count_ = n;
    const bool side_by_side =
        axes_.back() - axes_.front() + 1 == static_cast<std::int64_t>(axes_.size());
    front_ = side_by_side ? axes_.front() : 0;
    index_ = one_index(by_tensors);
  }

  const Tensor& index() const { return *index_; }
  /// (rest..., n): those axes last and as one.
  Tensor together(const Tensor& x) const {
    Ints sizes = rest();
    sizes.push_back(count_);
    return x.movedim(axes_, last_axes()).reshape(sizes);
  }
  Tensor apart(const Tensor& x) const {
    Ints sizes = rest();
    for (const std::int64_t a : axes_) sizes.push_back(shape_[static_cast<std::size_t>(a)]);
    return x.reshape(sizes).movedim(last_axes(), axes_);
  }
  /// The result's shape: rest, with the indices' dimensions in their place.
  Ints result() const { return with_front(index_shape_); }
  /// (rest..., k) of a tensor of the result's shape; and back.
  Tensor flat(const Tensor& x) const {
    Ints sizes = rest();
    sizes.push_back(product(index_shape_));
    return x.movedim(index_axes(), last_of(index_shape_.size())).reshape(sizes);
  }
  Tensor shaped(const Tensor& x) const {
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
    for (std::size_t k = 0; k < index_shape_.size(); ++k)
      out.push_back(front_ + static_cast<std::int64_t>(k));
    return out;
  }
  /// Row-major; -1, which is nowhere, where one of several is outside of its axis.
  Tensor one_index(const std::vector<ByTensor>& by_tensors) const {
    if (by_tensors.size() == 1) return by_tensors[0].index.flatten();
    std::optional<Tensor> sum, is_inside;
    for (const ByTensor& b : by_tensors) {
      const std::int64_t n = shape_[static_cast<std::size_t>(b.axis)].value();
      const Tensor inside = b.index.ge(0) & b.index.lt(n);
      sum = sum ? *sum * n + b.index : b.index;
      is_inside = is_inside ? *is_inside & inside : inside;
    }
    return is_inside->where(*sum, -1).broadcast_to(index_shape_).flatten();
  }

  Ints shape_, index_shape_;
  Axes axes_;
  std::int64_t front_ = 0;
  Int count_;
  std::optional<Tensor> index_;
};

/// `value` as the brackets' shape: it broadcasts, and more dimensions in front may have size 1.
Tensor fitted(const Tensor& value, const Ints& shape) {
  Tensor out = value;
  while (out.ndim() > static_cast<std::int64_t>(shape.size()) && out.size(0) == Int(1))
    out = out.squeeze(0);
  const Ints shapes[] = {out.shape(), shape};
  STRATA_CHECK(broadcast_shape("index_put", shapes) == shape, shape, "[index_put] a value of shape ",
               render(value.shape()), " does not fill shape ", render(shape));
  return out.broadcast_to(shape);
}

/// What stands at the places that the movements see, with `value` put there.
Tensor replaced(const Tensor& there, const Plan& plan, const Tensor& value, bool accumulate) {
  if (plan.by_tensors.empty()) {
    const Tensor all = fitted(value, plan.shape);
    return accumulate ? there + all : all;
  }
  const Joined joined(plan.shape, plan.by_tensors);
  const Tensor values = joined.flat(fitted(value, joined.result()));
  const Combine combine{accumulate ? std::optional(Tensor::Reduce::sum) : std::nullopt};
  return joined.apart(put_at(joined.together(there), joined.index(), values, combine));
}

/// The mask that is all there is in brackets; null for anything else.
const Tensor* lone_mask(std::span<const Subscript> subscripts) {
  if (subscripts.size() != 1) return nullptr;
  const auto* tensor = std::get_if<TensorPointer>(&subscripts.front().what());
  return tensor != nullptr && (*tensor)->dtype().is_bool() ? tensor->get() : nullptr;
}
/// Whether `value` is the same for each place of a mask that fits: nothing has to know then how many there are.
bool is_one_for_all(const Tensor& value, const Tensor& x, const Tensor& mask) {
  const std::int64_t rest = x.ndim() - mask.ndim();
  if (rest < 0 || value.ndim() > rest + 1 || &mask.device() != &x.device()) return false;
  for (std::int64_t k = 0; k < mask.ndim(); ++k)
    if (!(mask.size(k) == x.size(k))) return false;
  for (std::int64_t k = 0; k < value.ndim(); ++k) {
    const std::int64_t axis = x.ndim() - value.ndim() + k;  // of x; in front of `rest`: the places
    const bool is_place = value.ndim() - k > rest;
    if (!(value.size(k) == Int(1)) && (is_place || !(value.size(k) == x.size(axis)))) return false;
  }
  return true;
}
/// No value is looked at, so that it may be captured, and is one kernel with what is around it.
Tensor with_one_value(const Tensor& x, const Tensor& mask, const Tensor& value, bool accumulate) {
  Ints sizes = mask.shape();
  for (std::int64_t k = mask.ndim(); k < x.ndim(); ++k) sizes.push_back(1);
  const Tensor v = value.ndim() > x.ndim() - mask.ndim() ? value.squeeze(0) : value;
  return mask.reshape(sizes).where(accumulate ? x + v : v, x).cast(x.dtype());
}

At place_of(std::span<const Subscript> subscripts) {
  return subscripts.empty() ? At::current() : subscripts.front().at();
}

}  // namespace

Tensor Tensor::index(std::span<const Subscript> subscripts, At at) const {
  const OriginScope scope("index", at);
  const Plan plan = Planner(*this).plan(subscripts);
  Tensor x = TensorAccess::of(seen(node(), plan), *this);
  if (plan.by_tensors.empty()) return x;
  const Joined joined(plan.shape, plan.by_tensors);
  return joined.shaped(picked(joined.together(x).unsqueeze(-2), joined.index()));
}
Tensor Tensor::operator[](std::initializer_list<Subscript> subscripts) const {
  const std::span<const Subscript> all(subscripts.begin(), subscripts.size());
  return index(all, place_of(all));
}
Tensor Tensor::operator[](const Subscript& subscript) const {
  return index({&subscript, 1}, subscript.at());
}

Tensor Tensor::index_put(std::span<const Subscript> subscripts, const Operand& value,
                         bool accumulate) const {
  const OriginScope scope("index_put", value.at());
  const Tensor v =
      value.tensor() != nullptr
          ? value.tensor()->cast(dtype())
          : TensorAccess::of(LazyOp::constant(scalar_of(value.number(), dtype()), Ints{}), *this);
  STRATA_CHECK(&v.device() == &device(), domain, "[index_put] tensors on ", device().name(),
               " and on ", v.device().name(), ": move one with to()");
  if (const Tensor* mask = lone_mask(subscripts); mask != nullptr && is_one_for_all(v, *this, *mask))
    return with_one_value(*this, *mask, v, accumulate);
  const Plan plan = Planner(*this).plan(subscripts);
  const Tensor there = TensorAccess::of(seen(node(), plan), *this);
  const Tensor values = replaced(there, plan, v, accumulate);
  const LazyOp marks = LazyOp::constant(Scalar(true), values.shape());
  const LazyOp is_there = put_back(marks, plan, shape()), put = put_back(values.node(), plan, shape());
  return TensorAccess::of(
      is_there == marks ? put : LazyOp::alu(Ops::WHERE, {is_there, put, node()}), *this);
}

}  // namespace strata
