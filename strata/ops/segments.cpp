// summed_by_index(): sums of the values that go to the same place, by sorting. Values are sorted by place and summed
// over runs of equal places; each place then takes the sum at the end of its run, which a binary search finds.
//
// The sums over runs are a segmented scan in steps of 4: after step s an element holds the sum of up to 4^s elements of
// its run, itself and those in front of it. For k values and n places this takes k log(k) + n log(k) operations, in a
// fixed order: the rounding is always the same.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

namespace {

constexpr std::int64_t kShortRow = 1024;  // up to this length sort() compares all pairs

/// `x` shifted by `by` along the axis: element k becomes element k - by of x, `fill` for k < by.
Value later(const Value& x, std::int64_t axis, std::int64_t by, const Number& fill) {
  Padding around(x.shape().size(), {0, 0});
  Mask bounds;
  for (const Int& size : x.shape()) bounds.push_back({0, size});
  around[static_cast<std::size_t>(axis)].first = by;
  return x.pad(around, PadMode::constant, fill).shrink(bounds);
}

/// (..., n): for each place p in [0, n), how many of the sorted integers (..., k) are <= p. A binary search.
Value ends_of_runs(const Value& sorted, std::int64_t n) {
  const std::int64_t k = sorted.size(-1).value();
  const Value place = counting(n).cast(sorted.dtype()), rows = sorted.unsqueeze(-2);
  Ints shape = sorted.shape();
  shape.back() = n;
  Value count = Value(LazyOp::constant(Scalar(std::int64_t{0}), shape));
  for (std::int64_t step = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(k))); step > 0;
       step /= 2) {
    const Value further = count + step;
    count = (further.le(k) & picked(rows, further - 1).le(place)).where(further, count);
  }
  return count.contiguous();
}

/// The inclusive scan of x along the axis within runs of equal `place`.
Value sums_of_runs(Value x, const Value& place, std::int64_t axis, std::int64_t count) {
  for (std::int64_t reach = 1; reach < count; reach *= 4) {
    Value sum = x;
    for (std::int64_t k = 1; k < 4 && k * reach < count; ++k) {
      const Value is_same = place.eq(later(place, axis, k * reach, -1));
      sum = sum + is_same.where(later(x, axis, k * reach, 0), 0);
    }
    x = sum.contiguous();
  }
  return x;
}

/// summed_by_index() without a gradient, for an index with the rank of `values`.
Value sums_at_places(const Value& values, const Value& index, std::int64_t n) {
  const std::int64_t k = index.size(-1).value();
  const bool is_narrow = values.dtype().is_float() && values.itemsize() < 4;
  const Value wide = is_narrow ? values.cast(dtypes::float32) : values;
  // Values whose index is outside go to the additional place n.
  const DType small = n < (std::int64_t{1} << 31) ? dtypes::int32 : dtypes::int64;
  const Value place = (index.ge(0) & index.lt(n)).where(index, n).cast(small);
  const Value order = place.argsort(-1).contiguous();
  const Value sorted = place.gather(-1, order).contiguous();
  // If all rows share one index, the axis is moved to the front, so that a step adds contiguous rows.
  const bool is_shared =
      std::all_of(index.shape().begin(), index.shape().end() - 1, [](const Int& s) { return s == Int(1); });
  const std::int64_t axis = is_shared ? 0 : values.ndim() - 1;
  const Value rows = picked(wide.unsqueeze(-2), order).movedim({-1}, {axis}).contiguous();
  const Value sums = sums_of_runs(rows, sorted.movedim({-1}, {axis}), axis, k).movedim({axis}, {-1});
  const Value last = ends_of_runs(sorted, n) - 1;
  const Value is_there = picked(sorted.unsqueeze(-2), last).eq(counting(n).cast(small));
  const Value out = (last.ge(0) & is_there).where(picked(sums.unsqueeze(-2), last), 0);
  return is_narrow ? out.cast(values.dtype()) : out;
}

}  // namespace

bool is_sum_by_order(const Ints& rows, const Ints& index, const Int& places) {
  const Int all = product(rows) * places;
  if (!all.is_number() || !product(index).is_number()) return false;
  const double k = static_cast<double>(index.back().value()),
               sorts = static_cast<double>(product(index).value()) / std::max(k, 1.0),
               dense = static_cast<double>(all.value()) * k;
  const bool is_short = k <= kShortRow;
  const double log_k = std::log2(std::max(k, 2.0)), compares = is_short ? 2 * k : 4 * log_k * log_k;
  const double sort = sorts * k * compares;
  // The constants cover the kernels to compile and launch: a long row sorts with more kernels.
  return dense > 4 * sort + (is_short ? 0x1p24 : 0x1p28);
}

Value summed_by_index(const Value& values, const Value& index, std::int64_t n) {
  Value places = index.detach(), x = values;
  while (places.ndim() < x.ndim()) places = places.unsqueeze(0);
  const std::array shapes{x.shape(), places.shape()};
  x = x.broadcast_to(broadcast_shape("gather", shapes));
  const Value out = sums_at_places(x.detach(), places, n);
  const auto backward = [](const Value& dy, const Saved& saved) {
    return std::vector{picked(dy.unsqueeze(-2), saved[0])};
  };
  return with_gradient(out, {&x, 1}, backward, Saved({places}));
}

Value picked_by_order(const Value& plain, const Value& values, const Value& index) {
  const auto backward = [](const Value& dy, const Saved& saved) {
    const Ints& shape = saved.numbers();
    // The dimensions along which values repeat are merged with the index into the last axis, and so are summed.
    const std::size_t ndim = dy.shape().size(), missing = ndim + 1 - shape.size();
    Value places = saved[0];
    while (places.shape().size() < ndim) places = places.unsqueeze(0);
    Axes rows, summed_axes;
    Ints with_rows, with_places;
    for (std::size_t d = 0; d < ndim; ++d) {
      const bool is_row = d >= missing && !(shape[d - missing] == Int(1));
      (is_row ? rows : summed_axes).push_back(static_cast<std::int64_t>(d));
      if (!is_row) continue;
      with_rows.push_back(dy.shape()[d]);
      with_places.push_back(places.shape()[d]);
    }
    Ints spread = places.shape();
    for (const std::int64_t d : summed_axes) spread[static_cast<std::size_t>(d)] = dy.size(d);
    Axes order = rows;
    for (const std::int64_t d : summed_axes) order.push_back(d);
    with_rows.push_back(-1), with_places.push_back(-1);
    const Value flat = dy.permute(order).reshape(with_rows),
                at = places.broadcast_to(spread).permute(order).reshape(with_places);
    return std::vector{summed_by_index(flat, at, shape.back().value()).reshape(shape)};
  };
  return with_gradient(plain, {&values, 1}, backward, Saved({index}, values.shape()));
}

}  // namespace strata::ops
