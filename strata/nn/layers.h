// The layers of a network: each is a Module with one function, operator(), and has the name, the formula and the
// initial values of its PyTorch counterpart (docs/coming-from.md lists the differences). The header also declares the
// initialisers (uniform, kaiming_normal,
// ...).
//
//   nn::Linear layer(64, 10);
//   Tensor y = layer(x);                       // (batch, 64) to (batch, 10)
//
// Inputs have the shape (batch, channels, sizes...) for convolutions and normalisations, (batch, length, features) for
// attention and recurrent layers, (..., features) for Linear. The parameters are public members: `layer.weight = w`
// makes w the parameter, unchecked; layer.set("weight", w) checks dtype, shape and device (Module::set()). Errors name
// the line of the call: `at` is its place in the source.
#pragma once

#include <functional>
#include <memory>
#include <tuple>

#include "strata/nn/module.h"
#include "strata/nn/quantize.h"
#include "strata/nn/recurrent.h"
#include "strata/tensor/functional.h"

namespace strata::nn {

/// x @ weight.T + bias: (..., in) to (..., out). Weight and bias begin uniform in +-1/sqrt(in). After quantize() in
/// integers (quantize.h).
class Linear : public QuantizableLayer {
 public:
  Linear(std::int64_t in, std::int64_t out, bool has_bias = true);
  Tensor operator()(const Tensor& x, At at = At::current()) const;
  Tensor weight;               ///< (out, in)
  std::optional<Tensor> bias;  ///< (out,)
};

/// Convolution over kernel.size() spatial axes, as conv_nd(): (batch, in, sizes...) to (batch, out, sizes...). The
/// weight begins as kaiming_uniform(shape, sqrt(5)), the bias uniform in +-1/sqrt(in / groups * product(kernel)). The
/// constructor throws Error (domain) unless options.groups divides `in` and `out`. After quantize() in integers
/// (quantize.h).
class Conv : public QuantizableLayer {
 public:
  Conv(std::int64_t in, std::int64_t out, const std::vector<std::int64_t>& kernel, ConvOptions options = {},
       bool bias = true);
  Tensor operator()(const Tensor& x, At at = At::current()) const;
  Tensor weight;               ///< (out, in / groups, kernel...)
  std::optional<Tensor> bias;  ///< (out,)
  ConvOptions options;
};
/// Conv over one spatial axis: (batch, in, length).
struct Conv1d : Conv {
  Conv1d(std::int64_t in, std::int64_t out, std::int64_t kernel, ConvOptions how = {}, bool has_bias = true)
      : Conv(in, out, {kernel}, std::move(how), has_bias) {}
};
/// Conv over two spatial axes, with a kernel of `kernel` x `kernel`: (batch, in, height, width).
struct Conv2d : Conv {
  Conv2d(std::int64_t in, std::int64_t out, std::int64_t kernel, ConvOptions how = {}, bool has_bias = true)
      : Conv(in, out, {kernel, kernel}, std::move(how), has_bias) {}
};
/// Conv over three spatial axes, with a kernel of `kernel` x `kernel` x `kernel`: (batch, in, depth, height, width).
struct Conv3d : Conv {
  Conv3d(std::int64_t in, std::int64_t out, std::int64_t kernel, ConvOptions how = {}, bool has_bias = true)
      : Conv(in, out, {kernel, kernel, kernel}, std::move(how), has_bias) {}
};

/// Looks up a row of the weight for each index: integers of shape (...) to (..., features). The weight begins normal,
/// with mean 0 and deviation 1. An index outside [0, count) gives a row of NaN (embedding()).
class Embedding : public Module {
 public:
  Embedding(std::int64_t count, std::int64_t features);
  Tensor operator()(const Tensor& indices, At at = At::current()) const;
  Tensor weight;  ///< (count, features)
};

/// Normalises each channel over the batch and the sizes, then scales by `weight` and adds `bias`: (x - mean) / sqrt(var
/// + eps) * w + b. In training, mean and variance are those of the batch, and each call assigns
///   running = (1 - momentum) * running + momentum * batch      (the running variance takes the batch's unbiased one)
/// to running_mean and running_var. In eval() they are the running ones.
class BatchNorm : public Module {
 public:
  explicit BatchNorm(std::int64_t channels, double eps = 1e-5, double momentum = 0.1);
  Tensor operator()(const Tensor& x, At at = At::current()) const;
  Tensor weight, bias, running_mean, running_var;
  double eps, momentum;
};
/// Normalises over the last shape.size() axes, whose sizes must be `shape`, then scales and shifts each element; see
/// layer_norm().
class LayerNorm : public Module {
 public:
  explicit LayerNorm(Ints shape, double eps = 1e-5);
  Tensor operator()(const Tensor& x, At at = At::current()) const;
  Ints shape;
  Tensor weight, bias;
  double eps;
};
/// Splits the channels into `groups` groups and normalises each group of each batch element; see group_norm().
class GroupNorm : public Module {
 public:
  GroupNorm(std::int64_t groups, std::int64_t channels, double eps = 1e-5);
  Tensor operator()(const Tensor& x, At at = At::current()) const;
  std::int64_t groups;
  Tensor weight, bias;
  double eps;
};
/// Normalises each channel of each batch element over the sizes; see instance_norm(). Keeps no running statistics.
class InstanceNorm : public Module {
 public:
  explicit InstanceNorm(std::int64_t channels, double eps = 1e-5);
  Tensor operator()(const Tensor& x, At at = At::current()) const;
  Tensor weight, bias;
  double eps;
};
/// Divides by the root mean square over the last shape.size() axes, whose sizes must be `shape`, then scales by
/// `weight`; see rms_norm().
class RMSNorm : public Module {
 public:
  explicit RMSNorm(Ints shape, std::optional<double> eps = {});
  Tensor operator()(const Tensor& x, At at = At::current()) const;
  Ints shape;
  Tensor weight;
  std::optional<double> eps;
};

/// In training, sets each element to 0 with probability `p` and scales the others by 1 / (1 - p), which keeps the
/// expected value. In eval(), returns x.
class Dropout : public Module {
 public:
  explicit Dropout(double probability = 0.5) : p(probability) {}
  Tensor operator()(const Tensor& x, At at = At::current()) const;
  double p;
};

/// Scaled dot product attention in `heads` heads of features / heads features each: (batch, length, features) to the
/// same shape. Query, key and value are projected by a Linear each, and the joined heads by `out`; the second
/// operator() is self-attention. The constructor throws Error (domain) unless `heads` divides `features`.
class MultiheadAttention : public Module {
 public:
  MultiheadAttention(std::int64_t features, std::int64_t heads, bool bias = true);
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionOptions& options = {},
                    At at = At::current()) const;
  Tensor operator()(const Tensor& x, const AttentionOptions& options = {}, At at = At::current()) const {
    return (*this)(x, x, x, options, at);
  }
  std::int64_t heads;
  Linear query, key, value, out;
};

