// Normalization layers. Mean and variance are reductions of the rows that they normalize, so that each layer becomes
// one kernel.

#include <cmath>

#include "strata/ops/functional.h"
#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"
#include "strata/ops/products.h"

namespace strata::ops {

namespace {

/// `x`; 16-bit floats in f32, in which statistics are computed.
Value widened(const Value& x, const char* operation) {
  STRATA_CHECK(x.dtype().is_float(), domain, "[", operation, "] the input has dtype ", x.dtype().name(),
               ": cast it to a float dtype first");
  return x.itemsize() == 2 ? x.cast(dtypes::float32) : x;
}

/// x * weight + bias; both broadcast and are optional.
Value scaled(const Value& x, const std::optional<Value>& weight, const std::optional<Value>& bias) {
  const Value out = weight ? x * *weight : x;
  return bias ? out + *bias : out;
}

Value standardized(const Value& x, const Axes& axes, double eps) {
  const Value centred = x - x.mean(axes, true);
  return centred * (centred.square().mean(axes, true) + eps).rsqrt();
}

/// A tensor (channels), reshaped to broadcast with (batch, channels, ...).
std::optional<Value> per_channel(const char* operation, const std::optional<Value>& t, const Value& x) {
  if (!t) return t;
  STRATA_CHECK(t->ndim() == 1 && t->size(0) == x.size(1), shape, "[", operation, "] a tensor of shape ",
               render(t->shape()), " does not match ", x.size(1).render(), " channels");
  Ints sizes(x.shape().size() - 1, 1);
  sizes[0] = x.size(1);
  return t->reshape(sizes);
}
void check_channels(const char* operation, const Value& x, std::int64_t least) {
  STRATA_CHECK(x.ndim() >= least, shape, "[", operation, "] the input has shape ", render(x.shape()), ": at least ",
               least, " dimensions are expected");
}

/// The last axes of x. @throws Error (shape) unless their sizes, and the shapes of the weights, are `sizes`
Axes last_axes(const char* operation, const Value& x, const Ints& sizes,
               std::initializer_list<const std::optional<Value>*> weights) {
  const auto n = static_cast<std::int64_t>(sizes.size());
  bool fits = n >= 1 && n <= x.ndim();
  Axes out;
  for (std::int64_t k = 0; k < n && fits; ++k) {
    out.push_back(x.ndim() - n + k);
    fits = x.size(out.back()) == sizes[static_cast<std::size_t>(k)];
  }
  STRATA_CHECK(fits, shape, "[", operation, "] the sizes ", render(sizes),
               " are not the last sizes of an input of shape ", render(x.shape()));
  for (const std::optional<Value>* w : weights)
    STRATA_CHECK(!*w || (*w)->shape() == sizes, shape, "[", operation, "] a weight of shape ", render((*w)->shape()),
                 " does not match the sizes ", render(sizes));
  return out;
}

double epsilon_of(DType d) {
  if (d == dtypes::float64) return 0x1p-52;
  return d == dtypes::float32 ? 0x1p-23 : d == dtypes::float16 ? 0x1p-10 : 0x1p-7;
}

}  // namespace

Value batch_norm(const Value& input, const std::optional<Value>& running_mean, const std::optional<Value>& running_var,
                 const std::optional<Value>& weight, const std::optional<Value>& bias,
                 const BatchNormOptions& options) {
  check_channels("batch_norm", input, 2);
  const Value x = widened(input, "batch_norm");
  const auto known_mean = per_channel("batch_norm", running_mean, x),
             known_var = per_channel("batch_norm", running_var, x), w = per_channel("batch_norm", weight, x),
             b = per_channel("batch_norm", bias, x);
  if (!options.training) {
    STRATA_CHECK(running_mean && running_var, domain,
                 "[batch_norm] a running mean and a running variance are needed outside of training");
    const Value out = (x - *known_mean) * (*known_var + options.eps).rsqrt();
    return scaled(out, w, b).cast(input.dtype());
  }
  Axes axes = {0};
  for (std::int64_t k = 2; k < x.ndim(); ++k) axes.push_back(k);
  return scaled(standardized(x, axes, options.eps), w, b).cast(input.dtype());
}

std::pair<std::optional<Value>, std::optional<Value>> running_statistics(const Value& input,
                                                                         const std::optional<Value>& mean,
                                                                         const std::optional<Value>& var,
                                                                         double momentum) {
  const Value x = widened(input, "batch_norm");
  Axes axes = {0};
  for (std::int64_t k = 2; k < x.ndim(); ++k) axes.push_back(k);
  const auto moved = [&](const Value& old, const Value& now) {
    return (old * (1 - momentum) + now * momentum).cast(old.dtype());
  };
  return {mean ? std::optional(moved(*mean, x.mean(axes))) : std::nullopt,
          var ? std::optional(moved(*var, x.var(axes, 1))) : std::nullopt};
}

Value layer_norm(const Value& input, const Ints& normalized_shape, const std::optional<Value>& weight,
                 const std::optional<Value>& bias, double eps) {
  const Value x = widened(input, "layer_norm");
  const Axes axes = last_axes("layer_norm", x, normalized_shape, {&weight, &bias});
  return scaled(standardized(x, axes, eps), weight, bias).cast(input.dtype());
}

Value rms_norm(const Value& input, const Ints& normalized_shape, const std::optional<Value>& weight,
               std::optional<double> eps) {
  const Value x = widened(input, "rms_norm");
  const Axes axes = last_axes("rms_norm", x, normalized_shape, {&weight});
  const Value squares = x.square().mean(axes, true) + eps.value_or(epsilon_of(input.dtype()));
  return scaled(x * squares.rsqrt(), weight, {}).cast(input.dtype());
}

Value group_norm(const Value& input, std::int64_t groups, const std::optional<Value>& weight,
                 const std::optional<Value>& bias, double eps) {
  check_channels("group_norm", input, 2);
  const std::int64_t channels = number_of(input.size(1), "group_norm");
  STRATA_CHECK(groups >= 1 && channels % groups == 0, domain, "[group_norm] ", groups, " groups of ", channels,
               " channels");
  const Value x = widened(input, "group_norm");
  Ints split = {x.size(0), groups, channels / groups};
  Ints beside = {groups, channels / groups};  // weights
  Axes axes = {2};
  for (std::int64_t k = 2; k < x.ndim(); ++k) split.push_back(x.size(k)), beside.push_back(1), axes.push_back(k + 1);
  const auto grouped = [&](const std::optional<Value>& t) {
    const std::optional<Value> out = per_channel("group_norm", t, x);
    return out ? std::optional(out->reshape(beside)) : out;
  };
  const Value out = standardized(x.reshape(split), axes, eps);
  return scaled(out, grouped(weight), grouped(bias)).reshape(x.shape()).cast(input.dtype());
}

Value instance_norm(const Value& input, const std::optional<Value>& weight, const std::optional<Value>& bias,
                    double eps) {
  check_channels("instance_norm", input, 3);
  const Value x = widened(input, "instance_norm");
  Axes axes;
  for (std::int64_t k = 2; k < x.ndim(); ++k) axes.push_back(k);
  const Value out = standardized(x, axes, eps);
  return scaled(out, per_channel("instance_norm", weight, x), per_channel("instance_norm", bias, x))
      .cast(input.dtype());
}

/// The squares of neighbouring channels are windows along axis 1.
Value local_response_norm(const Value& input, std::int64_t size, const LocalResponseNormOptions& options) {
  check_channels("local_response_norm", input, 3);
  STRATA_CHECK(size >= 1, domain, "[local_response_norm] the window has ", size, " channels; 1 or more is expected");
  const Value x = widened(input, "local_response_norm");
  const std::int64_t channels = number_of(x.size(1), "local_response_norm");
  if (channels == 0) return input;
  Padding around(x.shape().size(), {0, 0});
  around[1] = {size / 2, (size - 1) / 2};
  const LazyOp neighbours = windows(x.square().node().pad(around), 1, {size}, channels);
  const Value mean = Value(neighbours).sum(-1) / size;
  return (x / (mean * options.alpha + options.k).pow(options.beta)).cast(input.dtype());
}

Value normalize(const Value& x, double p, std::int64_t axis, double eps) {
  return x / x.norm(p, axis, true).maximum(eps);
}

}  // namespace strata::ops
