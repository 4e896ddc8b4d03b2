// Reductions over axes, and functions composed of them: variance, norms, argmax, softmax.

#include <cmath>

#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

namespace {

/// `x`, whose reduced axes have size 1, without these axes unless `keepdim`.
Value without(const Value& x, const Axes& axes, bool keepdim) {
  return keepdim ? x : x.reshape(sizes_without(x.shape(), axes));
}

Value reduced(Ops op, const Value& x, const AxesArg& arg, bool keepdim, const char* name) {
  const Axes axes = arg.of(x.ndim(), name);
  const LazyOp out = LazyOp::reduce(op, x.node(), axes);
  return Value(keepdim ? out : out.reshape(sizes_without(out.shape(), axes)));
}

/// The number of elements that each result of a reduction over `axes` combines.
Int count_of(const Value& x, const Axes& axes) {
  Int out = 1;
  for (const std::int64_t a : axes) out *= x.size(a);
  return out;
}
/// `size` as a scalar in the dtype of `like`; a symbolic size as a sum of ones.
Value size_as(const Int& size, const Value& like) {
  if (size.is_number()) return Value::full({}, size.value(), like.dtype());
  const ShapeTracker ones = ShapeTracker::from_shape({size});
  const LazyOp each = LazyOp::constant(scalar_of(Number(1), like.dtype()), ones);
  return Value(LazyOp::reduce(Ops::SUM, each, {0}).reshape({}));
}

/// f(x) where x is not 0, else 0 with the gradient 0: powers below 1 have an infinite derivative at 0.
template <class F>
Value of_positive(const Value& x, const F& f) {
  const Value is_zero = x.eq(0);
  return is_zero.where(0, f(is_zero.where(1, x)));
}

/// The variance in two passes: sum((x - mean)^2) / (n - correction), as a sum of squares minus the squared mean would
/// cancel. The mean is rounded; the sum of the centred elements measures its error, whose contribution, left^2 / n, is
/// subtracted. This correction has no gradient, because the gradient of the squares is complete without it.
Value variance(const Value& x, const AxesArg& axes, double correction, bool keepdim) {
  const Int count = count_of(x, axes.of(x.ndim(), "var"));
  const Value centred = x - x.mean(axes, true);
  const Value squares = centred.square().sum(axes, keepdim);
  const Value left = centred.detach().sum(axes, keepdim);
  const auto corrected = [&](const auto& n) { return squares - (left * left / n).minimum(squares.detach()); };
  if (!count.is_number()) {
    const Value n = size_as(count, x);
    return corrected(n) / (n - correction).maximum(0);
  }
  const auto n = static_cast<double>(count.value());
  return corrected(n) / std::max(n - correction, 0.0);
}

void check_not_empty(const Value& x, const Axes& axes, const char* name) {
  STRATA_CHECK(!(count_of(x, axes) == Int(0)), shape, "[", name, "] of nothing: shape ", render(x.shape()));
}

constexpr std::int64_t kLongAxis = std::int64_t{1} << 17, kBlock = std::int64_t{1} << 12;

/// x, between `begin` and `end` along `axis`.
Value between(const Value& x, std::int64_t axis, std::int64_t begin, std::int64_t end) {
  Mask bounds;
  for (std::int64_t t = 0; t < x.ndim(); ++t) bounds.push_back(t == axis ? Extent{begin, end} : Extent{0, x.size(t)});
  return x.shrink(bounds);
}

/// argmax(axis, true) of `n` elements along the axis, in one pass over memory: the first block with the largest of the
/// maxima of blocks, then the first such element of that block.
Value argmax_by_blocks(const Value& x, std::int64_t axis, std::int64_t n) {
  const std::int64_t whole = n / kBlock * kBlock;
  Ints sizes;
  for (std::int64_t t = 0; t < x.ndim(); ++t) {
    sizes.push_back(t == axis ? Int(whole / kBlock) : x.size(t));
    if (t == axis) sizes.push_back(kBlock);
  }
  const Value blocks = between(x, axis, 0, whole).reshape(sizes);
  const Value largest = blocks.max(axis + 1, true);
  const Value which = largest.argmax(axis, true).squeeze(axis);
  const Value block = picked(with_last(blocks, axis), which);
  Value out = which * kBlock + block.argmax(axis, true);
  if (whole == n) return out;
  const Value last = between(x, axis, whole, n), before = largest.max(axis, true).squeeze(axis),
              behind = last.max(axis, true);
  const Value is_behind = behind.gt(before) | (behind.isnan() & before.isnan().logical_not());
  return is_behind.where(last.argmax(axis, true) + whole, out);
}

}  // namespace

