// Layers: modules of one function each, named and initialised as PyTorch has them. Their tensors are members, which others may be
// assigned to: `layer.weight = w` makes w the parameter (Module::set() checks it). What a call makes comes from the line of the
// call. Shapes are (batch, features) for Linear, (batch, channels, sizes...) for convolutions and normalisations,
// (batch, length, features) for sequences.
#pragma once

#include <functional>
#include <memory>
#include <tuple>

#include "strata/nn/module.h"
#include "strata/tensor/functional.h"

namespace strata::nn {

/// x @ weight.T + bias
class Linear : public Module {
 public:
  Linear(std::int64_t in, std::int64_t out, bool has_bias = true);
  Tensor operator()(const Tensor& x, At at = At::current()) const;
  Tensor weight;               ///< (out, in)
  std::optional<Tensor> bias;  ///< (out,)
};

/// Convolution in as many dimensions as `kernel` has sizes.
class Conv : public Module {
 public:
  Conv(std::int64_t in, std::int64_t out, const std::vector<std::int64_t>& kernel,
       ConvOptions options = {}, bool bias = true);
  Tensor operator()(const Tensor& x, At at = At::current()) const;
  Tensor weight;               ///< (out, in / groups, kernel...)
  std::optional<Tensor> bias;  ///< (out,)
  ConvOptions options;
};
/// Over one spatial axis.
struct Conv1d : Conv {
  Conv1d(std::int64_t in, std::int64_t out, std::int64_t kernel, ConvOptions how = {},
         bool has_bias = true)
      : Conv(in, out, {kernel}, std::move(how), has_bias) {}
};
/// Over two spatial axes.
struct Conv2d : Conv {
  Conv2d(std::int64_t in, std::int64_t out, std::int64_t kernel, ConvOptions how = {},
         bool has_bias = true)
      : Conv(in, out, {kernel, kernel}, std::move(how), has_bias) {}
};
/// Over three spatial axes.
struct Conv3d : Conv {
  Conv3d(std::int64_t in, std::int64_t out, std::int64_t kernel, ConvOptions how = {},
         bool has_bias = true)
      : Conv(in, out, {kernel, kernel, kernel}, std::move(how), has_bias) {}
};

/// A row of the weight for each index.
class Embedding : public Module {
 public:
  Embedding(std::int64_t count, std::int64_t features);
  Tensor operator()(const Tensor& indices, At at = At::current()) const;
  Tensor weight;  ///< (count, features)
};

/// Over the batch and the sizes, of each channel. In training the batch's own mean and variance, which move the running ones.
class BatchNorm : public Module {
 public:
  explicit BatchNorm(std::int64_t channels, double eps = 1e-5, double momentum = 0.1);
  Tensor operator()(const Tensor& x, At at = At::current()) const;
  Tensor weight, bias, running_mean, running_var;
  double eps, momentum;
};
/// Over the last dimensions, which are of `shape`; see layer_norm().
class LayerNorm : public Module {
 public:
  explicit LayerNorm(Ints shape, double eps = 1e-5);
  Tensor operator()(const Tensor& x, At at = At::current()) const;
  Ints shape;
  Tensor weight, bias;
  double eps;
};
/// Over groups of channels; see group_norm().
class GroupNorm : public Module {
 public:
  GroupNorm(std::int64_t groups, std::int64_t channels, double eps = 1e-5);
  Tensor operator()(const Tensor& x, At at = At::current()) const;
  std::int64_t groups;
  Tensor weight, bias;
  double eps;
};
/// Over the sizes, of each channel of each element of the batch; see instance_norm().
class InstanceNorm : public Module {
 public:
  explicit InstanceNorm(std::int64_t channels, double eps = 1e-5);
  Tensor operator()(const Tensor& x, At at = At::current()) const;
  Tensor weight, bias;
  double eps;
};
/// By the root of the mean square over the last dimensions, which are of `shape`; see rms_norm().
class RMSNorm : public Module {
 public:
  explicit RMSNorm(Ints shape, std::optional<double> eps = {});
  Tensor operator()(const Tensor& x, At at = At::current()) const;
  Ints shape;
  Tensor weight;
  std::optional<double> eps;
};

/// In training each element is 0 with probability `p`, and the others are scaled by 1 / (1 - p).
class Dropout : public Module {
 public:
  explicit Dropout(double probability = 0.5) : p(probability) {}
  Tensor operator()(const Tensor& x, At at = At::current()) const;
  double p;
};

/// Attention of several heads side by side: (batch, length, features) to the same.
class MultiheadAttention : public Module {
 public:
  MultiheadAttention(std::int64_t features, std::int64_t heads, bool bias = true);
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                    const AttentionOptions& options = {}, At at = At::current()) const;
  Tensor operator()(const Tensor& x, const AttentionOptions& options = {}, At at = At::current()) const {
    return (*this)(x, x, x, options, at);
  }
  std::int64_t heads;
  Linear query, key, value, out;
};

