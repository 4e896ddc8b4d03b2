// Random tensors: uniform, normal and integer numbers, permutations, dropout, sampling of indices.
//
//   manual_seed(7);
//   Tensor x = rand({2, 3}), noise = randn({100}, dtypes::float64);
//
// Random number k of a generator is threefry-2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", 2011) of the seed and k: the same on every device, for every number of threads, fused or not. A number has
// 64 bits. A call takes one number for each element that it draws, e.g. rand() for each element of the result,
// dropout2d() for each channel, dropout() in evaluation none. It takes them from its generator (by default the
// process's; copies of a Generator share its state) when the function is called, not when the tensor is computed; a
// capture (tensor/jit.h) takes new ones at each replay.
#pragma once

#include "strata/engine/generator.h"
#include "strata/tensor/tensor.h"

namespace strata {

/// Uniform in [0, 1), a multiple of 2^-p where p is the number of significand bits of the dtype: 24 for f32, 53 for
/// f64. On the default device, as randn(), randint() and randperm().
/// @throws Error (domain) unless `dtype` is a float
Tensor rand(const Ints& shape, DType dtype = dtypes::float32, Generator generator = Generator::default_generator(),
            At at = At::current());
/// Normal with mean 0 and standard deviation 1, by Box and Muller from two uniform numbers of 24 bits (32 bits for
/// f64). So no element is farther from 0 than 5.8 (6.7 for f64).
/// @throws Error (domain) unless `dtype` is a float
Tensor randn(const Ints& shape, DType dtype = dtypes::float32, Generator generator = Generator::default_generator(),
             At at = At::current());
/// Uniform integers in [low, high). Where high - low does not divide 2^32 (2^64 for ranges of 2^32 and more), the
/// probabilities of two results differ by at most 2^-32. Integers that `dtype` does not hold wrap around. @throws Error
/// (domain) unless low < high
Tensor randint(std::int64_t low, std::int64_t high, const Ints& shape, DType dtype = dtypes::int64,
               Generator generator = Generator::default_generator(), At at = At::current());
/// rand(), randn() and randint() with the shape, dtype and device of `x`. @throws as those
Tensor rand_like(const Tensor& x, Generator generator = Generator::default_generator(), At at = At::current());
Tensor randn_like(const Tensor& x, Generator generator = Generator::default_generator(), At at = At::current());
Tensor randint_like(const Tensor& x, std::int64_t low, std::int64_t high,
                    Generator generator = Generator::default_generator(), At at = At::current());
/// Normal with the mean and standard deviation of each element; `mean` and `deviation` broadcast. A mean that is not a
/// float is cast to f32. The result is mean + deviation * randn(), of the dtype to which these promote; gradients go to
/// both.
/// @throws Error (shape) where the shapes do not broadcast
Tensor normal(const Tensor& mean, const Tensor& deviation, Generator generator = Generator::default_generator(),
              At at = At::current());
/// 0, 1, ..., n - 1 in random order: shape (n,), i64, by sorting n random numbers. @throws Error (domain) where n < 0
Tensor randperm(std::int64_t n, Generator generator = Generator::default_generator(), At at = At::current());
/// Element by element 1 with probability p, else 0; shape, dtype and device of `p`, without a gradient. @pre elements
/// of `p` are in [0, 1]
/// @throws Error (domain) unless `p` is of floats
Tensor bernoulli(const Tensor& p, Generator generator = Generator::default_generator(), At at = At::current());
/// Sets each element to 0 with probability p and divides the others by 1 - p (integers become f32). Without `training`,
/// and for p == 0, the result is a new tensor of x's value; for p == 1 it is x * 0. @throws Error (domain) unless 0 <=
/// p <= 1
Tensor dropout(const Tensor& x, double p = 0.5, bool training = true,
               Generator generator = Generator::default_generator(), At at = At::current());
/// dropout() of whole channels. x has the shape (batch, channels, sizes...) or (channels, sizes...), with 1, 2 or 3
/// spatial sizes. NOTE: dropout2d() takes three dimensions as (batch, channels, size), as PyTorch does.
/// @throws Error (shape) for another number of dimensions, (domain) unless x is of floats and 0 <= p <= 1
Tensor dropout1d(const Tensor& x, double p = 0.5, bool training = true,
                 Generator generator = Generator::default_generator(), At at = At::current());
Tensor dropout2d(const Tensor& x, double p = 0.5, bool training = true,
                 Generator generator = Generator::default_generator(), At at = At::current());
Tensor dropout3d(const Tensor& x, double p = 0.5, bool training = true,
                 Generator generator = Generator::default_generator(), At at = At::current());
/// dropout() for networks of selu(): a dropped element becomes selu(-infinity), and the result is scaled and shifted so
/// that an input of mean 0 and variance 1 keeps both. feature_alpha_dropout() drops whole channels of (batch, channels,
/// ...).
/// @throws Error (domain) with `training` unless x is of floats and 0 <= p <= 1; (shape) from feature_alpha_dropout()
///   for fewer than two dimensions
Tensor alpha_dropout(const Tensor& x, double p = 0.5, bool training = true,
                     Generator generator = Generator::default_generator(), At at = At::current());
Tensor feature_alpha_dropout(const Tensor& x, double p = 0.5, bool training = true,
                             Generator generator = Generator::default_generator(), At at = At::current());
/// x where x > 0, else x * slope. `slope` is uniform in [lower, upper) for each element; without `training` it is
/// (lower + upper) / 2.
/// @throws Error (domain) unless lower <= upper, and with `training` unless x is of floats
Tensor rrelu(const Tensor& x, double lower = 1.0 / 8, double upper = 1.0 / 3, bool training = false,
             Generator generator = Generator::default_generator(), At at = At::current());
/// Options of gumbel_softmax().
struct GumbelOptions {
  double tau = 1;          ///< temperature, above 0: smaller values give samples closer to one-hot
  bool hard = false;       ///< true: the result is one-hot, with the gradient of the soft sample
  std::int64_t axis = -1;  ///< the axis of the classes
};
/// A differentiable sample of classes: softmax((logits + Gumbel noise) / tau). Shape and dtype of `logits`.
/// @throws Error (domain) unless `logits` are floats and tau > 0
Tensor gumbel_softmax(const Tensor& logits, const GumbelOptions& options = {},
                      Generator generator = Generator::default_generator(), At at = At::current());
/// Draws `count` indices of the last dimension with probabilities proportional to `weights`, (n,) or (rows, n), with or
/// without replacement: shape (count,) or (rows, count), i64. With replacement it draws rows * count * n random
/// numbers, without rows * n. NOTE: an index whose weight is not above 0 (0, negative, NaN) is never drawn; where no
/// other index is left the result is -1.
/// @throws Error (shape) for another number of dimensions; (domain) unless `weights` are floats and count > 0, and
///   where count > n without replacement; (domain), if the weights are in host memory at the call, for a weight that is
///   negative, infinite or NaN and for a row with too few weights above 0
Tensor multinomial(const Tensor& weights, std::int64_t count, bool replacement = false,
                   Generator generator = Generator::default_generator(), At at = At::current());

}  // namespace strata
