// Reductions over axes, softmax and its kin, and normalisations that need means and variances only.
#include <cmath>
#include <functional>

#include "strata/onnx/operators.h"
#include "strata/onnx/sizes.h"
#include "strata/tensor/access.h"
#include "strata/tensor/functional.h"

namespace strata::onnx {
namespace {

using Reducer = std::function<Tensor(const Tensor&, const AxesArg&, bool)>;

/// The axes of a reduction: an input, or an attribute of older versions. Nothing: the tensor stays as it is.
std::optional<Axes> reduced_axes(const Call& call, std::int64_t rank) {
  const bool by_input = call.node().row->attribute("axes") == nullptr;
  const Sizes given = by_input ? (call.has(1) ? call.integers_of(1) : Sizes()) : call.integers("axes");
  if (given.empty() && by_input && call.integer("noop_with_empty_axes") != 0) return std::nullopt;
  Axes out;
  for (const std::int64_t axis : given) out.push_back(Call::axis_in(axis, rank));
  if (given.empty())
    for (std::int64_t d = 0; d < rank; ++d) out.push_back(d);
  return out;
}

Results reduced(const Call& call, const Reducer& reduce) {
  const Tensor x = call.x(0);
  const std::optional<Axes> axes = reduced_axes(call, x.ndim());
  if (!axes) return {x};
  // Of bools (ReduceMax and ReduceMin): as numbers.
  if (x.dtype().is_bool() && !axes->empty())
    return {reduce(x.cast(dtypes::uint8), *axes, call.integer("keepdims") != 0).cast(x.dtype())};
  if (axes->empty()) return {reduce(x.unsqueeze(0), AxesArg(0), false).cast(x.dtype())};
  return {reduce(x, *axes, call.integer("keepdims") != 0).cast(x.dtype())};
}

/// The index of the largest or the smallest element, the first or the last of equal ones.
Results extreme_index(const Call& call, bool is_largest) {
  Tensor x = call.x(0);
  const std::int64_t axis = Call::axis_in(call.integer("axis"), x.ndim());
  const bool keeps = call.integer("keepdims") != 0;
  const bool is_last = call.opset() >= 12 && call.integer("select_last_index") != 0;
  if (is_last) x = x.flip(axis);
  const Tensor index = is_largest ? x.argmax(axis, keeps) : x.argmin(axis, keeps);
  return {is_last ? number_of_size(x, axis) - 1 - index : index};
}

/// Softmax and its kin: along an axis, or, before version 13, over all axes from `axis` on.
Results along_axis(const Call& call, const std::function<Tensor(const Tensor&, std::int64_t)>& f) {
  const Tensor x = call.x(0);
  const std::int64_t axis = Call::axis_in(call.integer("axis"), x.ndim());
  if (call.opset() >= 13) return {f(x, axis)};
  Int front = 1;
  for (std::int64_t d = 0; d < axis; ++d) front *= x.size(d);
  return {f(x.reshape({front, -1}), 1).reshape(x.shape())};
}

/// 1 at the first largest element along the axis, else 0.
Tensor hardmax_along(const Tensor& x, std::int64_t axis) {
  Ints shape(static_cast<std::size_t>(x.ndim()), 1);
  shape[static_cast<std::size_t>(axis)] = x.size(axis);
  const Tensor places =
      TensorAccess::of(LazyOp::iota(dtypes::int64, ShapeTracker::from_shape({x.size(axis)})), x.device())
          .reshape(shape);
  return (x.argmax(axis, true) == places).cast(x.dtype());
}

}  // namespace

Results reduce_l1(const Call& call) {
  return reduced(call, [](const Tensor& x, const AxesArg& axes, bool keeps) { return x.abs().sum(axes, keeps); });
}
Results reduce_l2(const Call& call) {
  return reduced(call,
                 [](const Tensor& x, const AxesArg& axes, bool keeps) { return (x * x).sum(axes, keeps).sqrt(); });
}
Results reduce_log_sum(const Call& call) {
  return reduced(call, [](const Tensor& x, const AxesArg& axes, bool keeps) { return x.sum(axes, keeps).log(); });
}
Results reduce_log_sum_exp(const Call& call) {
  return reduced(call, [](const Tensor& x, const AxesArg& axes, bool keeps) { return x.logsumexp(axes, keeps); });
}
Results reduce_max(const Call& call) {
  return reduced(call, [](const Tensor& x, const AxesArg& axes, bool keeps) { return x.max(axes, keeps); });
}
Results reduce_min(const Call& call) {
  return reduced(call, [](const Tensor& x, const AxesArg& axes, bool keeps) { return x.min(axes, keeps); });
}
Results reduce_mean(const Call& call) {
  return reduced(call, [](const Tensor& x, const AxesArg& axes, bool keeps) {
    return x.dtype().is_float() ? x.mean(axes, keeps) : x.cast(dtypes::float64).mean(axes, keeps);
  });
}
Results reduce_prod(const Call& call) {
  return reduced(call, [](const Tensor& x, const AxesArg& axes, bool keeps) { return x.prod(axes, keeps); });
}
Results reduce_sum(const Call& call) {
  return reduced(call, [](const Tensor& x, const AxesArg& axes, bool keeps) { return x.sum(axes, keeps); });
}
Results reduce_sum_square(const Call& call) {
  return reduced(call, [](const Tensor& x, const AxesArg& axes, bool keeps) { return (x * x).sum(axes, keeps); });
}

Results index_of_max(const Call& call) { return extreme_index(call, true); }
Results index_of_min(const Call& call) { return extreme_index(call, false); }

Results softmax(const Call& call) {
  return along_axis(call, [](const Tensor& x, std::int64_t axis) { return x.softmax(axis); });
}
Results log_softmax(const Call& call) {
  return along_axis(call, [](const Tensor& x, std::int64_t axis) { return x.log_softmax(axis); });
}
Results hardmax(const Call& call) { return along_axis(call, hardmax_along); }

Results top_k(const Call& call) {
  const Tensor x = call.x(0);
  const std::int64_t k = call.opset() >= 10 ? call.integer_of(1) : call.integer("k");
  const std::int64_t axis = Call::axis_in(call.integer("axis"), x.ndim());
  const bool is_largest = call.opset() < 11 || call.integer("largest") != 0;
  const auto [values, indices] = x.topk(k, axis, is_largest);
  return {values, indices};
}

Results lp_normalization(const Call& call) {
  const Tensor x = call.x(0);
  const std::int64_t axis = Call::axis_in(call.integer("axis"), x.ndim());
  const std::int64_t p = call.integer("p");
  STRATA_CHECK(p == 1 || p == 2, domain, "p is ", p, " instead of 1 or 2");
  const Tensor norm = p == 1 ? x.abs().sum(axis, true) : (x * x).sum(axis, true).sqrt();
  return {(norm == 0).where(0, x / norm)};
}

Results mean_variance_normalization(const Call& call) {
  const Tensor x = call.x(0);
  Axes axes;
  const Sizes given = call.given("axes") ? call.integers("axes") : Sizes{0, 2, 3};
  for (const std::int64_t axis : given) axes.push_back(Call::axis_in(axis, x.ndim()));
  const Tensor centred = x - x.mean(axes, true);
  return {centred / ((centred * centred).mean(axes, true).sqrt() + 1e-9)};
}

Results layer_normalization(const Call& call) {
  const Tensor x = call.x(0);
  const DType dtype = x.dtype();
  // The statistics are of floats of 32 bits at the least (stash_type).
  const Tensor wide = dtype.itemsize() < 4 ? x.cast(dtypes::float32) : x;
  Axes axes;
  for (std::int64_t d = Call::axis_in(call.integer("axis"), x.ndim()); d < x.ndim(); ++d) axes.push_back(d);
  const Tensor mean = wide.mean(axes, true), centred = wide - mean;
  const Tensor inverse = ((centred * centred).mean(axes, true) + call.number("epsilon")).rsqrt();
  Tensor y = (centred * inverse).cast(dtype) * call.x(1);
  if (call.has(2)) y = y + call.x(2);
  return {y, mean, inverse};
}

Results root_mean_square_normalization(const Call& call) {
  const Tensor x = call.x(0);
  const DType dtype = x.dtype();
  const Tensor wide = dtype.itemsize() < 4 ? x.cast(dtypes::float32) : x;
  Axes axes;
  for (std::int64_t d = Call::axis_in(call.integer("axis"), x.ndim()); d < x.ndim(); ++d) axes.push_back(d);
  return {(wide * ((wide * wide).mean(axes, true) + call.number("epsilon")).rsqrt()).cast(dtype) * call.x(1)};
}

Results group_normalization(const Call& call) {
  const Tensor x = call.x(0);
  STRATA_CHECK(x.ndim() >= 2, shape, "the input has ", x.ndim(), " dimensions");
  const DType dtype = x.dtype();
  const std::int64_t channels = number_of_size(x, 1), groups = call.integer("num_groups");
  STRATA_CHECK(groups >= 1 && channels % groups == 0, shape, channels, " channels in ", groups, " groups");
  Int rest = channels / groups;
  Ints by_group = {x.size(0), groups, channels / groups}, beside(static_cast<std::size_t>(x.ndim()) + 1, 1);
  for (std::int64_t d = 2; d < x.ndim(); ++d) {
    rest *= x.size(d);
    by_group.push_back(x.size(d));
  }
  const Tensor wide = (dtype.itemsize() < 4 ? x.cast(dtypes::float32) : x).reshape({x.size(0), groups, rest});
  const Tensor centred = wide - wide.mean(2, true);
  const Tensor inverse = ((centred * centred).mean(2, true) + call.number("epsilon")).rsqrt();
  // Up to version 20 a scale and a bias are of a group, then of a channel.
  beside[1] = groups;
  if (call.opset() >= 21) beside[2] = channels / groups;
  const Tensor y =
      (centred * inverse).cast(dtype).reshape(by_group) * call.x(1).reshape(beside) + call.x(2).reshape(beside);
  return {y.reshape(x.shape())};
}

Results instance_normalization(const Call& call) {
  const Tensor x = call.x(0);
  STRATA_CHECK(x.ndim() >= 3, shape, "the input has ", x.ndim(), " dimensions");
  return {instance_norm(x, call.x(1), call.x(2), call.number("epsilon"))};
}

Results batch_normalization(const Call& call) {
  const Tensor x = call.x(0);
  Ints per_channel(static_cast<std::size_t>(x.ndim()), 1);
  if (x.ndim() > 1) per_channel[1] = x.size(1);
  const auto channel = [&](const Tensor& t) { return t.reshape(per_channel); };
  const double epsilon = call.number("epsilon");
  STRATA_CHECK(call.node().row->attribute("spatial") == nullptr || call.integer("spatial") != 0, undefined,
               "statistics of each element (spatial is 0) are not supported");
  STRATA_CHECK(call.node().row->attribute("is_test") == nullptr || call.integer("is_test") != 0, undefined,
               "training (is_test is 0) is not supported before version 14");
  Tensor mean = call.x(3), variance = call.x(4);
  const bool is_training = call.opset() >= 14 && call.integer("training_mode") != 0;
  Results out(1);
  if (is_training) {
    Axes axes;
    for (std::int64_t d = 0; d < x.ndim(); ++d)
      if (d != 1) axes.push_back(d);
    const double momentum = call.number("momentum");
    const Tensor now = x.mean(axes, false), centred = x - channel(now);
    const Tensor spread = (centred * centred).mean(axes, false);
    out.emplace_back(mean * momentum + now * (1 - momentum));
    out.emplace_back(variance * momentum + spread * (1 - momentum));
    mean = now;
    variance = spread;
  }
  const Tensor scale = call.x(1) / (variance + epsilon).sqrt();
  out[0] = (x * channel(scale) + channel(call.x(2) - mean * scale)).cast(x.dtype());
  return out;
}

Results local_response_normalization(const Call& call) {
  const Tensor x = call.x(0);
  STRATA_CHECK(x.ndim() >= 3, shape, "the input has ", x.ndim(), " dimensions");
  const std::int64_t size = call.integer("size"), before = (size - 1) / 2;
  STRATA_CHECK(size >= 1 && size <= 1 << 12, domain, "the size is ", size);
  const std::int64_t channels = number_of_size(x, 1);
  Padding around;
  for (std::int64_t d = 0; d < x.ndim(); ++d) around.push_back({d == 1 ? before : 0, d == 1 ? size - 1 - before : 0});
  const Tensor squares = (x * x).pad(around);
  Tensor sum = squares.narrow(1, 0, channels);
  for (std::int64_t k = 1; k < size; ++k) sum = sum + squares.narrow(1, k, channels);
  const double factor = call.number("alpha") / static_cast<double>(size);
  return {x / (sum * factor + call.number("bias")).pow(call.number("beta"))};
}

}  // namespace strata::onnx
