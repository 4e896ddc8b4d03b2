#include "strata/tensor/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "strata/engine/feed.h"
#include "strata/ops/at_hand.h"
#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"
#include "strata/tensor/access.h"

namespace strata {

namespace {

/// A new tensor with the value of `x`: later assignments to x do not change it.
Tensor own(const Tensor& x) { return TensorAccess::of(x.node(), x); }

LazyOp u32(std::uint64_t value, const Ints& shape) {
  return LazyOp::constant(Scalar::of(dtypes::uint32, value), shape);
}
LazyOp alu(Ops op, const LazyOp& a, const LazyOp& b) { return LazyOp::alu(op, {a, b}); }

LazyOp rotated(const LazyOp& x, unsigned bits) {
  return alu(Ops::OR, alu(Ops::SHL, x, u32(bits, x.shape())), alu(Ops::SHR, x, u32(32 - bits, x.shape())));
}

struct Words {
  LazyOp low, high;
};

/// Threefry-2x32 with 20 rounds: encrypts a counter of two words with a key of two words.
Words threefry(const Words& counter, const Words& key) {
  constexpr unsigned kRotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  const Ints& shape = counter.low.shape();
  const LazyOp keys[3] = {key.low, key.high, alu(Ops::XOR, alu(Ops::XOR, key.low, key.high), u32(0x1BD11BDA, shape))};
  LazyOp x = counter.low + keys[0], y = counter.high + keys[1];
  for (unsigned round = 0; round < 20; ++round) {
    x = x + y;
    y = alu(Ops::XOR, rotated(y, kRotations[round % 8]), x);
    if (round % 4 != 3) continue;
    const unsigned turn = round / 4 + 1;
    x = x + keys[turn % 3];
    y = y + keys[(turn + 1) % 3] + u32(turn, shape);
  }
  return {x, y};
}

LazyOp low_word(const LazyOp& x) { return x.cast(dtypes::uint32); }
LazyOp high_word(const LazyOp& x) {
  return alu(Ops::SHR, x, LazyOp::constant(Scalar::of(dtypes::uint64, std::uint64_t{32}), x.shape()))
      .cast(dtypes::uint32);
}

/// Two random words for each element of `shape`. The seed and the counter are fed when the graph runs.
Words words(const Ints& shape, Generator generator) {
  const Int size = product(shape);
  const auto count = static_cast<std::uint64_t>(size.vmax());
  const auto fill = [generator, count](void* elements) mutable {
    auto* at = static_cast<std::uint64_t*>(elements);
    at[0] = generator.seed();
    at[1] = generator.draw(count);
  };
  const LazyOp state = feed(dtypes::uint64, 2, fill, FeedRule{{0, count}, generator.id()});
  const auto part = [&](std::int64_t k) { return state.shrink({{k, k + 1}}).expand({size}); };
  const LazyOp counter = LazyOp::iota(dtypes::uint64, ShapeTracker::from_shape({size})) + part(1), seed = part(0);
  const Words drawn = threefry({low_word(counter), high_word(counter)}, {low_word(seed), high_word(seed)});
  return {drawn.low.reshape(shape), drawn.high.reshape(shape)};
}

void check_float(const char* operation, DType dtype) {
  STRATA_CHECK(dtype.is_float(), domain, "[", operation, "] ", dtype.name(), " is not a float dtype");
}

Tensor tensor(const LazyOp& node) { return TensorAccess::of(node, Device::default_device()); }

/// A word as a number in [0, 1), with the significand bits of the dtype (at most 32).
Tensor fraction(const LazyOp& word, DType dtype) {
  const int places = std::min(dtype.significand_bits(), 32);
  const DType holds = places > 24 ? dtypes::float64 : dtypes::float32;
  const LazyOp bits = alu(Ops::SHR, word, u32(static_cast<std::uint64_t>(32 - places), word.shape()));
  return (tensor(bits.cast(holds)) * std::ldexp(1.0, -places)).cast(dtype);
}

/// Uniform numbers in [0, 1); an f64 uses both words.
Tensor uniform(const Words& drawn, DType dtype) {
  if (dtype != dtypes::float64) return fraction(drawn.low, dtype);
  const Tensor high = (tensor(drawn.high.cast(dtypes::float64)) * 0x1p-11).floor();
  return (tensor(drawn.low.cast(dtypes::float64)) * 0x1p21 + high) * 0x1p-53;
}

/// Ones in the shape (batch, channels, 1, ...) or (channels, 1, ...) of x, which has `sizes` spatial sizes.
Tensor channels_of(const char* operation, const Tensor& x, std::int64_t sizes) {
  check_float(operation, x.dtype());
  STRATA_CHECK(x.ndim() == sizes + 1 || x.ndim() == sizes + 2, shape, "[", operation, "] the input has shape ",
               render(x.shape()), "; (batch, channels, ", sizes, " sizes) is expected");
  Ints shape(x.shape().size(), 1);
  for (std::int64_t k = 0; k < x.ndim() - sizes; ++k) shape[static_cast<std::size_t>(k)] = x.size(k);
  return x.new_ones(shape);
}

/// alpha_dropout(): dropped elements become selu(-infinity) = -scale*alpha; the result is scaled and shifted so that
/// mean 0 and variance 1 are kept. `choices`: the shape in which elements are dropped together (1: along that
/// dimension).
Tensor with_saturation(const char* operation, const Tensor& x, const Ints& choices, double p, Generator generator) {
  check_float(operation, x.dtype());
  STRATA_CHECK(0 <= p && p <= 1, domain, "[", operation, "] the probability p is ", p, "; 0 to 1 is expected");
  if (p == 0) return own(x);
  if (p == 1) return x * 0;
  const double least = -1.0507009873554805 * 1.6732632423543772;
  const double scale = 1 / std::sqrt((1 - p) * (1 + p * least * least));
  const Tensor stays = rand(choices, dtypes::float32, std::move(generator)).to(x.device()).ge(p);
  return stays.where(x, least) * scale - scale * p * least;
}

}  // namespace

Tensor rand(const Ints& shape, DType dtype, Generator generator, At at) {
  const OriginScope scope("rand", at);
  check_float("rand", dtype);
  return uniform(words(shape, std::move(generator)), dtype);
}

Tensor randn(const Ints& shape, DType dtype, Generator generator, At at) {
  const OriginScope scope("randn", at);
  check_float("randn", dtype);
  const DType wide = dtype == dtypes::float64 ? dtypes::float64 : dtypes::float32;
  const Words drawn = words(shape, std::move(generator));
  const Tensor u = fraction(drawn.low, wide), angle = fraction(drawn.high, wide) * (2 * std::numbers::pi);
  return (((1 - u).log() * -2).sqrt() * angle.cos()).cast(dtype);
}

Tensor randint(std::int64_t low, std::int64_t high, const Ints& shape, DType dtype, Generator generator, At at) {
  const OriginScope scope("randint", at);
  STRATA_CHECK(low < high, domain, "[randint] low ", low, " is not below high ", high);
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  const Words drawn = words(shape, std::move(generator));
  const auto u64 = [&](std::uint64_t v) { return LazyOp::constant(Scalar::of(dtypes::uint64, v), shape); };
  const LazyOp first = drawn.low.cast(dtypes::uint64), second = drawn.high.cast(dtypes::uint64);
  const LazyOp offset = range < (std::uint64_t{1} << 32)
                            ? alu(Ops::SHR, first * u64(range), u64(32))
                            : alu(Ops::MOD, alu(Ops::OR, alu(Ops::SHL, first, u64(32)), second), u64(range));
  return (tensor(offset.cast(dtypes::int64)) + low).cast(dtype);
}

Tensor randperm(std::int64_t n, Generator generator, At at) {
  const OriginScope scope("randperm", at);
  STRATA_CHECK(n >= 0, domain, "[randperm] n is ", n, "; 0 or more is expected");
  return rand({n}, dtypes::float64, std::move(generator)).argsort(0);
}

Tensor bernoulli(const Tensor& p, Generator generator, At at) {
  const OriginScope scope("bernoulli", at);
  check_float("bernoulli", p.dtype());
  return rand(p.shape(), dtypes::float32, std::move(generator)).to(p.device()).lt(p.detach()).cast(p.dtype());
}

Tensor dropout(const Tensor& x, double p, bool training, Generator generator, At at) {
  const OriginScope scope("dropout", at);
  STRATA_CHECK(0 <= p && p <= 1, domain, "[dropout] the probability p is ", p, "; 0 to 1 is expected");
  if (!training || p == 0) return own(x);
  if (p == 1) return x * 0;
  const Tensor stays = rand(x.shape(), dtypes::float32, std::move(generator)).to(x.device()).ge(p);
  return stays.where(x / (1 - p), 0);
}

Tensor dropout1d(const Tensor& x, double p, bool training, Generator generator, At at) {
  const OriginScope scope("dropout1d", at);
  return x * dropout(channels_of("dropout1d", x, 1), p, training, std::move(generator));
}
Tensor dropout2d(const Tensor& x, double p, bool training, Generator generator, At at) {
  const OriginScope scope("dropout2d", at);
  return x * dropout(channels_of("dropout2d", x, x.ndim() == 3 ? 1 : 2), p, training, std::move(generator));
}
Tensor dropout3d(const Tensor& x, double p, bool training, Generator generator, At at) {
  const OriginScope scope("dropout3d", at);
  return x * dropout(channels_of("dropout3d", x, 3), p, training, std::move(generator));
}
Tensor alpha_dropout(const Tensor& x, double p, bool training, Generator generator, At at) {
  const OriginScope scope("alpha_dropout", at);
  return training ? with_saturation("alpha_dropout", x, x.shape(), p, std::move(generator)) : own(x);
}
Tensor feature_alpha_dropout(const Tensor& x, double p, bool training, Generator generator, At at) {
  const OriginScope scope("feature_alpha_dropout", at);
  STRATA_CHECK(x.ndim() >= 2, shape, "[feature_alpha_dropout] the input has shape ", render(x.shape()),
               "; (batch, channels, ...) is expected");
  Ints channels(x.shape().size(), 1);
  channels[0] = x.size(0), channels[1] = x.size(1);
  return training ? with_saturation("feature_alpha_dropout", x, channels, p, std::move(generator)) : own(x);
}

Tensor rrelu(const Tensor& x, double lower, double upper, bool training, Generator generator, At at) {
  const OriginScope scope("rrelu", at);
  STRATA_CHECK(lower <= upper, domain, "[rrelu] the lower slope ", lower, " is above the upper slope ", upper);
  if (!training) return x.leaky_relu((lower + upper) / 2);
  const Tensor slope = rand_like(x, std::move(generator)) * (upper - lower) + lower;
  return x.le(0).where(x * slope, x);
}

Tensor gumbel_softmax(const Tensor& logits, const GumbelOptions& options, Generator generator, At at) {
  const OriginScope scope("gumbel_softmax", at);
  check_float("gumbel_softmax", logits.dtype());
  STRATA_CHECK(options.tau > 0, domain, "[gumbel_softmax] tau is ", options.tau, "; more than 0 is expected");
  const Tensor noise = (-(1 - rand_like(logits, std::move(generator))).log()).log().neg();
  Tensor soft = ((logits + noise) / options.tau).softmax(options.axis);
  if (!options.hard || logits.ndim() == 0) return soft;
  const Tensor plain = soft.detach(), first = plain.argmax(options.axis, true);
  const std::int64_t a = axis_of(options.axis, logits.ndim(), "gumbel_softmax");
  Ints sizes(logits.shape().size(), 1);
  sizes[static_cast<std::size_t>(a)] = logits.size(a);
  const Tensor is_it = TensorAccess::of(ops::counting(logits.size(a)), logits).reshape(sizes).eq(first);
  return is_it.cast(soft.dtype()) + (soft - plain);
}

Tensor rand_like(const Tensor& x, Generator generator, At at) {
  const OriginScope scope("rand_like", at);
  return rand(x.shape(), x.dtype(), std::move(generator)).to(x.device());
}
Tensor randn_like(const Tensor& x, Generator generator, At at) {
  const OriginScope scope("randn_like", at);
  return randn(x.shape(), x.dtype(), std::move(generator)).to(x.device());
}
Tensor randint_like(const Tensor& x, std::int64_t low, std::int64_t high, Generator generator, At at) {
  const OriginScope scope("randint_like", at);
  return randint(low, high, x.shape(), x.dtype(), std::move(generator)).to(x.device());
}
Tensor normal(const Tensor& mean, const Tensor& deviation, Generator generator, At at) {
  const OriginScope scope("normal", at);
  const Ints shapes[] = {mean.shape(), deviation.shape()};
  const Tensor m = mean.dtype().is_float() ? mean : mean.cast(dtypes::float32);
  const Tensor noise = randn(ops::broadcast_shape("normal", shapes), m.dtype(), std::move(generator));
  return m + deviation * noise.to(m.device());
}

/// Sampling by exponential races (Efraimidis and Spirakis): index i finishes at a time of Exp(weight i), and the first
/// `count` indices are a sample without replacement. An index without weight never finishes.
Tensor multinomial(const Tensor& weights, std::int64_t count, bool replacement, Generator generator, At at) {
  const OriginScope scope("multinomial", at);
  check_float("multinomial", weights.dtype());
  STRATA_CHECK(weights.ndim() >= 1 && weights.ndim() <= 2, shape, "[multinomial] the weights have ", weights.ndim(),
               " dimensions; 1 or 2 are expected");
  STRATA_CHECK(count > 0 && (replacement || known(is_at_most(count, weights.size(-1)))), domain, "[multinomial] ",
               count, " draws from ", weights.size(-1).render(),
               " weights: at least one draw, and without replacement no more draws than weights, "
               "are expected");
  ops::check_weights_at_hand(weights.node(), count, replacement);
  const auto race = [&](const Ints& shape) {
    return -(1 - rand(shape, dtypes::float64, generator).to(weights.device())).log();
  };
  const double never = std::numeric_limits<double>::infinity();
  const Tensor w = weights.cast(dtypes::float64).detach(), takes_part = w.gt(0);
  const Tensor pace = takes_part.where(w, 1);
  if (!replacement) {
    const auto [times, places] = takes_part.where(race(w.shape()) / pace, never).topk(count, -1, false);
    return times.lt(never).where(places, -1);
  }
  Ints shape = w.shape();
  shape.push_back(shape.back());
  shape[shape.size() - 2] = count;
  const Tensor times = takes_part.unsqueeze(-2).where(race(shape) / pace.unsqueeze(-2), never);
  return takes_part.any(-1, true).where(times.argmin(-1), -1);
}

}  // namespace strata
