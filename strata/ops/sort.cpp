// Sorting. Elements are compared as integers with the order of the values (order_keys()); NaN is the largest.
//
// Short rows: the rank of an element is the number of elements in front of it in sorted order, and element k of the
// result is the element of rank k. These are two reductions over all pairs, stable and without branches. A few elements
// of a long row (topk): the row is cut into blocks, each block yields its first elements, and these are sorted. Long
// rows: a bitonic network with n log2(n)^2 / 2 minimum or maximum operations. Each key carries its index in the low
// bits, so that no two keys are equal and the network is stable.

#include <algorithm>
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

constexpr std::int64_t kSortBlock = 512;

/// (..., n): the rank of each element; equal elements are ranked by index.
Value ranks_of(const Value& keys) {
  const Value place = counting(keys.size(-1));
  const Value own = keys.unsqueeze(-1), other = keys.unsqueeze(-2);
  const Value is_before = other.lt(own) | (other.eq(own) & place.lt(place.unsqueeze(1)));
  const Value counts = is_before.cast(dtypes::int32);
  return Value(LazyOp::reduce(Ops::SUM, counts.node(), {counts.ndim() - 1})).squeeze(-1);
}

/// (..., k): the indices of the elements of rank 0 to k - 1.
Value places_of_ranks(const Value& ranks, std::int64_t k) {
  const Value place = counting(ranks.size(-1));
  const Value is_it = ranks.unsqueeze(-2).eq(counting(k).unsqueeze(1).cast(dtypes::int32));
  return is_it.where(place, 0).sum(-1);
}

constexpr std::int64_t kAbreast = 16;  // the lanes of one or two vectors

/// One step of the bitonic network. Rows are laid out as (..., n/16, 16) with element k at (k % (n/16), k // (n/16)),
/// so that the partners of most steps are whole vectors. In each block of `block` elements, partners are half a block
/// apart (or mirrored at the block's middle); the lesser of a pair goes to the first half.
Value exchanged(const Value& x, std::int64_t block, bool mirrored) {
  const std::int64_t down = x.size(-2).value();
  const bool is_down = block <= down;
  const std::int64_t axis = is_down ? -2 : -1, half = (is_down ? block : block / down) / 2;
  const Value pairs = x.unflatten(axis, {-1, 2, half});  // (..., blocks, 2, half, 16) or (..., n/16, blocks, 2, half)
  const std::int64_t side = axis - 1;
  Axes flipped = {side};
  if (mirrored) flipped.push_back(axis);
  if (mirrored && !is_down) flipped.push_back(-4);
  const Value partner = pairs.flip(flipped);
  const Value is_first = counting(2).eq(0).reshape(is_down ? Ints{2, 1, 1} : Ints{2, 1});
  return is_first.where(pairs.minimum(partner), pairs.maximum(partner)).reshape(x.shape()).contiguous();
}

/// The first k elements of the last axis.
Value first_of(const Value& rows, std::int64_t k) {
  Mask bounds;
  for (const Int& size : rows.shape()) bounds.push_back({0, size});
  bounds.back().end = k;
  return rows.shrink(bounds);
}

constexpr std::int64_t kHalf = std::int64_t{1} << 32;

/// (..., n): the sorting permutation (the index of each element of the sorted row). @pre keys are i64 in [-2^31, 2^31)
Value places_through_network(const Value& keys, std::int64_t n) {
  std::int64_t whole = kAbreast;
  while (whole < n) whole *= 2;
  Padding padding(keys.shape().size(), {0, 0});
  padding.back().second = whole - n;
  const Number last(identity_of(Ops::REDUCE_MIN, dtypes::int64));
  Value x = (keys * kHalf + counting(n)).pad(padding, PadMode::constant, last);
  x = x.unflatten(-1, {kAbreast, whole / kAbreast}).transpose(-1, -2).contiguous();
  for (std::int64_t block = 2; block <= whole; block *= 2) {
    x = exchanged(x, block, true);
    for (std::int64_t inner = block / 2; inner > 1; inner /= 2) x = exchanged(x, inner, false);
  }
  return first_of(x.transpose(-1, -2).flatten(-2), n).bitwise_and(kHalf - 1);
}

/// (..., n): the sorting permutation. 64-bit keys are sorted by their low halves, then stably by their high halves.
Value places_of_long_rows(const Value& keys, std::int64_t n) {
  if (keys.itemsize() < 8) {
    const Value wide = keys.cast(dtypes::int64);
    return places_through_network(keys.dtype() == dtypes::uint32 ? wide - kHalf / 2 : wide, n);
  }
  const Number sign(std::numeric_limits<std::int64_t>::min());
  const Value bits = keys.dtype().is_unsigned() ? keys.bitcast(dtypes::int64).bitwise_xor(sign) : keys;
  const Value by_low = places_through_network(bits.bitwise_and(kHalf - 1) - kHalf / 2, n);
  const Value high = bits.floor_divide(kHalf).gather(-1, by_low);
  return by_low.gather(-1, places_through_network(high, n));
}

/// (..., k): the indices of the k first elements of the sorted last axis, in order.
Value first_places(const Value& keys, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kWorthwhile = 4;
  if (n <= 2 * kSortBlock) return places_of_ranks(ranks_of(keys), k);
  if (k > kSortBlock / kWorthwhile) return first_of(places_of_long_rows(keys, n), k);
  const std::int64_t blocks = (n + kSortBlock - 1) / kSortBlock;
  Padding padding(keys.shape().size(), {0, 0});
  padding.back().second = blocks * kSortBlock - n;
  const Number last(identity_of(Ops::REDUCE_MIN, keys.dtype()));
  const Value rows = keys.pad(padding, PadMode::constant, last).unflatten(-1, {blocks, kSortBlock});
  const Value inside = places_of_ranks(ranks_of(rows), k);  // (..., blocks, k)
  const Value chosen = rows.gather(-1, inside).flatten(-2);
  const Value place = (inside + counting(blocks).unsqueeze(1) * kSortBlock).flatten(-2);
  return place.gather(-1, first_places(chosen, blocks * k, k));
}

