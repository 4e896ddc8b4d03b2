// Reductions, and what is made of them.

#include <cmath>

#include "strata/tensor/access.h"

namespace strata {

namespace {

/// `x` (dimensions of size 1 where axes were) without them, unless they are kept.
Tensor without(const Tensor& x, const Axes& axes, bool keepdim) {
  return keepdim ? x : x.reshape(sizes_without(x.shape(), axes));
}

Tensor reduced(Ops op, const Tensor& x, const AxesArg& arg, bool keepdim, const char* name) {
  const Axes axes = arg.of(x.ndim(), name);
  const LazyOp out = LazyOp::reduce(op, x.node(), axes);
  return TensorAccess::of(keepdim ? out : out.reshape(sizes_without(out.shape(), axes)), x);
}

/// How many elements go into each of the reduction's.
Int count_of(const Tensor& x, const Axes& axes) {
  Int out = 1;
  for (const std::int64_t a : axes) out *= x.size(a);
  return out;
}
/// A size in a dtype, symbolic or not.
Tensor size_as(const Int& size, const Tensor& like) {
  if (size.is_number()) return Tensor::full({}, size.value(), like.dtype()).to(like.device());
  const ShapeTracker ones = ShapeTracker::from_shape({size});
  const LazyOp each = LazyOp::constant(scalar_of(Number(1), like.dtype()), ones);
  return TensorAccess::of(LazyOp::reduce(Ops::SUM, each, {0}).reshape({}), like);
}

/// f(x) where x is not 0, else 0, which no gradient passes: powers below 1 have no slope there.
template <class F>
Tensor of_positive(const Tensor& x, const F& f) {
  const Tensor is_zero = x.eq(0);
  return is_zero.where(0, f(is_zero.where(1, x)));
}

/// NOTE: the mean is taken away before squaring: sums of squares lose digits. The rounding of the mean is the mean of what is
/// left: its square is taken away, too. No gradient goes through that, as the slope of the squares has it.
Tensor variance(const Tensor& x, const AxesArg& axes, double correction, bool keepdim) {
  const Int count = count_of(x, axes.of(x.ndim(), "var"));
  const Tensor centred = x - x.mean(axes, true);
  const Tensor squares = centred.square().sum(axes, keepdim);
  const Tensor left = centred.detach().sum(axes, keepdim);
  const auto corrected = [&](const auto& n) {
    return squares - (left * left / n).minimum(squares.detach());
  };
  if (!count.is_number()) {
    const Tensor n = size_as(count, x);
    return corrected(n) / (n - correction).maximum(0);
  }
  const auto n = static_cast<double>(count.value());
  return corrected(n) / std::max(n - correction, 0.0);
}

void check_not_empty(const Tensor& x, const Axes& axes, const char* name) {
  STRATA_CHECK(!(count_of(x, axes) == Int(0)), shape, "[", name, "] of nothing: shape ",
               render(x.shape()));
}

}  // namespace

Tensor Tensor::sum(const AxesArg& axes, bool keepdim, At at) const {
  const OriginScope scope("sum", at);
  return reduced(Ops::SUM, as_summable(*this), axes, keepdim, "sum");
}
Tensor Tensor::prod(const AxesArg& axes, bool keepdim, At at) const {
  const OriginScope scope("prod", at);
  return reduced(Ops::PROD, as_summable(*this), axes, keepdim, "prod");
}
Tensor Tensor::max(const AxesArg& axes, bool keepdim, At at) const {
  const OriginScope scope("max", at);
  check_not_empty(*this, axes.of(ndim(), "max"), "max");
  return reduced(Ops::REDUCE_MAX, *this, axes, keepdim, "max");
}
Tensor Tensor::min(const AxesArg& axes, bool keepdim, At at) const {
  const OriginScope scope("min", at);
  check_not_empty(*this, axes.of(ndim(), "min"), "min");
  return reduced(Ops::REDUCE_MIN, *this, axes, keepdim, "min");
}
Tensor Tensor::any(const AxesArg& axes, bool keepdim, At at) const {
  const OriginScope scope("any", at);
  return reduced(Ops::REDUCE_MAX, cast(dtypes::boolean), axes, keepdim, "any");
}
Tensor Tensor::all(const AxesArg& axes, bool keepdim, At at) const {
  const OriginScope scope("all", at);
  return reduced(Ops::REDUCE_MIN, cast(dtypes::boolean), axes, keepdim, "all");
}
Tensor Tensor::mean(const AxesArg& axes, bool keepdim, At at) const {
  const OriginScope scope("mean", at);
  STRATA_CHECK(dtype().is_float(), domain, "[mean] of ", dtype().name(),
               ": cast it to a float first");
  return rounded_once(*this, [&](const Tensor& x) {
    const Int count = count_of(x, axes.of(x.ndim(), "mean"));
    const Tensor total = x.sum(axes, keepdim);
    return count.is_number() ? total / static_cast<double>(count.value()) : total / size_as(count, x);
  });
}
Tensor Tensor::var(const AxesArg& axes, double correction, bool keepdim, At at) const {
  const OriginScope scope("var", at);
  STRATA_CHECK(dtype().is_float(), domain, "[var] of ", dtype().name(),
               ": cast it to a float first");
  return rounded_once(*this, [&](const Tensor& x) { return variance(x, axes, correction, keepdim); });
}
Tensor Tensor::std(const AxesArg& axes, double correction, bool keepdim, At at) const {
  const OriginScope scope("std", at);
  STRATA_CHECK(dtype().is_float(), domain, "[std] of ", dtype().name(),
               ": cast it to a float first");
  return rounded_once(*this, [&](const Tensor& x) {
    return of_positive(variance(x, axes, correction, keepdim),
                       [](const Tensor& t) { return t.sqrt(); });
  });
}
/// The largest is taken away before exp; where it is infinite it stays.
Tensor Tensor::logsumexp(const AxesArg& axes, bool keepdim, At at) const {
  const OriginScope scope("logsumexp", at);
  return rounded_once(as_real(*this), [&](const Tensor& x) {
    if (x.numel() == Int(0)) return x.exp().sum(axes, keepdim).log();
    const Tensor largest = x.max(axes, true).detach();
    const Tensor shift = largest.isinf().where(0, largest);
    const Tensor out = (x - shift).exp().sum(axes, true).log() + shift;
    return without(out, axes.of(x.ndim(), "logsumexp"), keepdim);
  });
}
Tensor Tensor::norm(double p, const AxesArg& axes, bool keepdim, At at) const {
  const OriginScope scope("norm", at);
  return rounded_once(as_real(*this), [&](const Tensor& x) {
    if (p == 0) return x.ne(0).cast(x.dtype()).sum(axes, keepdim);
    if (std::isinf(p)) return p > 0 ? x.abs().max(axes, keepdim) : x.abs().min(axes, keepdim);
    if (p == 1) return x.abs().sum(axes, keepdim);
    if (p == 2)
      return of_positive(x.square().sum(axes, keepdim), [](const Tensor& t) { return t.sqrt(); });
    const Tensor powers = of_positive(x.abs(), [p](const Tensor& t) { return t.pow(p); });
    return of_positive(powers.sum(axes, keepdim), [p](const Tensor& t) { return t.pow(1 / p); });
  });
}
Tensor Tensor::count_nonzero(const AxesArg& axes, At at) const {
  const OriginScope scope("count_nonzero", at);
  return ne(0).sum(axes);
}

/// The first of the largest: of those that are it, the one that has most behind it.
Tensor Tensor::argmax(std::optional<std::int64_t> axis, bool keepdim, At at) const {
  const OriginScope scope("argmax", at);
  if (!axis) {
    const Tensor out = flatten().argmax(0);
    return keepdim ? out.reshape(Ints(shape().size(), 1)) : out;
  }
  const std::int64_t a = axis_of(*axis, ndim(), "argmax");
  if (ndim() == 0) return full_like(0).cast(dtypes::int64);
  check_not_empty(*this, {a}, "argmax");
  const Int n = size(a);
  STRATA_CHECK(n.is_number(), shape, "[argmax] axis ", a, " has the symbolic size ", n.render());
  Ints sizes(shape().size(), 1);
  sizes[static_cast<std::size_t>(a)] = n;
  const Tensor x = dtype().is_bool() ? cast(dtypes::int32) : *this;
  const Tensor largest = x.max(a, true);
  const Tensor is_it = x.eq(largest) | x.isnan();
  const Tensor behind = n.value() - arange(n.value()).to(device()).reshape(sizes);
  return n.value() - is_it.where(behind, 0).max(a, keepdim);
}
Tensor Tensor::argmin(std::optional<std::int64_t> axis, bool keepdim, At at) const {
  const OriginScope scope("argmin", at);
  return (dtype().is_float() ? neg() : (dtype().is_bool() ? cast(dtypes::int32) : *this).bitwise_not())
      .argmax(axis, keepdim);
}

Tensor Tensor::softmax(std::int64_t axis, At at) const {
  const OriginScope scope("softmax", at);
  axis_of(axis, ndim(), "softmax");
  return rounded_once(as_real(*this), [&](const Tensor& x) {
    if (x.ndim() == 0) return (x - x).exp();  // of a NaN or an infinity NaN, as of a row of one
    if (x.numel() == Int(0)) return x;
    const Tensor e = (x - x.max(axis, true).detach()).exp();
    return e / e.sum(axis, true);
  });
}
Tensor Tensor::log_softmax(std::int64_t axis, At at) const {
  const OriginScope scope("log_softmax", at);
  axis_of(axis, ndim(), "log_softmax");
  return rounded_once(as_real(*this), [&](const Tensor& x) {
    if (x.ndim() == 0) return x - x;
    if (x.numel() == Int(0)) return x;
    const Tensor shifted = x - x.max(axis, true).detach();
    return shifted - shifted.exp().sum(axis, true).log();
  });
}

}  // namespace strata
