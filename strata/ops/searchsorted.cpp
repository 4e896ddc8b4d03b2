// searchsorted() and bucketize(): insertion positions in sorted rows, by counting smaller elements.

#include <algorithm>
#include <vector>

#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

/// NOTE: comparisons with NaN are false. A value larger than all numbers of the row goes behind the row's NaNs, too,
/// and a NaN goes behind all elements.
Value Value::bucketize(const Value& boundaries, bool right) const { return boundaries.searchsorted(*this, right); }
Value Value::searchsorted(const Value& values, bool right) const {
  STRATA_CHECK(ndim() > 0, shape, "[searchsorted] the sorted sequence is a scalar: at least one dimension is needed");
  const Ints& sizes = values.shape();
  STRATA_CHECK(
      ndim() == 1 || (sizes.size() == shape().size() && std::equal(sizes.begin(), sizes.end() - 1, shape().begin())),
      shape, "[searchsorted] values of shape ", render(sizes), " do not match a sorted sequence of shape ",
      render(shape()));
  const Value sorted = ndim() == 1 ? *this : unsqueeze(-2), v = values.unsqueeze(-1);
  Value before = (right ? sorted.le(v) : sorted.lt(v)).sum(-1);
  if (!dtype().is_float() && !v.dtype().is_float()) return before;
  const Value is_behind = right ? sorted.gt(v) : sorted.ge(v);
  return is_behind.any(-1).where(before, is_behind.logical_not().sum(-1));
}

}  // namespace strata::ops
