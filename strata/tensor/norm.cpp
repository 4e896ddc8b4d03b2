// Normalization: what is subtracted and divided by is a reduction of the rows themselves, so that each is one kernel.

#include <cmath>

#include "strata/tensor/access.h"
#include "strata/tensor/functional.h"
#include "strata/tensor/indexed.h"
#include "strata/tensor/products.h"

namespace strata {

namespace {

/// Statistics of 16-bit floats are in f32.
Tensor widened(const Tensor& x, const char* operation) {
  STRATA_CHECK(x.dtype().is_float(), domain, "[", operation, "] of ", x.dtype().name(),
               ": cast it to a float first");
  return x.itemsize() == 2 ? x.cast(dtypes::float32) : x;
}

/// `x` times the weight plus the bias, which broadcast.
Tensor scaled(const Tensor& x, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias) {
  const Tensor out = weight ? x * *weight : x;
  return bias ? out + *bias : out;
}

Tensor standardized(const Tensor& x, const Axes& axes, double eps) {
  const Tensor centred = x - x.mean(axes, true);
  return centred * (centred.square().mean(axes, true) + eps).rsqrt();
}

/// (channels) as it stands beside (batch, channels, ...).
std::optional<Tensor> per_channel(const char* operation, const std::optional<Tensor>& t,
                                  const Tensor& x) {
  if (!t) return t;
  STRATA_CHECK(t->ndim() == 1 && t->size(0) == x.size(1), shape, "[", operation,
               "] a tensor of shape ", render(t->shape()), " for ", x.size(1).render(), " channels");
  Ints sizes(x.shape().size() - 1, 1);
  sizes[0] = x.size(1);
  return t->reshape(sizes);
}
void check_channels(const char* operation, const Tensor& x, std::int64_t least) {
  STRATA_CHECK(x.ndim() >= least, shape, "[", operation, "] an input of shape ", render(x.shape()),
               ": at least ", least, " dimensions are expected");
}

/// The axes of the last dimensions, whose sizes and those of weights are `sizes`.
Axes last_axes(const char* operation, const Tensor& x, const Ints& sizes,
               std::initializer_list<const std::optional<Tensor>*> weights) {
  const auto n = static_cast<std::int64_t>(sizes.size());
  bool fits = n >= 1 && n <= x.ndim();
  Axes out;
  for (std::int64_t k = 0; k < n && fits; ++k) {
    out.push_back(x.ndim() - n + k);
    fits = x.size(out.back()) == sizes[static_cast<std::size_t>(k)];
  }
  STRATA_CHECK(fits, shape, "[", operation, "] over ", render(sizes), " of an input of shape ",
               render(x.shape()));
  for (const std::optional<Tensor>* w : weights)
    STRATA_CHECK(!*w || (*w)->shape() == sizes, shape, "[", operation, "] a weight of shape ",
                 render((*w)->shape()), " for ", render(sizes));
  return out;
}

double epsilon_of(DType d) {
  if (d == dtypes::float64) return 0x1p-52;
  return d == dtypes::float32 ? 0x1p-23 : d == dtypes::float16 ? 0x1p-10 : 0x1p-7;
}

}  // namespace

Tensor batch_norm(const Tensor& input, const std::optional<Tensor>& running_mean,
                  const std::optional<Tensor>& running_var, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, const BatchNormOptions& options, At at) {
  const OriginScope scope("batch_norm", at);
  check_channels("batch_norm", input, 2);
  const Tensor x = widened(input, "batch_norm");
  const auto known_mean = per_channel("batch_norm", running_mean, x),
             known_var = per_channel("batch_norm", running_var, x),
             w = per_channel("batch_norm", weight, x), b = per_channel("batch_norm", bias, x);
  if (!options.training) {
    STRATA_CHECK(running_mean && running_var, domain,
                 "[batch_norm] without a running mean and variance, and not in training");
    const Tensor out = (x - *known_mean) * (*known_var + options.eps).rsqrt();
    return scaled(out, w, b).cast(input.dtype());
  }
  Axes axes = {0};
  for (std::int64_t k = 2; k < x.ndim(); ++k) axes.push_back(k);
  const double m = options.momentum;
  if (running_mean)
    running_mean->assign((*running_mean * (1 - m) + x.mean(axes) * m).cast(running_mean->dtype()));
  if (running_var)
    running_var->assign((*running_var * (1 - m) + x.var(axes, 1) * m).cast(running_var->dtype()));
  return scaled(standardized(x, axes, options.eps), w, b).cast(input.dtype());
}

Tensor layer_norm(const Tensor& input, const Ints& normalized_shape,
                  const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                  double eps, At at) {
  const OriginScope scope("layer_norm", at);
  const Tensor x = widened(input, "layer_norm");
  const Axes axes = last_axes("layer_norm", x, normalized_shape, {&weight, &bias});
  return scaled(standardized(x, axes, eps), weight, bias).cast(input.dtype());
}

Tensor rms_norm(const Tensor& input, const Ints& normalized_shape,
                const std::optional<Tensor>& weight, std::optional<double> eps, At at) {
  const OriginScope scope("rms_norm", at);
  const Tensor x = widened(input, "rms_norm");
  const Axes axes = last_axes("rms_norm", x, normalized_shape, {&weight});
  const Tensor squares = x.square().mean(axes, true) + eps.value_or(epsilon_of(input.dtype()));
  return scaled(x * squares.rsqrt(), weight, {}).cast(input.dtype());
}

Tensor group_norm(const Tensor& input, std::int64_t groups, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, double eps, At at) {
  const OriginScope scope("group_norm", at);
  check_channels("group_norm", input, 2);
  const std::int64_t channels = number_of(input.size(1), "group_norm");
  STRATA_CHECK(groups >= 1 && channels % groups == 0, domain, "[group_norm] ", groups,
               " groups of ", channels, " channels");
  const Tensor x = widened(input, "group_norm");
  Ints split = {x.size(0), groups, channels / groups};
  Ints beside = {groups, channels / groups};  // weights
  Axes axes = {2};
  for (std::int64_t k = 2; k < x.ndim(); ++k)
    split.push_back(x.size(k)), beside.push_back(1), axes.push_back(k + 1);
  const auto grouped = [&](const std::optional<Tensor>& t) {
    const std::optional<Tensor> out = per_channel("group_norm", t, x);
    return out ? std::optional(out->reshape(beside)) : out;
  };
  const Tensor out = standardized(x.reshape(split), axes, eps);
  return scaled(out, grouped(weight), grouped(bias)).reshape(x.shape()).cast(input.dtype());
}

Tensor instance_norm(const Tensor& input, const std::optional<Tensor>& weight,
                     const std::optional<Tensor>& bias, double eps, At at) {
  const OriginScope scope("instance_norm", at);
  check_channels("instance_norm", input, 3);
  const Tensor x = widened(input, "instance_norm");
  Axes axes;
  for (std::int64_t k = 2; k < x.ndim(); ++k) axes.push_back(k);
  const Tensor out = standardized(x, axes, eps);
  return scaled(out, per_channel("instance_norm", weight, x), per_channel("instance_norm", bias, x))
      .cast(input.dtype());
}

/// Squares of neighbours among the channels are windows along axis 1.
Tensor local_response_norm(const Tensor& input, std::int64_t size,
                           const LocalResponseNormOptions& options, At at) {
  const OriginScope scope("local_response_norm", at);
  check_channels("local_response_norm", input, 3);
  STRATA_CHECK(size >= 1, domain, "[local_response_norm] over ", size, " channels");
  const Tensor x = widened(input, "local_response_norm");
  const std::int64_t channels = number_of(x.size(1), "local_response_norm");
  if (channels == 0) return own(input);
  Padding around(x.shape().size(), {0, 0});
  around[1] = {size / 2, (size - 1) / 2};
  const LazyOp neighbours = windows(x.square().node().pad(around), 1, {size}, channels);
  const Tensor mean = TensorAccess::of(neighbours, x).sum(-1) / size;
  return (x / (mean * options.alpha + options.k).pow(options.beta)).cast(input.dtype());
}

Tensor normalize(const Tensor& x, double p, std::int64_t axis, double eps, At at) {
  const OriginScope scope("normalize", at);
  return x / x.norm(p, axis, true).maximum(eps);
}

}  // namespace strata