/// ordered() of an axis of symbolic size: the keys have room for the largest size, and what is behind the row sorts
/// last.
std::pair<Value, Value> ordered_symbolic(const char* operation, const Value& x, std::int64_t axis,
                                         std::optional<std::int64_t> count, bool descending) {
  const Int& n = x.size(axis);
  const std::int64_t most = n.vmax(), k = count.value_or(most);
  STRATA_CHECK(!count || (k >= 0 && known(is_at_most(k, n))), shape, "[", operation, "] k is ", k,
               ", not from 0 to the ", n.render(), " elements of axis ", axis, " of shape ", render(x.shape()));
  const Value rows = x.movedim({axis}, {-1}), keys = order_keys(rows, descending);
  Padding behind(keys.shape().size(), {0, 0});
  behind.back().second = Int(most) - n;
  const Number last(identity_of(Ops::REDUCE_MIN, keys.dtype()));
  const Value all = first_places(keys.pad(behind, PadMode::constant, last), most, k);
  const Value places = count ? all : all.narrow(-1, 0, n);
  const Value values = picked(rows.unsqueeze(-2), places);
  return {values.movedim({-1}, {axis}), places.movedim({-1}, {axis})};
}

std::pair<Value, Value> ordered(const char* operation, const Value& x, std::int64_t axis,
                                std::optional<std::int64_t> count, bool descending) {
  const std::int64_t a = axis_of(axis, x.ndim(), operation);
  if (x.ndim() == 0) {
    STRATA_CHECK(count.value_or(1) == 0 || count.value_or(1) == 1, shape, "[", operation, "] k is ", *count,
                 ", but a scalar has one element");
    const auto [values, indices] = ordered(operation, x.reshape({1}), 0, 1, descending);
    return {values.reshape({}), indices.reshape({})};
  }
  if (!x.size(a).is_number()) return ordered_symbolic(operation, x, a, count, descending);
  const std::int64_t n = x.size(a).value(), k = count.value_or(n);
  STRATA_CHECK(k >= 0 && k <= n, shape, "[", operation, "] k is ", k, ", not from 0 to the ", n, " elements of axis ",
               axis, " of shape ", render(x.shape()));
  const Value rows = x.movedim({a}, {-1});
  const Value places = first_places(order_keys(rows, descending), n, k);
  return {rows.gather(-1, places).movedim({-1}, {a}), places.movedim({-1}, {a})};
}

/// Element k along the axis of both tensors; the axis is removed unless `keepdim`.
std::pair<Value, Value> only(const std::pair<Value, Value>& all, std::int64_t axis, std::int64_t k, bool keepdim) {
  const auto pick = [&](const Value& t) {
    if (t.ndim() == 0) return t;
    Mask bounds;
    for (const Int& size : t.shape()) bounds.push_back({0, size});
    bounds[static_cast<std::size_t>(axis)] = {k, k + 1};
    const Value out = t.shrink(bounds);
    return keepdim ? out : out.squeeze(axis);
  };
  return {pick(all.first), pick(all.second)};
}

}  // namespace

std::pair<Value, Value> Value::sort(std::int64_t axis, bool descending) const {
  return ordered("sort", *this, axis, {}, descending);
}
Value Value::argsort(std::int64_t axis, bool descending) const {
  return ordered("argsort", *this, axis, {}, descending).second;
}
std::pair<Value, Value> Value::topk(std::int64_t k, std::int64_t axis, bool largest) const {
  return ordered("topk", *this, axis, k, largest);
}
std::pair<Value, Value> Value::kthvalue(std::int64_t k, std::int64_t axis, bool keepdim) const {
  const std::int64_t a = axis_of(axis, ndim(), "kthvalue");
  STRATA_CHECK(k >= 1, domain, "[kthvalue] k is ", k, ", but k counts from 1");
  return only(ordered("kthvalue", *this, axis, k, false), a, k - 1, keepdim);
}

/// A row with a NaN has the median NaN: NaN sorts last, so the last element of the row is taken.
std::pair<Value, Value> Value::median(std::int64_t axis, bool keepdim) const {
  const std::int64_t a = axis_of(axis, ndim(), "median");
  if (ndim() == 0) return ordered("median", *this, 0, {}, false);
  const std::int64_t n = number_of(size(a), "median");
  STRATA_CHECK(n > 0, shape, "[median] of nothing: shape ", render(shape()));
  const auto all = ordered("median", *this, a, {}, false);
  auto middle = only(all, a, (n - 1) / 2, keepdim);
  if (!dtype().is_float()) return middle;
  const Value nans = isnan().any(a, keepdim);
  const auto first_nan = isnan().cast(dtypes::int32).argmax(a, keepdim);
  const auto last = only(all, a, n - 1, keepdim);
  return {nans.where(last.first, middle.first), nans.where(first_nan, middle.second)};
}
Value Value::median() const {
  if (numel() == Int(0) && dtype().is_float()) return flatten().sum() + std::numeric_limits<double>::quiet_NaN();
  return flatten().median(0).first;
}

Value Value::msort() const { return sort(0).first; }

}  // namespace strata::ops
