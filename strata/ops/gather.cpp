// Gathering: elements at computed indices.

#include <array>

#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

namespace {

std::int64_t indexed_axis(const Value& x, std::int64_t axis, const char* operation) {
  STRATA_CHECK(x.ndim() > 0, shape, "[", operation, "] a scalar has no axis ", axis);
  return axis_of(axis, x.ndim(), operation);
}

constexpr std::int64_t kFewPicks = 4;  // of a row, which are compared with each place

/// Of picked(values, index), whose result has the dimensions `shape`: which dimensions the rows of the values have. The
/// others repeat the values, and are merged with the index into one axis for the gradient.
std::vector<bool> rows_of(const Ints& values, const Ints& shape) {
  const std::size_t missing = shape.size() + 1 - values.size();
  std::vector<bool> out;
  for (std::size_t d = 0; d < shape.size(); ++d) out.push_back(d >= missing && !(values[d - missing] == Int(1)));
  return out;
}
/// True iff so many elements of a row may be picked that the gradient is a SCATTER.
bool has_many_picks(const Ints& values, const Ints& shape) {
  const std::vector<bool> is_row = rows_of(values, shape);
  Int picks = 1;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (!is_row[d]) picks *= shape[d];
  return !picks.is_number() || picks.value() > kFewPicks;
}

/// The gradient of picked() by the values, of shape `shape`: sums of dy at the places, along the merged axis in front.
Value gradient_of_picks(const Value& dy, const Value& index, const Ints& shape) {
  const std::vector<bool> is_row = rows_of(shape, dy.shape());
  Value places = index;
  while (places.ndim() < dy.ndim()) places = places.unsqueeze(0);
  Int picks = 1;
  for (std::size_t d = 0; d < is_row.size(); ++d)
    if (!is_row[d]) picks *= dy.shape()[d];
  Ints spread = places.shape(), with_rows = {picks}, with_places = {picks}, target = {shape.back()};
  Axes order, rows;
  for (std::size_t d = 0; d < is_row.size(); ++d) {
    (is_row[d] ? rows : order).push_back(static_cast<std::int64_t>(d));
    if (!is_row[d]) spread[d] = dy.shape()[d];
    if (!is_row[d]) continue;
    with_rows.push_back(dy.shape()[d]), with_places.push_back(places.shape()[d]), target.push_back(dy.shape()[d]);
  }
  for (const std::int64_t d : rows) order.push_back(d);
  const Value none = Value(LazyOp::constant(Scalar::of(dy.dtype(), std::int64_t{0}), target));
  const Value sums = put_at(none, 0, places.broadcast_to(spread).permute(order).reshape(with_places),
                            dy.permute(order).reshape(with_rows), {Reduce::sum});
  return sums.movedim({0}, {-1}).reshape(shape);
}

}  // namespace

Value counting(const Int& count) { return Value(LazyOp::iota(dtypes::int64, ShapeTracker::from_shape({count}))); }

std::int64_t number_of(const Int& size, const char* operation) {
  STRATA_CHECK(size.is_number(), shape, "[", operation, "] a size is symbolic: ", size.render());
  return size.value();
}

Value in_range(const Value& integers, const IndexRange& range) { return Value(integers.node().in_range(range)); }

Value with_largest(const Value& x, std::int64_t axis) {
  const Int& n = x.size(axis);
  if (n.is_number()) return x;
  Padding behind(x.shape().size(), {0, 0});
  behind[static_cast<std::size_t>(axis < 0 ? axis + x.ndim() : axis)].second = Int(n.vmax()) - n;
  return x.pad(behind);
}

Value wrapped(const Value& index, const Int& size, const char* operation) {
  STRATA_CHECK(index.dtype().is_int(), domain, "[", operation, "] indices are integers, not ", index.dtype().name());
  Value i = in_range(index, {operation, "index", size.vmax(), true}).cast(dtypes::int64);
  if (index.dtype().is_unsigned()) return i;
  return size.is_number() ? i.lt(0).where(i + size.value(), i) : i.lt(0).where(i + Value::of(size.expr()), i);
}

Value one_hot(const Value& classes, const Int& count) {
  const Value given = in_range(classes, {"one_hot", "class", count.vmax()});
  return given.unsqueeze(-1).eq(counting(count)).cast(dtypes::int64);
}

