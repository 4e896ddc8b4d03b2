#include "strata/nn/layers.h"

#include <cmath>

#include "strata/graph/origin.h"
#include "strata/tensor/random.h"

namespace strata::nn {

namespace {

/// PyTorch's initial values of weights and biases with `inputs` inputs: uniform in +-1/sqrt(inputs).
Tensor within(const Ints& shape, double inputs) {
  const double most = inputs > 0 ? 1 / std::sqrt(inputs) : 0;
  return uniform(shape, -most, most);
}

Ints weight_shape(std::int64_t in, std::int64_t out, const std::vector<std::int64_t>& kernel, std::int64_t groups) {
  STRATA_CHECK(groups > 0 && in % groups == 0 && out % groups == 0, domain, "[Conv] ", in, " channels to ", out, " in ",
               groups, " groups");
  Ints shape = {out, in / groups};
  for (const std::int64_t size : kernel) shape.push_back(size);
  return shape;
}

}  // namespace

Linear::Linear(std::int64_t in, std::int64_t out, bool has_bias) : weight(within({out, in}, static_cast<double>(in))) {
  if (has_bias) bias = within({out}, static_cast<double>(in));
  add_members(weight, bias);
}
Tensor Linear::operator()(const Tensor& x, At at) const {
  const OriginScope scope("Linear", at);
  observe(x);
  if (!is_quantized()) return linear(x, weight, bias);
  const Tensor sums = linear(quantized_input(x).cast(dtypes::int32), weight.cast(dtypes::int32), {});
  return rescaled(sums, sums.ndim() - 1);
}

Conv::Conv(std::int64_t in, std::int64_t out, const std::vector<std::int64_t>& kernel, ConvOptions o, bool has_bias)
    : weight(kaiming_uniform(weight_shape(in, out, kernel, o.groups), std::sqrt(5.0))), options(std::move(o)) {
  if (has_bias) bias = within({out}, fans(weight.shape()).first);
  add_members(weight, bias);
}
Tensor Conv::operator()(const Tensor& x, At at) const {
  const OriginScope scope("Conv", at);
  observe(x);
  if (!is_quantized()) return conv_nd(x, weight, bias, options);
  // Padding comes first: 0 becomes the zero point.
  const std::size_t axes = weight.shape().size() - 2;
  const std::vector<std::int64_t> dilation = options.dilation.of("Conv", "dilation", axes, 1);
  std::vector<std::int64_t> reach;
  for (std::size_t k = 0; k < axes; ++k) reach.push_back(dilation[k] * (weight.shape()[k + 2].value() - 1));
  Padding around(x.shape().size(), {0, 0});
  STRATA_CHECK(around.size() > axes, shape, "[Conv] x of shape ", render(x.shape()), " has no axis of channels");
  const ConvPadding::Sides sides = options.padding.of("Conv", reach, options.stride.of("Conv", "stride", axes, 1));
  for (std::size_t k = 0; k < axes; ++k) around[around.size() - axes + k] = {sides[k].first, sides[k].second};
  ConvOptions inside = options;
  inside.padding = 0;
  const Tensor sums =
      conv_nd(quantized_input(x.pad(around)).cast(dtypes::int32), weight.cast(dtypes::int32), {}, inside);
  return rescaled(sums, sums.ndim() - 1 - static_cast<std::int64_t>(axes));
}

Embedding::Embedding(std::int64_t count, std::int64_t features)
    : weight(NoInitialValues::is_active() ? Tensor::empty({count, features}) : randn({count, features})) {
  add_member("weight", weight);
}
Tensor Embedding::operator()(const Tensor& indices, At at) const {
  const OriginScope scope("Embedding", at);
  return embedding(indices, weight);
}

BatchNorm::BatchNorm(std::int64_t channels, double e, double m)
    : weight(Tensor::ones({channels})),
      bias(Tensor::zeros({channels})),
      running_mean(Tensor::zeros({channels})),
      running_var(Tensor::ones({channels})),
      eps(e),
      momentum(m) {
  add_member("weight", weight), add_member("bias", bias);
  add_buffer_member("running_mean", running_mean), add_buffer_member("running_var", running_var);
}
Tensor BatchNorm::operator()(const Tensor& x, At at) const {
  const OriginScope scope("BatchNorm", at);
  return batch_norm(x, running_mean, running_var, weight, bias,
                    {.training = is_training(), .momentum = momentum, .eps = eps});
}

LayerNorm::LayerNorm(Ints s, double e)
    : shape(std::move(s)), weight(Tensor::ones(shape)), bias(Tensor::zeros(shape)), eps(e) {
  add_member("weight", weight), add_member("bias", bias);
}
Tensor LayerNorm::operator()(const Tensor& x, At at) const {
  const OriginScope scope("LayerNorm", at);
  return layer_norm(x, shape, weight, bias, eps);
}
GroupNorm::GroupNorm(std::int64_t g, std::int64_t channels, double e)
    : groups(g), weight(Tensor::ones({channels})), bias(Tensor::zeros({channels})), eps(e) {
  add_member("weight", weight), add_member("bias", bias);
}
Tensor GroupNorm::operator()(const Tensor& x, At at) const {
  const OriginScope scope("GroupNorm", at);
  return group_norm(x, groups, weight, bias, eps);
}
InstanceNorm::InstanceNorm(std::int64_t channels, double e)
    : weight(Tensor::ones({channels})), bias(Tensor::zeros({channels})), eps(e) {
  add_member("weight", weight), add_member("bias", bias);
}
Tensor InstanceNorm::operator()(const Tensor& x, At at) const {
  const OriginScope scope("InstanceNorm", at);
  return instance_norm(x, weight, bias, eps);
}
RMSNorm::RMSNorm(Ints s, std::optional<double> e) : shape(std::move(s)), weight(Tensor::ones(shape)), eps(e) {
  add_member("weight", weight);
}
Tensor RMSNorm::operator()(const Tensor& x, At at) const {
  const OriginScope scope("RMSNorm", at);
  return rms_norm(x, shape, weight, eps);
}

Tensor Dropout::operator()(const Tensor& x, At at) const {
  const OriginScope scope("Dropout", at);
  return dropout(x, p, is_training());
}

MultiheadAttention::MultiheadAttention(std::int64_t features, std::int64_t h, bool bias)
    : heads(h),
      query(features, features, bias),
      key(features, features, bias),
      value(features, features, bias),
      out(features, features, bias) {
  STRATA_CHECK(h > 0 && features % h == 0, domain, "[MultiheadAttention] ", features, " features for ", h, " heads");
  add("query", query), add("key", key), add("value", value), add("out", out);
}
Tensor MultiheadAttention::operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                                      const AttentionOptions& options, At at) const {
  const OriginScope scope("MultiheadAttention", at);
  const auto split = [&](const Tensor& x) { return x.unflatten(-1, {heads, -1}).transpose(1, 2); };
  const Tensor seen = scaled_dot_product_attention(split(query(q)), split(key(k)), split(value(v)), options);
  return out(seen.transpose(1, 2).flatten(2));
}

TransformerBlock::TransformerBlock(std::int64_t features, std::int64_t heads, std::int64_t hidden, double p)
    : norm1({features}),
      norm2({features}),
      attention(features, heads),
      up(features, hidden),
      down(hidden, features),
      drop(p) {
  add("norm1", norm1), add("norm2", norm2), add("attention", attention), add("up", up), add("down", down),
      add("drop", drop);
}
Tensor TransformerBlock::operator()(const Tensor& x, const AttentionOptions& options, At at) const {
  const OriginScope scope("TransformerBlock", at);
  const Tensor seen = x + drop(attention(norm1(x), options));
  return seen + drop(down(up(norm2(seen)).gelu()));
}

}  // namespace strata::nn