/// x + attention(norm(x)), then x + feed-forward(norm(x)).
class TransformerBlock : public Module {
 public:
  TransformerBlock(std::int64_t features, std::int64_t heads, std::int64_t hidden, double dropout = 0);
  Tensor operator()(const Tensor& x, const AttentionOptions& options = {}, At at = At::current()) const;
  LayerNorm norm1, norm2;
  MultiheadAttention attention;
  Linear up, down;
  Dropout drop;
};

/// One layer over a sequence: (batch, length, in) to (batch, length, features), with the last state. In state_dict() its tensors
/// are named as PyTorch's first layer: weight_ih_l0.
class LSTM : public Module {
 public:
  LSTM(std::int64_t in, std::int64_t features);
  /// The states of all steps, and those of the last one: `hidden` and `cell`.
  struct Result {
    Tensor output, hidden, cell;
  };
  Result operator()(const Tensor& x, const std::optional<std::pair<Tensor, Tensor>>& state = {},
                    At at = At::current()) const;
  std::int64_t features;
  Tensor weight_ih, weight_hh, bias_ih, bias_hh;  ///< gates one after another: input, forget, cell, output
};
/// One layer over a sequence: (batch, length, in) to (batch, length, features), with the last state. In state_dict() its tensors
/// are named as PyTorch's first layer: weight_ih_l0.
class GRU : public Module {
 public:
  GRU(std::int64_t in, std::int64_t features);
  std::pair<Tensor, Tensor> operator()(const Tensor& x, const std::optional<Tensor>& state = {},
                                       At at = At::current()) const;
  std::int64_t features;
  Tensor weight_ih, weight_hh, bias_ih, bias_hh;  ///< gates one after another: reset, update, new
};

// --- initial values (init.cpp) ---

/// Inputs and outputs of a weight (out, in, sizes...). @throws Error (shape) below two dimensions
std::pair<double, double> fans(const Ints& shape);
Tensor uniform(const Ints& shape, double low, double high, DType dtype = dtypes::float32,
               At at = At::current());
Tensor normal(const Ints& shape, double mean, double deviation, DType dtype = dtypes::float32,
              At at = At::current());
/// He et al., 2015: uniform within sqrt(6 / ((1 + slope^2) * inputs)); normal of a third of that variance.
Tensor kaiming_uniform(const Ints& shape, double slope = 0, DType dtype = dtypes::float32,
                       At at = At::current());
Tensor kaiming_normal(const Ints& shape, double slope = 0, DType dtype = dtypes::float32,
                      At at = At::current());
/// Glorot and Bengio, 2010: uniform within sqrt(6 / (inputs + outputs)).
Tensor xavier_uniform(const Ints& shape, double gain = 1, DType dtype = dtypes::float32,
                      At at = At::current());
Tensor xavier_normal(const Ints& shape, double gain = 1, DType dtype = dtypes::float32,
                     At at = At::current());

}  // namespace strata::nn
