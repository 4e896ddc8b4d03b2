// Reductions of segments: parts of an axis that offsets bound. Each element gets the number of its segment, by a
// SCATTER of ones at the offsets and their running total; then it is a SCATTER of the elements. The time is linear.

#include <array>

#include "strata/ops/at_hand.h"
#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

namespace {

/// The axis of the segments, and where its elements go.
struct Segments {
  std::int64_t axis;
  Int count;      ///< of segments
  Value numbers;  ///< by element of the axis: of its segment; -1 outside of all

  /// `numbers` along the axis of tensors of `ndim` dimensions.
  Value along(std::int64_t ndim) const {
    Ints shape(static_cast<std::size_t>(ndim), 1);
    shape[static_cast<std::size_t>(axis)] = numbers.size(0);
    return numbers.reshape(shape);
  }
  /// The reduction of each segment of `x`.
  Value reduced(const Value& x, Reduce how, const Scalar& none) const {
    Ints shape = x.shape();
    shape[static_cast<std::size_t>(axis)] = count;
    return put_at(Value(LazyOp::constant(none, shape)), axis, along(x.ndim()), x, {how});
  }
  /// For each element of the axis, the row of `x` of its segment; 0 outside of all segments.
  Value of_elements(const Value& x) const { return x.index_select(axis, numbers); }
};

void check_offsets_at_hand(const Value& offsets, const Int& size, const char* operation) {
  const auto known = integers_at_hand(offsets);
  if (!known) return;
  for (std::size_t k = 0; k < known->size(); ++k) {
    const std::int64_t at = (*known)[k];
    STRATA_CHECK(at >= 0 && (!size.is_number() || at <= size.value()), shape, "[", operation, "] offset ", at, " at ",
                 k, " is outside of an axis of ", size.render(), " elements");
    STRATA_CHECK(k == 0 || (*known)[k - 1] <= at, shape, "[", operation, "] offset ", at, " at ", k, " is below ",
                 (*known)[k - 1], " in front of it: offsets do not fall");
  }
}

Segments segments_of(const Value& x, const Value& offsets, std::int64_t axis, const char* operation) {
  STRATA_CHECK(x.ndim() > 0, shape, "[", operation, "] a scalar has no axis of segments");
  const std::int64_t a = axis_of(axis, x.ndim(), operation);
  STRATA_CHECK(offsets.dtype().is_int(), domain, "[", operation, "] offsets of dtype ", offsets.dtype().name(),
               ": offsets are integers");
  STRATA_CHECK(offsets.ndim() == 1 && !(offsets.size(0) == Int(0)), shape, "[", operation, "] offsets of shape ",
               render(offsets.shape()), ": offsets are a vector of the first element of each segment and the end");
  const Int& size = x.size(a);
  check_offsets_at_hand(offsets, size, operation);
  const Value at = offsets.cast(dtypes::int64), place = counting(size);
  const Int last = offsets.size(0) - 1;
  const Value starts = at.narrow(0, 1, last), ones = starts.full_like(1);
  // One more place than elements: segments may begin at the end.
  const Value none(LazyOp::constant(Scalar(std::int64_t{0}), Ints{size + 1}));
  const Value passed = put_at(none, 0, starts, ones, {Reduce::sum}).cumsum(0).narrow(0, 0, size);
  const Value is_inside = place.ge(at.narrow(0, 0, 1)) & place.lt(at.narrow(0, last, 1));
  return {a, last, is_inside.where(passed, -1)};
}

Scalar zero_of(DType dtype) { return Scalar::of(dtype, std::int64_t{0}); }

Value extreme(const Value& x, const Value& offsets, std::int64_t axis, Reduce how, const char* operation) {
  const Ops op = how == Reduce::amax ? Ops::REDUCE_MAX : Ops::REDUCE_MIN;
  return segments_of(x, offsets, axis, operation).reduced(x, how, identity_of(op, x.dtype()));
}

}  // namespace

Value Value::segment_sum(const Value& offsets, std::int64_t axis) const {
  return segments_of(*this, offsets, axis, "segment_sum").reduced(*this, Reduce::sum, zero_of(dtype()));
}

Value Value::segment_mean(const Value& offsets, std::int64_t axis) const {
  STRATA_CHECK(dtype().is_float(), domain, "[segment_mean] a tensor of dtype ", dtype().name(),
               " has no mean: cast it to a float");
  const Segments segments = segments_of(*this, offsets, axis, "segment_mean");
  const Value x = itemsize() == 2 ? cast(dtypes::float32) : *this;
  const Value at = offsets.cast(dtypes::int64);
  const Value counts = at.narrow(0, 1, segments.count) - at.narrow(0, 0, segments.count);
  Ints along(static_cast<std::size_t>(ndim()), 1);
  along[static_cast<std::size_t>(segments.axis)] = segments.count;
  return (segments.reduced(x, Reduce::sum, zero_of(x.dtype())) / counts.reshape(along).cast(x.dtype())).cast(dtype());
}

Value Value::segment_max(const Value& offsets, std::int64_t axis) const {
  return extreme(*this, offsets, axis, Reduce::amax, "segment_max");
}

Value Value::segment_min(const Value& offsets, std::int64_t axis) const {
  return extreme(*this, offsets, axis, Reduce::amin, "segment_min");
}

Value Value::segment_softmax(const Value& offsets, std::int64_t axis) const {
  STRATA_CHECK(dtype().is_float(), domain, "[segment_softmax] a tensor of dtype ", dtype().name(),
               " has no softmax: cast it to a float");
  const Segments segments = segments_of(*this, offsets, axis, "segment_softmax");
  const Value x = itemsize() == 2 ? cast(dtypes::float32) : *this;
  const Value largest = segments.reduced(x.detach(), Reduce::amax, identity_of(Ops::REDUCE_MAX, x.dtype()));
  const Value e = (x - segments.of_elements(largest)).exp();
  const Value total = segments.of_elements(segments.reduced(e, Reduce::sum, zero_of(x.dtype())));
  return segments.along(ndim()).lt(0).where(0, e / total).cast(dtype());
}

}  // namespace strata::ops
