// searchsorted() and bucketize(): insertion positions in sorted rows. In short rows smaller elements are counted, by
// vectors; in others the row is halved again and again, each time by one gathered element.

#include <algorithm>
#include <bit>
#include <vector>

#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

namespace {

constexpr std::int64_t kCounted = 32;  // elements of a row, at most, whose smaller ones are counted

/// @pre `sorted` and `v` broadcast, with the row along the last axis of `sorted`
Value counted(const Value& sorted, const Value& v, bool right) {
  Value before = (right ? sorted.le(v) : sorted.lt(v)).sum(-1);
  if (!sorted.dtype().is_float() && !v.dtype().is_float()) return before;
  const Value is_behind = right ? sorted.gt(v) : sorted.ge(v);
  return is_behind.any(-1).where(before, is_behind.logical_not().sum(-1));
}

/// How many elements in front of the NaNs are not behind `v`; all of the row where no element is behind.
Value halved(const Value& sorted, const Value& v, bool right) {
  const Int& size = sorted.size(-1);
  const Value row = with_largest(sorted, sorted.ndim() - 1);
  const Value all = size.is_number() ? Value(LazyOp::constant(Scalar(size.value()), Ints{}))
                                     : sorted.full_like(1).cast(dtypes::int64).sum(-1);
  const bool has_nan = sorted.dtype().is_float();
  const Value numbers = has_nan ? sorted.isnan().logical_not().sum(-1) : all;
  Value found = v.zeros_like().cast(dtypes::int64);
  for (auto step = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(size.vmax()))); step > 0;
       step /= 2) {
    const Value next = found + step, element = picked(row, next - 1);
    const Value is_behind = right ? element.gt(v) : element.ge(v);
    // NOTE: where v is NaN nothing is behind it.
    found = (next.le(numbers) & is_behind.logical_not()).where(next, found);
  }
  return has_nan || v.dtype().is_float() ? found.eq(numbers).where(all, found) : found;
}

}  // namespace

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
  const Value sorted = (ndim() == 1 ? *this : unsqueeze(-2)).detach(), v = values.detach();
  return size(-1).vmax() <= kCounted ? counted(sorted, v.unsqueeze(-1), right) : halved(sorted, v, right);
}

}  // namespace strata::ops
