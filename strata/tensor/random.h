// Random tensors.
//
//   manual_seed(7);
//   Tensor x = rand({2, 3}), noise = randn({100}, dtypes::float64);
//
// Number k is threefry-2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) of the seed and
// k: the same on every device, with any count of threads, fused or not. A generator (default: the process's) draws as many numbers
// as the tensor has elements when the function is called, not when the tensor is computed.
#pragma once

#include "strata/engine/generator.h"
#include "strata/tensor/tensor.h"

namespace strata {

/// Uniform in [0, 1), to as many places as the dtype has. @throws Error (domain) unless dtype is a float
Tensor rand(const Ints& shape, DType dtype = dtypes::float32,
            Generator generator = Generator::default_generator(), At at = At::current());
/// Normal, mean 0 and deviation 1 (Box and Muller). @throws Error (domain) unless dtype is a float
Tensor randn(const Ints& shape, DType dtype = dtypes::float32,
             Generator generator = Generator::default_generator(), At at = At::current());
/// Integers from low to high - 1; high - low divides 2^32 or 2^64 with a bias below 2^-32 of each. @throws Error (domain) unless low < high
Tensor randint(std::int64_t low, std::int64_t high, const Ints& shape, DType dtype = dtypes::int64,
               Generator generator = Generator::default_generator(), At at = At::current());
/// Of the shape, dtype and device of a tensor.
Tensor rand_like(const Tensor& x, Generator generator = Generator::default_generator(),
                 At at = At::current());
Tensor randn_like(const Tensor& x, Generator generator = Generator::default_generator(),
                  At at = At::current());
Tensor randint_like(const Tensor& x, std::int64_t low, std::int64_t high,
                    Generator generator = Generator::default_generator(), At at = At::current());
/// Normal, of a mean and a deviation for each element.
Tensor normal(const Tensor& mean, const Tensor& deviation,
              Generator generator = Generator::default_generator(), At at = At::current());
/// 0 ... n-1 in random order, i64.
Tensor randperm(std::int64_t n, Generator generator = Generator::default_generator(),
                At at = At::current());
/// 1 with probability p (elements of a tensor in [0, 1]), else 0, in p's dtype.
Tensor bernoulli(const Tensor& p, Generator generator = Generator::default_generator(),
                 At at = At::current());
/// x with each element 0 with probability p, the others divided by 1 - p. Without `training`, x.
/// @throws Error (domain) unless 0 <= p <= 1
Tensor dropout(const Tensor& x, double p = 0.5, bool training = true,
               Generator generator = Generator::default_generator(), At at = At::current());
/// The same of whole channels: (batch, channels, sizes...) of that many spatial axes, or without a batch
/// (but three dimensions are to dropout2d() a batch of one spatial axis, as PyTorch has it).
Tensor dropout1d(const Tensor& x, double p = 0.5, bool training = true,
                 Generator generator = Generator::default_generator(), At at = At::current());
Tensor dropout2d(const Tensor& x, double p = 0.5, bool training = true,
                 Generator generator = Generator::default_generator(), At at = At::current());
Tensor dropout3d(const Tensor& x, double p = 0.5, bool training = true,
                 Generator generator = Generator::default_generator(), At at = At::current());
/// What is dropped becomes what selu() gives at -infinity; mean and variance stay what they were. feature_: whole channels.
Tensor alpha_dropout(const Tensor& x, double p = 0.5, bool training = true,
                     Generator generator = Generator::default_generator(), At at = At::current());
Tensor feature_alpha_dropout(const Tensor& x, double p = 0.5, bool training = true,
                             Generator generator = Generator::default_generator(),
                             At at = At::current());
/// Below 0 times a number between lower and upper, their mean without `training`.
Tensor rrelu(const Tensor& x, double lower = 1.0 / 8, double upper = 1.0 / 3, bool training = false,
             Generator generator = Generator::default_generator(), At at = At::current());
/// Of gumbel_softmax().
struct GumbelOptions {
  double tau = 1;
  bool hard = false;  ///< ones and zeros, with the gradient of what is soft
  std::int64_t axis = -1;
};
/// A sample of classes from logits, made soft.
Tensor gumbel_softmax(const Tensor& logits, const GumbelOptions& options = {},
                      Generator generator = Generator::default_generator(), At at = At::current());
/// `count` indices drawn by the weights of the last dimension, with replacement or not (then at most as many as are there). i64.
/// NOTE: what has a weight that is not above 0 (0, negative, NaN) is never drawn; -1 where nothing else is left.
/// @throws Error (domain) with the weight, its place and the limit, where the host has the weights at the call: for one that is
///   negative, infinite or NaN, and where a row has too few above 0
Tensor multinomial(const Tensor& weights, std::int64_t count, bool replacement = false,
                   Generator generator = Generator::default_generator(), At at = At::current());

}  // namespace strata