/// A transformer block that normalises before each part: y = x + drop(attention(norm1(x))), then y +
/// drop(down(gelu(up(norm2(y))))). `hidden` is the width between `up` and `down`.
class TransformerBlock : public Module {
 public:
  TransformerBlock(std::int64_t features, std::int64_t heads, std::int64_t hidden, double dropout = 0);
  Tensor operator()(const Tensor& x, const AttentionOptions& options = {}, At at = At::current()) const;
  LayerNorm norm1, norm2;
  MultiheadAttention attention;
  Linear up, down;
  Dropout drop;
};

// --- initial values (init.cpp) ---

// Each of the following is a tensor of random values from the default generator. Under NoInitialValues the values are
// undefined instead.

/// The fan-in and fan-out of a weight of shape (out, in, sizes...): in * product(sizes) and out * product(sizes), e.g.
/// (18, 36) for (4, 2, 3, 3). @throws Error (shape) below two dimensions
std::pair<double, double> fans(const Ints& shape);
/// Uniform in [low, high). @throws Error (domain) if low > high
Tensor uniform(const Ints& shape, double low, double high, DType dtype = dtypes::float32, At at = At::current());
/// Normal with the given mean and standard deviation. @throws Error (domain) for a negative deviation
Tensor normal(const Ints& shape, double mean, double deviation, DType dtype = dtypes::float32, At at = At::current());
/// He et al., 2015, for a leaky ReLU of that negative slope: uniform in +-sqrt(6 / ((1 + slope^2) * fan-in)). @throws
/// as fans()
Tensor kaiming_uniform(const Ints& shape, double slope = 0, DType dtype = dtypes::float32, At at = At::current());
/// The same variance, normal: mean 0, deviation sqrt(2 / ((1 + slope^2) * fan-in)). @throws as fans()
Tensor kaiming_normal(const Ints& shape, double slope = 0, DType dtype = dtypes::float32, At at = At::current());
/// Glorot and Bengio, 2010: uniform in +-gain * sqrt(6 / (fan-in + fan-out)). @throws as fans()
Tensor xavier_uniform(const Ints& shape, double gain = 1, DType dtype = dtypes::float32, At at = At::current());
/// The same variance, normal: mean 0, deviation gain * sqrt(2 / (fan-in + fan-out)). @throws as fans()
Tensor xavier_normal(const Ints& shape, double gain = 1, DType dtype = dtypes::float32, At at = At::current());

}  // namespace strata::nn
