// Sorting: ORDER nodes (graph/lazy_op.h), and their elements. Ranks count from 0; NaN is the largest, -0 equals 0, and
// equal elements have the order of their places.

#include <limits>

#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

Value order_keys(const Value& values, bool descending) {
  Value x = values.detach();
  if (x.dtype().is_bool()) x = x.cast(dtypes::int32);
  if (x.dtype().is_float()) {
    if (x.itemsize() == 2) x = x.cast(dtypes::float32);
    const DType bits = x.itemsize() == 4 ? dtypes::int32 : dtypes::int64;
    const Number greatest(identity_of(Ops::REDUCE_MIN, bits));
    const Value pattern = x.eq(0).where(0, x).bitcast(bits);
    // The bit patterns of negative floats are in reverse order: invert all bits but the sign.
    const Value ordered = pattern.lt(0).where(pattern.bitwise_xor(greatest), pattern);
    x = x.isnan().where(greatest, ordered);
  }
  return descending ? x.bitwise_not() : x;
}

namespace {

/// What of sorted rows is wanted.
struct Ranks {
  bool is_descending = false;
  Int first = 0;
  std::optional<std::int64_t> count = std::nullopt;  ///< nothing: all
};

/// What is sorted. Memory of other libraries may hold bools of other bytes than 0 and 1, of which ORDER sorts the bits.
Value order_source(const Value& x) { return x.dtype().is_bool() ? x.cast(dtypes::uint8) : x; }

Value places_of(const Value& x, std::int64_t axis, const Ranks& ranks) {
  const Int count = ranks.count ? Int(*ranks.count) : x.size(axis);
  return Value(LazyOp::order(order_source(x).node(), {true, ranks.is_descending, axis, ranks.first}, count));
}

/// The elements of the ranks, and their places. Whole rows that nobody differentiates are sorted without places.
std::pair<Value, Value> ordered(const Value& x, std::int64_t axis, const Ranks& ranks) {
  const Value places = places_of(x, axis, ranks);
  if (!ranks.count && !x.is_tracked()) {
    const LazyOp sorted = LazyOp::order(order_source(x).node(), {false, ranks.is_descending, axis, 0}, x.size(axis));
    return {Value(sorted).cast(x.dtype()), places};
  }
  if (x.size(axis).is_number()) return {x.gather(axis, places), places};
  const Value rows = x.movedim({axis}, {-1}), index = places.movedim({axis}, {-1});
  return {picked(rows.unsqueeze(-2), index).movedim({-1}, {axis}), places};
}

/// The `count` first ranks. @throws Error (shape) unless the axis has so many
std::pair<Value, Value> first_ranks(const char* operation, const Value& x, std::int64_t axis, std::int64_t count,
                                    bool is_descending) {
  const std::int64_t a = axis_of(axis, x.ndim(), operation);
  if (x.ndim() == 0) {
    STRATA_CHECK(count == 0 || count == 1, shape, "[", operation, "] k is ", count, ", but a scalar has one element");
    return {x, x.full_like(0).cast(dtypes::int64)};
  }
  const Int& n = x.size(a);
  STRATA_CHECK(count >= 0 && known(is_at_most(count, n)), shape, "[", operation, "] k is ", count,
               ", not from 0 to the ", n.render(), " elements of axis ", axis, " of shape ", render(x.shape()));
  return ordered(x, a, {is_descending, 0, count});
}

/// The element of one rank; the axis is removed unless `keepdim`.
std::pair<Value, Value> of_rank(const Value& x, std::int64_t axis, const Int& rank, bool keepdim) {
  const auto [value, place] = ordered(x, axis, {false, rank, 1});
  if (keepdim) return {value, place};
  return {value.squeeze(axis), place.squeeze(axis)};
}

}  // namespace

std::pair<Value, Value> Value::sort(std::int64_t axis, bool descending) const {
  const std::int64_t a = axis_of(axis, ndim(), "sort");
  if (ndim() == 0) return {*this, full_like(0).cast(dtypes::int64)};
  return ordered(*this, a, {descending});
}
Value Value::argsort(std::int64_t axis, bool descending) const {
  const std::int64_t a = axis_of(axis, ndim(), "argsort");
  return ndim() == 0 ? full_like(0).cast(dtypes::int64) : places_of(*this, a, {descending});
}
std::pair<Value, Value> Value::topk(std::int64_t k, std::int64_t axis, bool largest) const {
  return first_ranks("topk", *this, axis, k, largest);
}
std::pair<Value, Value> Value::kthvalue(std::int64_t k, std::int64_t axis, bool keepdim) const {
  const std::int64_t a = axis_of(axis, ndim(), "kthvalue");
  STRATA_CHECK(k >= 1, domain, "[kthvalue] k is ", k, ", but k counts from 1");
  if (ndim() == 0) return first_ranks("kthvalue", *this, axis, k, false);
  const Int& n = size(a);
  STRATA_CHECK(known(is_at_most(k, n)), shape, "[kthvalue] k is ", k, ", not from 0 to the ", n.render(),
               " elements of axis ", axis, " of shape ", render(shape()));
  return of_rank(*this, a, k - 1, keepdim);
}

/// A row with a NaN has the median NaN, at the place of its first NaN.
std::pair<Value, Value> Value::median(std::int64_t axis, bool keepdim) const {
  const std::int64_t a = axis_of(axis, ndim(), "median");
  if (ndim() == 0) return {*this, full_like(0).cast(dtypes::int64)};
  const std::int64_t n = number_of(size(a), "median");
  STRATA_CHECK(n > 0, shape, "[median] of nothing: shape ", render(shape()));
  if (!dtype().is_float()) return of_rank(*this, a, (n - 1) / 2, keepdim);
  const Value nans = isnan();
  const Value middle = of_rank(*this, a, (n - 1) / 2, true).second;
  const Value place = nans.any(a, true).where(nans.cast(dtypes::int32).argmax(a, true), middle);
  const Value value = gather(a, place);
  if (keepdim) return {value, place};
  return {value.squeeze(a), place.squeeze(a)};
}
Value Value::median() const {
  if (numel() == Int(0) && dtype().is_float()) return flatten().sum() + std::numeric_limits<double>::quiet_NaN();
  return flatten().median(0).first;
}

Value Value::msort() const { return sort(0).first; }

}  // namespace strata::ops
