// Statistics: extremes with indices, sums and means without NaNs, histograms, covariances, membership.

#include <array>
#include <cmath>
#include <limits>

#include "strata/ops/functional.h"
#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

namespace {

/// The largest or smallest value along the axis, with its first index. The gradient goes to the element at that index.
std::pair<Value, Value> extreme_at(const Value& x, std::int64_t axis, bool keepdim, bool is_max) {
  const std::int64_t a = axis_of(axis, x.ndim(), is_max ? "max_with_indices" : "min_with_indices");
  const Value places = is_max ? x.argmax(a, true) : x.argmin(a, true);
  if (x.ndim() == 0) return {x, places};
  const Value values = x.is_tracked() ? x.gather(a, places) : is_max ? x.max(a, true) : x.min(a, true);
  if (keepdim) return {values, places};
  return {values.squeeze(a), places.squeeze(a)};
}

void check_floats(const Value& x, const char* operation) {
  STRATA_CHECK(x.dtype().is_float(), domain, "[", operation, "] the tensor has dtype ", x.dtype().name(),
               ": cast it to a float dtype first");
}

}  // namespace

Value counts_of(const Value& places, std::int64_t count, const Value& weights) {
  const Value none = Value(LazyOp::constant(Scalar::of(weights.dtype(), std::int64_t{0}), Ints{count}));
  return put_at(none, 0, places, weights, {Reduce::sum});
}

std::pair<Value, Value> Value::aminmax(std::optional<std::int64_t> axis, bool keepdim) const {
  const AxesArg axes = axis ? AxesArg(*axis) : AxesArg();
  return {min(axes, keepdim), max(axes, keepdim)};
}
std::pair<Value, Value> Value::max_with_indices(std::int64_t axis, bool keepdim) const {
  return extreme_at(*this, axis, keepdim, true);
}
std::pair<Value, Value> Value::min_with_indices(std::int64_t axis, bool keepdim) const {
  return extreme_at(*this, axis, keepdim, false);
}

std::pair<Value, Value> Value::var_mean(const AxesArg& axes, double correction, bool keepdim) const {
  return {var(axes, correction, keepdim), mean(axes, keepdim)};
}
std::pair<Value, Value> Value::std_mean(const AxesArg& axes, double correction, bool keepdim) const {
  return {std(axes, correction, keepdim), mean(axes, keepdim)};
}

Value Value::nansum(const AxesArg& axes, bool keepdim) const {
  return dtype().is_float() ? isnan().where(0, *this).sum(axes, keepdim) : sum(axes, keepdim);
}
Value Value::nanmean(const AxesArg& axes, bool keepdim) const {
  check_floats(*this, "nanmean");
  return rounded_once(*this, [&](const Value& x) {
    return x.nansum(axes, keepdim) / x.isnan().logical_not().cast(x.dtype()).sum(axes, keepdim);
  });
}

Value Value::dist(const Value& other, double p) const { return (as_real(*this, other) - other).norm(p); }

Value Value::renorm(double p, std::int64_t axis, double most) const {
  STRATA_CHECK(ndim() >= 2, shape, "[renorm] the tensor has shape ", render(shape()),
               ": two dimensions at least are needed");
  STRATA_CHECK(p > 0 && most >= 0, domain, "[renorm] the largest norm is ", most,
               " (0 or more is expected), the norm p is ", p, " (more than 0 is expected)");
  check_floats(*this, "renorm");
  constexpr double kSafe = 1e-7;  // as in PyTorch
  const std::int64_t kept = axis_of(axis, ndim(), "renorm");
  Axes axes;
  for (std::int64_t k = 0; k < ndim(); ++k)
    if (k != kept) axes.push_back(k);
  const Value length = norm(p, axes, true);
  return *this * length.gt(most).where(most / (length + kSafe), 1);
}

Value Value::sum_to_size(const Ints& to) const {
  const std::int64_t front = ndim() - static_cast<std::int64_t>(to.size());
  bool fits = front >= 0;
  Axes axes;
  for (std::int64_t k = 0; k < ndim() && fits; ++k) {
    const Int wanted = k < front ? Int(1) : to[static_cast<std::size_t>(k - front)];
    const bool is_same = wanted == size(k);
    fits = k < front || is_same || wanted == Int(1);
    if (k < front || !is_same) axes.push_back(k);
  }
  STRATA_CHECK(fits, shape, "[sum_to_size] shape ", render(shape()), " does not sum up to ", render(to));
  return axes.empty() ? *this : sum(axes, true).reshape(to);
}

/// NOTE: with low == high the range is that of the elements; if all elements are equal it is widened by 1 on each side.
Value Value::histc(std::int64_t bins, double low, double high) const {
  check_floats(*this, "histc");
  STRATA_CHECK(bins > 0, domain, "[histc] ", bins, " bins");
  STRATA_CHECK(low <= high && std::isfinite(low) && std::isfinite(high), domain, "[histc] from ", low, " to ", high);
  const Value x = flatten().detach();
  if (numel() == Int(0)) return zeros({bins}, dtype());
  const bool is_given = low != high;
  const Value least = is_given ? new_full({}, low) : x.min(), most = is_given ? new_full({}, high) : x.max();
  const Value is_flat = least.eq(most);
  const Value from = is_flat.where(least - 1, least), to = is_flat.where(most + 1, most);
  const Value place = ((x - from) / (to - from) * bins).floor().minimum(bins - 1);
  const Value inside = (x.ge(from) & x.le(to)).where(place, -1).cast(dtypes::int64);
  Value counts = counts_of(inside, bins, inside.ones_like()).cast(dtype());
  if (is_given) return counts;
  Value has_range = ((least - least) + (most - most)).eq(0);
  if (!numel().is_number()) has_range = has_range | Value::of(numel().expr()).eq(0);  // nothing is counted then
  return has_range.where(counts, std::numeric_limits<double>::quiet_NaN());
}

Value Value::cov(double correction) const {
  STRATA_CHECK(ndim() <= 2, shape, "[cov] the tensor has shape ", render(shape()),
               "; (variables, observations) is expected");
  return rounded_once(as_real(ndim() == 2 ? *this : flatten().unsqueeze(0)), [&](const Value& x) {
    const auto count = static_cast<double>(number_of(x.size(1), "cov"));
    const Value centred = x - x.mean(1, true);
    const Value out = centred.matmul(centred.transpose()) / std::max(count - correction, 0.0);
    return ndim() == 2 && !(size(0) == Int(1)) ? out : out.reshape({});
  });
}
Value Value::corrcoef() const {
  return rounded_once(as_real(*this), [](const Value& x) {
    const Value c = x.cov();
    if (c.ndim() == 0) return c / c;
    const Value deviation = c.diagonal().sqrt();
    return (c / deviation.unsqueeze(1) / deviation).clip(-1, 1);
  });
}

Value Value::isin(const Value& others) const { return unsqueeze(-1).eq(others.flatten()).any(-1); }

}  // namespace strata::ops