Value Value::sum(const AxesArg& axes, bool keepdim) const {
  return reduced(Ops::SUM, as_summable(*this), axes, keepdim, "sum");
}
Value Value::prod(const AxesArg& axes, bool keepdim) const {
  return reduced(Ops::PROD, as_summable(*this), axes, keepdim, "prod");
}
Value Value::max(const AxesArg& axes, bool keepdim) const {
  check_not_empty(*this, axes.of(ndim(), "max"), "max");
  return reduced(Ops::REDUCE_MAX, *this, axes, keepdim, "max");
}
Value Value::min(const AxesArg& axes, bool keepdim) const {
  check_not_empty(*this, axes.of(ndim(), "min"), "min");
  return reduced(Ops::REDUCE_MIN, *this, axes, keepdim, "min");
}
Value Value::any(const AxesArg& axes, bool keepdim) const {
  return reduced(Ops::REDUCE_MAX, cast(dtypes::boolean), axes, keepdim, "any");
}
Value Value::all(const AxesArg& axes, bool keepdim) const {
  return reduced(Ops::REDUCE_MIN, cast(dtypes::boolean), axes, keepdim, "all");
}
Value Value::mean(const AxesArg& axes, bool keepdim) const {
  STRATA_CHECK(dtype().is_float(), domain, "[mean] the tensor has dtype ", dtype().name(),
               ": cast it to a float dtype first");
  return rounded_once(*this, [&](const Value& x) {
    const Int count = count_of(x, axes.of(x.ndim(), "mean"));
    const Value total = x.sum(axes, keepdim);
    return count.is_number() ? total / static_cast<double>(count.value()) : total / size_as(count, x);
  });
}
Value Value::var(const AxesArg& axes, double correction, bool keepdim) const {
  STRATA_CHECK(dtype().is_float(), domain, "[var] the tensor has dtype ", dtype().name(),
               ": cast it to a float dtype first");
  return rounded_once(*this, [&](const Value& x) { return variance(x, axes, correction, keepdim); });
}
Value Value::std(const AxesArg& axes, double correction, bool keepdim) const {
  STRATA_CHECK(dtype().is_float(), domain, "[std] the tensor has dtype ", dtype().name(),
               ": cast it to a float dtype first");
  return rounded_once(*this, [&](const Value& x) {
    return of_positive(variance(x, axes, correction, keepdim), [](const Value& t) { return t.sqrt(); });
  });
}
/// The largest element is subtracted before exp(), unless it is infinite.
Value Value::logsumexp(const AxesArg& axes, bool keepdim) const {
  return rounded_once(as_real(*this), [&](const Value& x) {
    if (x.numel() == Int(0)) return x.exp().sum(axes, keepdim).log();
    const Value largest = x.max(axes, true).detach();
    const Value shift = largest.isinf().where(0, largest);
    const Value out = (x - shift).exp().sum(axes, true).log() + shift;
    return without(out, axes.of(x.ndim(), "logsumexp"), keepdim);
  });
}
Value Value::norm(double p, const AxesArg& axes, bool keepdim) const {
  return rounded_once(as_real(*this), [&](const Value& x) {
    if (p == 0) return x.ne(0).cast(x.dtype()).sum(axes, keepdim);
    if (std::isinf(p)) return p > 0 ? x.abs().max(axes, keepdim) : x.abs().min(axes, keepdim);
    if (p == 1) return x.abs().sum(axes, keepdim);
    if (p == 2) return of_positive(x.square().sum(axes, keepdim), [](const Value& t) { return t.sqrt(); });
    const Value powers = of_positive(x.abs(), [p](const Value& t) { return t.pow(p); });
    return of_positive(powers.sum(axes, keepdim), [p](const Value& t) { return t.pow(1 / p); });
  });
}
Value Value::count_nonzero(const AxesArg& axes) const { return ne(0).sum(axes); }

/// The index of the first largest element. Each largest element (or NaN) at index k gets the value n - k, all others 0;
/// the maximum of these values is n minus the first such index.
Value Value::argmax(std::optional<std::int64_t> axis, bool keepdim) const {
  if (!axis) {
    const Value out = flatten().argmax(0);
    return keepdim ? out.reshape(Ints(shape().size(), 1)) : out;
  }
  const std::int64_t a = axis_of(*axis, ndim(), "argmax");
  if (ndim() == 0) return full_like(0).cast(dtypes::int64);
  check_not_empty(*this, {a}, "argmax");
  const Int n = size(a);
  Ints sizes(shape().size(), 1);
  sizes[static_cast<std::size_t>(a)] = n;
  const Value x = dtype().is_bool() ? cast(dtypes::int32) : *this;
  if (n.is_number() && n.value() >= kLongAxis) {
    Value out = argmax_by_blocks(x, a, n.value());
    return keepdim ? out : out.squeeze(a);
  }
  const Value largest = x.max(a, true);
  const Value is_it = x.eq(largest) | x.isnan();
  const Value count = n.is_number() ? full({}, n.value(), dtypes::int64) : of(n.expr());
  const Value behind = count - counting(n).reshape(sizes);
  return count - is_it.where(behind, 0).max(a, keepdim);
}
Value Value::argmin(std::optional<std::int64_t> axis, bool keepdim) const {
  return (dtype().is_float() ? neg() : (dtype().is_bool() ? cast(dtypes::int32) : *this).bitwise_not())
      .argmax(axis, keepdim);
}

Value Value::softmax(std::int64_t axis) const {
  axis_of(axis, ndim(), "softmax");
  return rounded_once(as_real(*this), [&](const Value& x) {
    if (x.ndim() == 0) return (x - x).exp();  // 1; NaN for a NaN or an infinity, as for a row of one element
    if (x.numel() == Int(0)) return x;
    const Value e = (x - x.max(axis, true).detach()).exp();
    return with_softmax_gradient(e / e.sum(axis, true), x, axis);
  });
}
Value Value::log_softmax(std::int64_t axis) const {
  axis_of(axis, ndim(), "log_softmax");
  return rounded_once(as_real(*this), [&](const Value& x) {
    if (x.ndim() == 0) return x - x;
    if (x.numel() == Int(0)) return x;
    const Value shifted = x - x.max(axis, true).detach();
    return shifted - shifted.exp().sum(axis, true).log();
  });
}

Value Value::amax(const AxesArg& axes, bool keepdim) const { return max(axes, keepdim); }
Value Value::amin(const AxesArg& axes, bool keepdim) const { return min(axes, keepdim); }

}  // namespace strata::ops
