// Quantiles, medians without NaNs, and modes.

#include <limits>

#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

namespace {

/// The quantiles q, in [0, 1], as one dimension, and whether q was a single number. Elements of a tensor out of range
/// become NaN.
std::pair<Value, bool> shares_of(const char* operation, const Operand& q, const Value& x) {
  if (q.value() == nullptr) {
    const double share = q.number().value().as_double();
    STRATA_CHECK(0 <= share && share <= 1, domain, "[", operation, "] the share q is ", share, "; 0 to 1 is expected");
    return {x.new_full({1}, share), true};
  }
  const Value& t = *q.value();
  STRATA_CHECK(t.ndim() <= 1 && t.dtype() == x.dtype(), shape, "[", operation, "] the shares q have dtype ",
               t.dtype().name(), " and shape ", render(t.shape()), "; dtype ", x.dtype().name(),
               " and one dimension at most are expected");
  const Value out = t.atleast_1d();
  return {(out.ge(0) & out.le(1)).where(out, std::numeric_limits<double>::quiet_NaN()), t.ndim() == 0};
}

/// (..., shares): the values of sorted rows at fractional ranks, counted from 0.
Value at_ranks(const Value& sorted, const Value& ranks, Between between) {
  const auto at = [&](const Value& rank) { return sorted.gather(-1, rank.cast(dtypes::int64)); };
  const Value safe = ranks.isnan().where(0, ranks), below = safe.floor();
  const auto known = [&](const Value& out) { return ranks.isnan().where(ranks, out); };
  switch (between) {
    case Between::lower: return known(at(below));
    case Between::higher: return known(at(safe.ceil()));
    case Between::nearest: return known(at(safe.round()));
    case Between::midpoint: return known(at(below).lerp(at(safe.ceil()), 0.5));
    case Between::linear: break;
  }
  return known(at(below).lerp(at(safe.ceil()), safe - below));
}

struct QuantileArgs {
  const Operand& q;
  std::optional<std::int64_t> axis;
  bool keepdim;
  Between between;
};

/// NaNs sort last. A row with a NaN has the rank of its last element, a NaN; with `skips` ranks count only the elements
/// in front of NaNs.
Value quantile_of(const char* operation, const Value& x, const QuantileArgs& args, bool skips) {
  STRATA_CHECK(x.dtype().is_float(), domain, "[", operation, "] the tensor has dtype ", x.dtype().name(),
               ": cast it to a float dtype first");
  const std::int64_t a = args.axis ? axis_of(*args.axis, x.ndim(), operation) : 0;
  const auto [shares, is_one] = shares_of(operation, args.q, x);
  const Value rows = args.axis && x.ndim() > 0 ? with_last(x, a) : x.flatten();
  const std::int64_t n = number_of(rows.size(-1), operation);
  STRATA_CHECK(n > 0, shape, "[", operation, "] of nothing: shape ", render(x.shape()));
  const Value nans = rows.detach().isnan();
  const Value count = nans.logical_not().cast(x.dtype()).sum(-1, true);
  const Value ranks = skips ? shares * (count - 1).maximum(0) : nans.any(-1, true).where(n - 1, shares * (n - 1));
  Ints sizes = rows.shape();
  sizes.back() = shares.size(0);
  const Value out = at_ranks(rows.sort(-1).first, ranks.detach().expand(sizes), args.between);
  Value shaped = out;  // (..., shares)
  if (args.keepdim)
    shaped = args.axis && x.ndim() > 0 ? out.unsqueeze(a) : out.reshape([&] {
      Ints ones(x.shape().size(), 1);
      ones.push_back(sizes.back());
      return ones;
    }());
  return is_one ? shaped.squeeze(-1) : shaped.movedim({-1}, {0});
}

}  // namespace

Value Value::quantile(const Operand& q, std::optional<std::int64_t> axis, bool keepdim, Between between) const {
  return quantile_of("quantile", *this, {q, axis, keepdim, between}, false);
}
Value Value::nanquantile(const Operand& q, std::optional<std::int64_t> axis, bool keepdim, Between between) const {
  return quantile_of("nanquantile", *this, {q, axis, keepdim, between}, true);
}

/// The median of the elements that are not NaN, the lower one of two middle elements; NaN for a row of NaNs.
std::pair<Value, Value> Value::nanmedian(std::int64_t axis, bool keepdim) const {
  if (!dtype().is_float() || ndim() == 0) return median(axis, keepdim);
  const std::int64_t a = axis_of(axis, ndim(), "nanmedian");
  STRATA_CHECK(!(size(a) == Int(0)), shape, "[nanmedian] of nothing: shape ", render(shape()));
  const Value count = isnan().logical_not().sum(a, true);
  const Value middle = (count - 1).maximum(0).floor_divide(2);
  const Value place = sort(a).second.gather(a, middle), value = gather(a, place);
  if (keepdim) return {value, place};
  return {value.squeeze(a), place.squeeze(a)};
}
Value Value::nanmedian() const {
  if (numel() == Int(0)) return median();
  return flatten().nanmedian(0).first;
}

/// In sorted rows equal elements are runs. The first of the longest runs has the least of the most frequent values, and
/// its end the last place. A NaN is a run of its own, behind all others.
std::pair<Value, Value> Value::mode(std::int64_t axis, bool keepdim) const {
  const std::int64_t a = axis_of(axis, ndim(), "mode");
  if (ndim() == 0) return {*this, full_like(0).cast(dtypes::int64)};
  STRATA_CHECK(!(size(a) == Int(0)), shape, "[mode] of nothing: shape ", render(shape()));
  const Value x = with_last(detach(), a);
  const auto [sorted, places] = x.sort(-1);
  const Value rank = counting(x.size(-1));
  const Value begins = rank.eq(0) | sorted.ne(sorted.roll({1}, {-1}));
  const Value length = rank - begins.where(rank, 0).cummax(-1).first;
  const Value end = length.argmax(-1, true);
  const Value place = picked(places.unsqueeze(-2), end).movedim({-1}, {a}), value = gather(a, place);
  if (keepdim) return {value, place};
  return {value.squeeze(a), place.squeeze(a)};
}

}  // namespace strata::ops
