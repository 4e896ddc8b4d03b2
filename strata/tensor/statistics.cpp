// What is said of many elements: sums without NaNs, extremes with their places, counts, covariances, sameness.

#include <array>
#include <cmath>
#include <limits>

#include "strata/tensor/access.h"
#include "strata/tensor/functional.h"
#include "strata/tensor/indexed.h"

namespace strata {

namespace {

/// Values at the first of the extremes' places, along which the axis goes unless it is kept.
std::pair<Tensor, Tensor> extreme_at(const Tensor& x, std::int64_t axis, bool keepdim, bool is_max) {
  const std::int64_t a = axis_of(axis, x.ndim(), is_max ? "max_with_indices" : "min_with_indices");
  const Tensor places = is_max ? x.argmax(a, true) : x.argmin(a, true);
  if (x.ndim() == 0) return {own(x), places};
  const Tensor values = x.requires_grad() ? x.gather(a, places)
                        : is_max          ? x.max(a, true)
                                          : x.min(a, true);
  if (keepdim) return {values, places};
  return {values.squeeze(a), places.squeeze(a)};
}

void check_floats(const Tensor& x, const char* operation) {
  STRATA_CHECK(x.dtype().is_float(), domain, "[", operation, "] of ", x.dtype().name(),
               ": cast it to a float first");
}

/// How often each of 0, 1, ..., count - 1 is among places of one dimension, which may be beyond; or the sum of weights.
Tensor counts_of(const Tensor& places, std::int64_t count, const Tensor& weights) {
  const Tensor is_it = counting(count, places).unsqueeze(1).eq(places);
  return is_it.where(weights, false).sum(-1);
}

}  // namespace

std::pair<Tensor, Tensor> Tensor::aminmax(std::optional<std::int64_t> axis, bool keepdim, At at) const {
  const OriginScope scope("aminmax", at);
  const AxesArg axes = axis ? AxesArg(*axis) : AxesArg();
  return {min(axes, keepdim), max(axes, keepdim)};
}
std::pair<Tensor, Tensor> Tensor::max_with_indices(std::int64_t axis, bool keepdim, At at) const {
  const OriginScope scope("max_with_indices", at);
  return extreme_at(*this, axis, keepdim, true);
}
std::pair<Tensor, Tensor> Tensor::min_with_indices(std::int64_t axis, bool keepdim, At at) const {
  const OriginScope scope("min_with_indices", at);
  return extreme_at(*this, axis, keepdim, false);
}

std::pair<Tensor, Tensor> Tensor::var_mean(const AxesArg& axes, double correction, bool keepdim,
                                           At at) const {
  const OriginScope scope("var_mean", at);
  return {var(axes, correction, keepdim), mean(axes, keepdim)};
}
std::pair<Tensor, Tensor> Tensor::std_mean(const AxesArg& axes, double correction, bool keepdim,
                                           At at) const {
  const OriginScope scope("std_mean", at);
  return {std(axes, correction, keepdim), mean(axes, keepdim)};
}

Tensor Tensor::nansum(const AxesArg& axes, bool keepdim, At at) const {
  const OriginScope scope("nansum", at);
  return dtype().is_float() ? isnan().where(0, *this).sum(axes, keepdim) : sum(axes, keepdim);
}
Tensor Tensor::nanmean(const AxesArg& axes, bool keepdim, At at) const {
  const OriginScope scope("nanmean", at);
  check_floats(*this, "nanmean");
  return rounded_once(*this, [&](const Tensor& x) {
    return x.nansum(axes, keepdim) / x.isnan().logical_not().cast(x.dtype()).sum(axes, keepdim);
  });
}

Tensor Tensor::dist(const Tensor& other, double p, At at) const {
  const OriginScope scope("dist", at);
  return (as_real(*this, other) - other).norm(p);
}

Tensor Tensor::renorm(double p, std::int64_t axis, double most, At at) const {
  const OriginScope scope("renorm", at);
  STRATA_CHECK(ndim() >= 2, shape, "[renorm] of shape ", render(shape()),
               ": two dimensions at least are needed");
  STRATA_CHECK(p > 0 && most >= 0, domain, "[renorm] to ", most, " by the norm ", p);
  check_floats(*this, "renorm");
  constexpr double kSafe = 1e-7;  // as PyTorch has it
  const std::int64_t kept = axis_of(axis, ndim(), "renorm");
  Axes axes;
  for (std::int64_t k = 0; k < ndim(); ++k)
    if (k != kept) axes.push_back(k);
  const Tensor length = norm(p, axes, true);
  return *this * length.gt(most).where(most / (length + kSafe), 1);
}

Tensor Tensor::sum_to_size(const Ints& to, At at) const {
  const OriginScope scope("sum_to_size", at);
  const std::int64_t front = ndim() - static_cast<std::int64_t>(to.size());
  bool fits = front >= 0;
  Axes axes;
  for (std::int64_t k = 0; k < ndim() && fits; ++k) {
    const Int wanted = k < front ? Int(1) : to[static_cast<std::size_t>(k - front)];
    const bool is_same = wanted == size(k);
    fits = k < front || is_same || wanted == Int(1);
    if (k < front || !is_same) axes.push_back(k);
  }
  STRATA_CHECK(fits, shape, "[sum_to_size] shape ", render(shape()), " does not sum up to ",
               render(to));
  return axes.empty() ? own(*this) : sum(axes, true).reshape(to);
}

Tensor Tensor::bincount(const std::optional<Tensor>& weights, std::int64_t least, At at) const {
  const OriginScope scope("bincount", at);
  STRATA_CHECK(ndim() == 1 && dtype().is_int(), shape, "[bincount] of ", dtype().name(), " ",
               render(shape()), ", where integers of one dimension are expected");
  STRATA_CHECK(!weights || weights->shape() == shape(), shape, "[bincount] weights of shape ",
               render(weights->shape()), " for shape ", render(shape()));
  STRATA_CHECK(least >= 0, domain, "[bincount] ", least, " numbers at least");
  const Tensor x = cast(dtypes::int64);
  std::int64_t count = least;
  if (!(numel() == Int(0))) {
    const std::array both = {x.min(), x.max()};
    const std::vector<std::int64_t> ends = stack(both).to_vector<std::int64_t>();
    STRATA_CHECK(ends[0] >= 0, domain, "[bincount] of ", ends[0], ", which is below 0");
    STRATA_CHECK(ends[1] < (std::int64_t{1} << 40), budget, "[bincount] of ", ends[1]);
    count = std::max(least, ends[1] + 1);
  }
  if (!weights) return counts_of(x, count, x.ones_like());
  const bool is_single = weights->dtype() == dtypes::float32;
  return counts_of(x, count, is_single ? *weights : weights->cast(dtypes::float64));
}

/// NOTE: ends that are equal are taken from the elements; where these are equal, too, one less and one more.
Tensor Tensor::histc(std::int64_t bins, double low, double high, At at) const {
  const OriginScope scope("histc", at);
  check_floats(*this, "histc");
  STRATA_CHECK(bins > 0, domain, "[histc] ", bins, " bins");
  STRATA_CHECK(low <= high && std::isfinite(low) && std::isfinite(high), domain, "[histc] from ",
               low, " to ", high);
  const Tensor x = flatten().detach();
  if (numel() == Int(0)) return zeros({bins}, dtype()).to(device());
  const bool is_given = low != high;
  const Tensor least = is_given ? new_full({}, low) : x.min(),
               most = is_given ? new_full({}, high) : x.max();
  const Tensor is_flat = least.eq(most);
  const Tensor from = is_flat.where(least - 1, least), to = is_flat.where(most + 1, most);
  const Tensor place = ((x - from) / (to - from) * bins).floor().minimum(bins - 1);
  const Tensor inside = (x.ge(from) & x.le(to)).where(place, -1).cast(dtypes::int64);
  Tensor counts = counts_of(inside, bins, inside.ones_like()).cast(dtype());
  if (is_given) return counts;
  return ((least - least) + (most - most)).eq(0).where(counts, std::numeric_limits<double>::quiet_NaN());
}

Tensor Tensor::cov(double correction, At at) const {
  const OriginScope scope("cov", at);
  STRATA_CHECK(ndim() <= 2, shape, "[cov] of shape ", render(shape()),
               ", where (variables, observations) is expected");
  return rounded_once(as_real(ndim() == 2 ? *this : flatten().unsqueeze(0)), [&](const Tensor& x) {
    const auto count = static_cast<double>(number_of(x.size(1), "cov"));
    const Tensor centred = x - x.mean(1, true);
    const Tensor out = centred.matmul(centred.transpose()) / std::max(count - correction, 0.0);
    return ndim() == 2 && !(size(0) == Int(1)) ? out : out.reshape({});
  });
}
Tensor Tensor::corrcoef(At at) const {
  const OriginScope scope("corrcoef", at);
  return rounded_once(as_real(*this), [](const Tensor& x) {
    const Tensor c = x.cov();
    if (c.ndim() == 0) return c / c;
    const Tensor deviation = c.diagonal().sqrt();
    return (c / deviation.unsqueeze(1) / deviation).clip(-1, 1);
  });
}

Tensor Tensor::isin(const Tensor& others, At at) const {
  const OriginScope scope("isin", at);
  return unsqueeze(-1).eq(others.flatten()).any(-1);
}
bool Tensor::equal(const Tensor& other, At at) const {
  const OriginScope scope("equal", at);
  return shape() == other.shape() && eq(other).all().item<bool>();
}
bool Tensor::allclose(const Tensor& other, double rtol, double atol, bool equal_nan, At at) const {
  const OriginScope scope("allclose", at);
  return isclose(other, rtol, atol, equal_nan).all().item<bool>();
}

}  // namespace strata
