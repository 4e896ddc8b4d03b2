// Elements at indices that tensors hold.

#include <array>

#include "strata/tensor/access.h"
#include "strata/tensor/indexed.h"

namespace strata {

namespace {

std::int64_t indexed_axis(const Tensor& x, std::int64_t axis, const char* operation) {
  STRATA_CHECK(x.ndim() > 0, shape, "[", operation, "] a scalar has no axis ", axis);
  return axis_of(axis, x.ndim(), operation);
}

/// Whether the gradient by `values` of what picked() gives, of that shape, is better summed by order: the dimensions in which values
/// repeat are then one with the index.
bool is_gradient_by_order(const Ints& values, const Tensor& index, const Ints& shape) {
  Ints rows, places;
  Int picks = 1;
  const std::size_t missing = shape.size() + 1 - values.size(),
                    unindexed = shape.size() - index.shape().size();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d < missing || values[d - missing] == Int(1)) {
      picks *= shape[d];
    } else {
      rows.push_back(shape[d]);
      places.push_back(d < unindexed ? Int(1) : index.shape()[d - unindexed]);
    }
  }
  places.push_back(picks);
  return is_sum_by_order(rows, places, values.back());
}

}  // namespace

Tensor counting(const Int& count, const Tensor& like) {
  return TensorAccess::of(LazyOp::iota(dtypes::int64, ShapeTracker::from_shape({count})), like);
}

std::int64_t number_of(const Int& size, const char* operation) {
  STRATA_CHECK(size.is_number(), shape, "[", operation, "] a size is symbolic: ", size.render());
  return size.value();
}

Tensor in_range(const Tensor& integers, const IndexRange& range) {
  return TensorAccess::of(integers.node().in_range(range), integers);
}

Tensor wrapped(const Tensor& index, std::int64_t size, const char* operation) {
  STRATA_CHECK(index.dtype().is_int(), domain, "[", operation, "] indices are integers, not ",
               index.dtype().name());
  const Tensor i = in_range(index, {operation, "index", size, true}).cast(dtypes::int64);
  return index.dtype().is_unsigned() ? i : i.lt(0).where(i + size, i);
}

Tensor picked(const Tensor& values, const Tensor& index) {
  STRATA_CHECK(&values.device() == &index.device(), domain, "[gather] tensors on ",
               values.device().name(), " and on ", index.device().name(), ": move one with to()");
  Ints front = values.shape();
  front.pop_back();
  Ints shape = broadcast_shape("gather", std::array{front, index.shape()});
  const LazyOp places = broadcast(index.node(), shape);
  const bool by_order = values.requires_grad() && is_gradient_by_order(values.shape(), index, shape);
  shape.push_back(values.size(-1));
  const Tensor out = TensorAccess::of(LazyOp::gather(broadcast(values.node(), shape), places), values);
  return by_order ? picked_by_order(out, values, index) : out;
}

Tensor Tensor::gather(std::int64_t axis, const Tensor& index, At at) const {
  const OriginScope scope("gather", at);
  if (ndim() == 0) return reshape({1}).gather(axis, index.atleast_1d()).reshape(index.shape());
  const std::int64_t a = axis_of(axis, ndim(), "gather");
  if (index.ndim() == 0 && ndim() == 1) return gather(a, index.reshape({1})).reshape({});
  STRATA_CHECK(index.ndim() == ndim(), shape, "[gather] indices of shape ", render(index.shape()),
               " into a tensor of shape ", render(shape()));
  Mask bounds;
  for (std::int64_t k = 0; k < ndim(); ++k) {
    const Int& count = k == a ? size(k) : index.size(k);
    STRATA_CHECK(known(is_at_most(count, size(k))), shape, "[gather] indices of shape ",
                 render(index.shape()), " reach beyond ", render(shape()), " in dimension ", k);
    bounds.push_back({0, count});
  }
  const Tensor places = with_last(wrapped(index, number_of(size(a), "gather"), "gather"), a);
  return picked(with_last(shrink(bounds), a).unsqueeze(-2), places).movedim({-1}, {a});
}

Tensor Tensor::index_select(std::int64_t axis, const Tensor& index, At at) const {
  const OriginScope scope("index_select", at);
  if (ndim() == 0) return reshape({1}).index_select(axis, index).reshape({});
  const std::int64_t a = indexed_axis(*this, axis, "index_select");
  STRATA_CHECK(index.ndim() <= 1, shape, "[index_select] indices have one dimension, not shape ",
               render(index.shape()));
  const Tensor places =
      wrapped(index.atleast_1d(), number_of(size(a), "index_select"), "index_select");
  return picked(with_last(*this, a).unsqueeze(-2), places).movedim({-1}, {a});
}

Tensor Tensor::take(const Tensor& index, At at) const {
  const OriginScope scope("take", at);
  return picked(flatten(), wrapped(index, number_of(numel(), "take"), "take"));
}

Tensor Tensor::take_along_dim(const Tensor& index, std::optional<std::int64_t> axis, At at) const {
  const OriginScope scope("take_along_dim", at);
  if (!axis) return take(index.flatten());
  const std::int64_t a = indexed_axis(*this, *axis, "take_along_dim");
  STRATA_CHECK(index.ndim() == ndim(), shape, "[take_along_dim] indices of shape ",
               render(index.shape()), " into a tensor of shape ", render(shape()));
  const Tensor places =
      with_last(wrapped(index, number_of(size(a), "take_along_dim"), "take_along_dim"), a);
  return picked(with_last(*this, a).unsqueeze(-2), places).movedim({-1}, {a});
}

}  // namespace strata