Value picked(const Value& values, const Value& index) {
  if (!values.size(-1).is_number()) return picked(with_largest(values, -1), index);
  Ints front = values.shape();
  front.pop_back();
  Ints shape = broadcast_shape("gather", std::array{front, index.shape()});
  const LazyOp places = broadcast(index.node(), shape);
  const bool scatters = kTakesGradients && values.is_tracked() && has_many_picks(values.shape(), shape);
  shape.push_back(values.size(-1));
  Value out = Value(LazyOp::gather(broadcast(values.node(), shape), places));
  if (!scatters) return out;
  const auto backward = [](const Value& dy, const Saved& saved) {
    return std::vector{gradient_of_picks(dy, saved[0], saved.numbers())};
  };
  return with_gradient(out.detach(), {&values, 1}, backward, Saved({index.detach()}, values.shape()));
}

Value Value::gather(std::int64_t axis, const Value& index) const {
  if (ndim() == 0) return reshape({1}).gather(axis, index.atleast_1d()).reshape(index.shape());
  const std::int64_t a = axis_of(axis, ndim(), "gather");
  if (index.ndim() == 0 && ndim() == 1) return gather(a, index.reshape({1})).reshape({});
  STRATA_CHECK(index.ndim() == ndim(), shape, "[gather] indices of shape ", render(index.shape()),
               " do not have the rank of a tensor of shape ", render(shape()));
  Mask bounds;
  for (std::int64_t k = 0; k < ndim(); ++k) {
    const Int& count = k == a ? size(k) : index.size(k);
    STRATA_CHECK(known(is_at_most(count, size(k))), shape, "[gather] indices of shape ", render(index.shape()),
                 " reach beyond ", render(shape()), " in dimension ", k);
    bounds.push_back({0, count});
  }
  const Value places = with_last(wrapped(index, size(a), "gather"), a);
  return picked(with_last(shrink(bounds), a).unsqueeze(-2), places).movedim({-1}, {a});
}

Value Value::index_select(std::int64_t axis, const Value& index) const {
  if (ndim() == 0) return reshape({1}).index_select(axis, index).reshape({});
  const std::int64_t a = indexed_axis(*this, axis, "index_select");
  STRATA_CHECK(index.ndim() <= 1, shape, "[index_select] indices have one dimension, not shape ",
               render(index.shape()));
  const Value places = wrapped(index.atleast_1d(), size(a), "index_select");
  return picked(with_last(*this, a).unsqueeze(-2), places).movedim({-1}, {a});
}

Value Value::take(const Value& index) const { return picked(flatten(), wrapped(index, numel(), "take")); }

Value Value::take_along_dim(const Value& index, std::optional<std::int64_t> axis) const {
  if (!axis) return take(index.flatten());
  const std::int64_t a = indexed_axis(*this, *axis, "take_along_dim");
  STRATA_CHECK(index.ndim() == ndim(), shape, "[take_along_dim] indices of shape ", render(index.shape()),
               " do not have the rank of a tensor of shape ", render(shape()));
  const Value places = with_last(wrapped(index, size(a), "take_along_dim"), a);
  return picked(with_last(*this, a).unsqueeze(-2), places).movedim({-1}, {a});
}

Value Value::as_strided(const Ints& to, const Ints& strides, const Int& offset) const {
  STRATA_CHECK(to.size() == strides.size(), shape, "[as_strided] ", strides.size(), " strides for shape ", render(to));
  Int least = offset, most = offset;
  Value places = new_full({}, 0).cast(dtypes::int64) + number_of(offset, "as_strided");
  for (std::size_t k = 0; k < to.size(); ++k) {
    const std::int64_t size = number_of(to[k], "as_strided"), stride = number_of(strides[k], "as_strided");
    STRATA_CHECK(size >= 0, shape, "[as_strided] shape ", render(to), " has a negative size");
    if (size > 0) (stride < 0 ? least : most) += Int(size - 1) * Int(stride);
    Ints along(to.size(), 1);
    along[k] = size;
    places = places + counting(size).reshape(along) * stride;
  }
  if (product(to) == Int(0)) return new_zeros(to);
  STRATA_CHECK(known(is_at_most(0, least)) && known(is_less(most, numel())), shape, "[as_strided] elements ",
               least.render(), " to ", most.render(), " are not inside of the ", numel().render(),
               " elements of shape ", render(shape()));
  return take(places);
}

}  // namespace strata::ops
