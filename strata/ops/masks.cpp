// Elements that a mask names, and places in an order.

#include <algorithm>
#include <vector>

#include "strata/ops/meet.h"
#include "strata/ops/indexed.h"

namespace strata::ops {

namespace {

Value mask_beside(const Value& mask, const Ints& shape, const char* operation) {
  STRATA_CHECK(mask.dtype().is_bool(), domain, "[", operation, "] the mask is of ",
               mask.dtype().name(), ", not bool");
  return mask.broadcast_to(shape);
}

}  // namespace

Value Value::masked_scatter(const Value& mask, const Value& source) const {
  STRATA_CHECK(source.dtype() == dtype(), domain, "[masked_scatter] values of ",
               source.dtype().name(), " into a tensor of ", dtype().name());
  const Value holds = mask_beside(mask, shape(), "masked_scatter");
  const Value order = holds.flatten().cast(dtypes::int64).cumsum(0) - 1;
  return holds.where(picked(source.flatten(), order).reshape(shape()), *this);
}

Value one_hot(const Value& classes, std::int64_t count) {
  const Value given = in_range(classes, {"one_hot", "class", count});
  return given.unsqueeze(-1).eq(counting(count)).cast(dtypes::int64);
}

/// NOTE: no comparison with a NaN holds. What is behind all numbers is behind the NaNs, too, and a NaN is behind all.
Value Value::bucketize(const Value& boundaries, bool right) const {
  return boundaries.searchsorted(*this, right);
}
Value Value::searchsorted(const Value& values, bool right) const {
  STRATA_CHECK(ndim() > 0, shape, "[searchsorted] into a scalar");
  const Ints& sizes = values.shape();
  STRATA_CHECK(ndim() == 1 || (sizes.size() == shape().size() &&
                               std::equal(sizes.begin(), sizes.end() - 1, shape().begin())),
               shape, "[searchsorted] values of shape ", render(sizes), " into shape ",
               render(shape()));
  const Value sorted = ndim() == 1 ? *this : unsqueeze(-2), v = values.unsqueeze(-1);
  Value before = (right ? sorted.le(v) : sorted.lt(v)).sum(-1);
  if (!dtype().is_float() && !v.dtype().is_float()) return before;
  const Value is_behind = right ? sorted.gt(v) : sorted.ge(v);
  return is_behind.any(-1).where(before, is_behind.logical_not().sum(-1));
}

}  // namespace strata::ops
