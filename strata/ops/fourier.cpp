// Discrete Fourier transforms, and the transforms of overlapping frames.
//
// Inside of a transform, real and imaginary parts are two planes: a Value has shape (..., 2, n). A level of Cooley and
// Tukey's algorithm splits n into r * m and multiplies by the matrix of the transform of r numbers, which is small; the
// next level does the same with m. Numbers stand in Stockham's order (..., 2, left, done): the `done` numbers of each
// transform so far lie side by side, and the last level ends in the natural order.
#include "strata/ops/fourier.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <functional>
#include <map>
#include <numbers>

#include "strata/ops/functional.h"

namespace strata::ops {

namespace {

/// Products with matrices of at most so many rows, and so many for prime numbers, are quicker than what splits them.
constexpr std::int64_t kLargestFactor = 32, kLargestPrime = 61;
/// What a level costs beside its products, in products per number: two passes over memory.
constexpr std::int64_t kLevelCost = 8;
constexpr std::int64_t kLongest = std::int64_t{1} << 24;

bool is_of(const Int& size, std::int64_t n) { return size.is_number() && size.value() == n; }

bool is_prime(std::int64_t n) {
  for (std::int64_t d = 2; d * d <= n; ++d)
    if (n % d == 0) return false;
  return n > 1;
}

/// Factors of n of at most kLargestFactor, or primes up to kLargestPrime, with the least sum of costs; none where n has
/// a larger prime factor.
std::vector<std::int64_t> factors_of(std::int64_t n) {
  struct Best {
    std::int64_t cost = 0, factor = 1;
  };
  std::vector<std::int64_t> divisors;
  for (std::int64_t d = 1; d * d <= n; ++d)
    if (n % d == 0) divisors.insert(divisors.end(), {d, n / d});
  std::ranges::sort(divisors);
  std::map<std::int64_t, Best> best = {{1, {}}};
  for (const std::int64_t d : divisors)
    for (const std::int64_t factor : divisors) {
      if (factor == 1 || factor > kLargestPrime || d % factor != 0) continue;
      if (factor > kLargestFactor && !is_prime(factor)) continue;
      const auto rest = best.find(d / factor);
      if (rest == best.end()) continue;
      const std::int64_t cost = rest->second.cost + factor + kLevelCost;
      const auto [known, is_new] = best.try_emplace(d, Best{cost, factor});
      if (!is_new && cost < known->second.cost) known->second = {cost, factor};
    }
  std::vector<std::int64_t> out;
  for (auto at = best.find(n); at != best.end() && at->first > 1; at = best.find(at->first / at->second.factor))
    out.push_back(at->second.factor);
  return out;
}

/// 2 pi k / n, exact where it counts: k is taken modulo n first.
double turn_of(std::int64_t k, std::int64_t n) {
  return 2 * std::numbers::pi * static_cast<double>(k % n) / static_cast<double>(n);
}

/// What a table holds: its kind, and the numbers that it is made of.
struct TableKey {
  enum class Kind : std::uint8_t { matrix, twiddles, roots, chirp, kernel } kind;
  std::int64_t n, m;
  int sign;
  auto operator<=>(const TableKey&) const = default;
};

/// The table of doubles that `make` fills, in `dtype`. The tables of the last transforms of a thread are kept: sines
/// take longer than the transform.
Value table(const TableKey& key, const Ints& shape, DType dtype, const std::function<std::vector<double>()>& make) {
  constexpr std::size_t kMostKept = std::size_t{1} << 21;  // elements of all tables
  thread_local std::map<TableKey, Value> kept;
  thread_local std::size_t elements = 0;
  if (const auto known = kept.find(key); known != kept.end()) return known->second.cast(dtype);
  const std::vector<double> made = make();
  const Value out = Value::from(made, shape);
  if (made.size() <= kMostKept) {
    if (elements + made.size() > kMostKept) kept.clear(), elements = 0;
    kept.emplace(key, out), elements += made.size();
  }
  return out.cast(dtype);
}

/// cos and sin of the angles that `make` fills, as a Value of shape (2, count).
Value circle(const TableKey& key, std::int64_t count, DType dtype, const std::function<std::vector<double>()>& make) {
  return table(key, {2, count}, dtype, [&] {
    const std::vector<double> angles = make();
    std::vector<double> out;
    out.reserve(angles.size() * 2);
    for (const double a : angles) out.push_back(std::cos(a));
    for (const double a : angles) out.push_back(std::sin(a));
    return out;
  });
}

/// The parts of the product of complex numbers: x of shape (..., 2, sizes) by factors of shape (2, sizes), where -k is
/// the place of the parts.
Value turned(const Value& x, const Value& factors, std::int64_t axis) {
  const Value a = x.select(axis, 0), b = x.select(axis, 1);
  const Value c = factors.select(0, 0), s = factors.select(0, 1);
  const std::vector<Value> parts = {a * c - b * s, a * s + b * c};
  return Value::stack(parts, axis);
}

/// The matrix of the transform of n numbers of `parts` parts: shape (2, parts, n, n), by part of the result, part of
/// the number, place of the result, place of the number.
Value matrix(std::int64_t n, std::int64_t parts, int sign, DType dtype) {
  return table({TableKey::Kind::matrix, n, parts, sign}, {2, parts, n, n}, dtype, [&] {
    std::vector<double> out(static_cast<std::size_t>(2 * parts * n * n));
    const auto at = [&](std::int64_t q, std::int64_t p, std::int64_t k, std::int64_t j) -> double& {
      return out[static_cast<std::size_t>(((q * parts + p) * n + k) * n + j)];
    };
    for (std::int64_t k = 0; k < n; ++k)
      for (std::int64_t j = 0; j < n; ++j) {
        const double angle = sign * turn_of(k * j, n), c = std::cos(angle), s = std::sin(angle);
        at(0, 0, k, j) = c, at(1, 0, k, j) = s;
        if (parts == 2) at(0, 1, k, j) = -s, at(1, 1, k, j) = c;
      }
    return out;
  });
}

/// exp(sign * 2 pi i j k / (r * done)) for the places of r numbers and of those done: (2, r, 1, done).
Value twiddles(std::int64_t r, std::int64_t done, int sign, DType dtype) {
  const Value out = circle({TableKey::Kind::twiddles, r, done, sign}, r * done, dtype, [&] {
    std::vector<double> angles;
    for (std::int64_t j = 0; j < r; ++j)
      for (std::int64_t k = 0; k < done; ++k) angles.push_back(sign * turn_of(j * k, r * done));
    return angles;
  });
  return out.reshape({2, r, 1, done});
}

/// exp(sign * 2 pi i k / n) for k from 0 to count - 1: (2, count).
Value roots(std::int64_t n, std::int64_t count, int sign, DType dtype) {
  return circle({TableKey::Kind::roots, n, count, sign}, count, dtype, [&] {
    std::vector<double> angles;
    for (std::int64_t k = 0; k < count; ++k) angles.push_back(sign * turn_of(k, n));
    return angles;
  });
}

/// The sums over j of x[j] * exp(sign * 2 pi i j k / n). @param x (..., parts, n), one part for real numbers
/// @return (..., 2, n)
Value transform(const Value& x, int sign);

/// By the factors of n.
Value by_factors(const Value& x, const std::vector<std::int64_t>& factors, int sign) {
  const std::int64_t n = x.size(-1).value();
  std::int64_t done = 1, left = n;
  Value z = x;
  for (const std::int64_t r : factors) {
    left /= r;
    if (done == 1) {
      z = z.unflatten(-1, {r, left});  // (..., parts, r, left)
      const std::vector<Value> both = {z, matrix(r, z.size(-3).value(), sign, x.dtype())};
      z = Value::einsum("...pjl,qpkj->...qlk", both);
    } else {
      z = turned(z.unflatten(-2, {r, left}), twiddles(r, done, sign, x.dtype()), -4);
      const std::vector<Value> both = {z, matrix(r, 2, sign, x.dtype())};
      z = Value::einsum("...pjld,qpkj->...qlkd", both).flatten(-2, -1);
    }
    done *= r;
  }
  return z.squeeze(-2);  // of (..., 2, 1, n)
}

/// As a convolution of a power of two: j k = (j^2 + k^2 - (j - k)^2) / 2.
Value by_convolution(const Value& x, int sign) {
  const std::int64_t n = x.size(-1).value();
  std::int64_t longer = 1;
  while (longer < 2 * n - 1) longer *= 2;
  const auto angle = [&](std::int64_t j) { return sign * turn_of(j * j, 2 * n); };
  const Value chirp = circle({TableKey::Kind::chirp, n, 0, sign}, n, x.dtype(), [&] {
    std::vector<double> angles;
    for (std::int64_t j = 0; j < n; ++j) angles.push_back(angle(j));
    return angles;
  });
  const Value around = table({TableKey::Kind::kernel, n, longer, sign}, {2, longer}, x.dtype(), [&] {
    std::vector<double> out(static_cast<std::size_t>(2 * longer), 0.0);
    for (std::int64_t j = 0; j < n; ++j)
      for (const std::int64_t at : {j, (longer - j) % longer}) {
        out[static_cast<std::size_t>(at)] = std::cos(angle(j));
        out[static_cast<std::size_t>(longer + at)] = -std::sin(angle(j));
      }
    return out;
  });
  const Value kernel = transform(around, -1);
  const bool is_real = x.size(-2).value() == 1;
  Value y = is_real ? x * chirp : turned(x, chirp, -2);
  Padding behind(static_cast<std::size_t>(y.ndim()), {0, 0});
  behind.back() = {0, longer - n};
  y = transform(turned(transform(y.pad(behind), -1), kernel, -2), 1).narrow(-1, 0, n);
  return turned(y, chirp, -2) * (1 / static_cast<double>(longer));
}

Value transform(const Value& x, int sign) {
  const std::int64_t n = x.size(-1).value();
  if (n == 1) {
    Padding imaginary(static_cast<std::size_t>(x.ndim()), {0, 0});
    imaginary[imaginary.size() - 2] = {0, 2 - x.size(-2).value()};
    return x.pad(imaginary);
  }
  const std::vector<std::int64_t> factors = factors_of(n);
  return factors.empty() ? by_convolution(x, sign) : by_factors(x, factors, sign);
}

/// What a function of this file was asked for: x with the transformed axis last, its number of elements, the scale.
struct Asked {
  Value x;  ///< (..., own), and parts in front of the last axis where the numbers are complex
  std::int64_t n, axis;
  double scale;
};

/// @param is_half whether x has the first half of a symmetric spectrum, of whose n numbers n / 2 + 1 are given
Asked asked(const char* name, const Value& given, const FftOptions& o, bool is_complex, bool is_half, int sign) {
  const std::int64_t axes = given.ndim() - (is_complex ? 1 : 0);
  STRATA_CHECK(axes >= 1, shape, "[", name, "] the input has shape ", render(given.shape()), "; ",
               is_complex ? "(..., n, 2), pairs of real and imaginary part," : "(..., n)", " is expected");
  STRATA_CHECK(!is_complex || is_of(given.size(-1), 2), shape, "[", name, "] the last axis of shape ",
               render(given.shape()), " has ", given.size(-1).render(),
               " elements instead of 2: a pair of real and imaginary part");
  STRATA_CHECK(o.axis >= -axes && o.axis < axes, shape, "[", name, "] axis ", o.axis, " of ", axes, " axes");
  const std::int64_t axis = o.axis < 0 ? o.axis + axes : o.axis;
  STRATA_CHECK(given.size(axis).is_number(), shape, "[", name, "] the size of axis ", axis, " is ",
               given.size(axis).render(), ": a number is expected");
  const std::int64_t own = given.size(axis).value();
  const std::int64_t n = o.n ? *o.n : is_half ? 2 * (own - 1) : own;
  STRATA_CHECK(n >= 1 && n <= kLongest, domain, "[", name, "] a transform of ", n, " numbers: 1 to ", kLongest,
               " are expected");
  Value x = given.dtype() == dtypes::float64 ? given : given.cast(dtypes::float32);
  x = x.movedim({axis}, {x.ndim() - 1});
  const std::int64_t wanted = is_half ? n / 2 + 1 : n;
  if (wanted < own) x = x.narrow(-1, 0, wanted);
  if (wanted > own) {
    Padding behind(static_cast<std::size_t>(x.ndim()), {0, 0});
    behind.back() = {0, wanted - own};
    x = x.pad(behind);
  }
  const auto count = static_cast<double>(n);
  const bool divides = o.norm == (sign < 0 ? FftNorm::forward : FftNorm::backward);
  return {x, n, axis, o.norm == FftNorm::ortho ? 1 / std::sqrt(count) : divides ? 1 / count : 1.0};
}

Value scaled(const Value& x, double scale) { return scale == 1 ? x : x * scale; }

/// (..., 2, n) as pairs, with the transformed axis at its place.
Value as_pairs(const Value& planes, const Asked& a) {
  const std::int64_t last = planes.ndim() - 1;
  return scaled(planes, a.scale).movedim({last}, {a.axis});
}

Value both_parts(const Value& real, const Value& imaginary) {
  const std::vector<Value> parts = {real, imaginary};
  return Value::stack(parts, -2);
}

/// The first n / 2 + 1 numbers of the transform of real numbers (..., n), as planes. Even and odd places are the real
/// and imaginary parts of one transform of half the length.
Value half_spectrum(const Value& x) {
  const std::int64_t n = x.size(-1).value(), bins = n / 2 + 1;
  if (n % 2 != 0) return transform(x.unsqueeze(-2), -1).narrow(-1, 0, bins);
  const Value z = transform(x.unflatten(-1, {n / 2, 2}).transpose(-1, -2), -1);
  const std::vector<Value> around = {z, z.narrow(-1, 0, 1)};
  const Value ahead = Value::cat(around, -1), back = ahead.flip({ahead.ndim() - 1});
  const Value a = ahead.select(-2, 0), b = ahead.select(-2, 1), c = back.select(-2, 0), d = back.select(-2, 1);
  const Value even = both_parts(a + c, b - d), odd = both_parts(b + d, c - a);
  return (even + turned(odd, roots(n, bins, -1, x.dtype()), -2)) * 0.5;
}

/// The sums of a symmetric spectrum of n numbers, of which planes (..., 2, n / 2 + 1) are given: real numbers (..., n).
/// The imaginary parts of the numbers that are their own mirror images do not count.
Value from_half_spectrum(const Value& x, std::int64_t n) {
  const std::int64_t bins = n / 2 + 1, inner = (n - 1) / 2;
  Padding around(static_cast<std::size_t>(x.ndim() - 1), {0, 0});
  around.back() = {1, bins - 1 - inner};
  const Value real = x.select(-2, 0), imaginary = x.select(-2, 1).narrow(-1, 1, inner).pad(around);
  if (n % 2 != 0) {
    const auto mirrored = [&](const Value& part) { return part.narrow(-1, 1, inner).flip({part.ndim() - 1}); };
    const std::vector<Value> reals = {real, mirrored(real)}, imaginaries = {imaginary, -mirrored(imaginary)};
    return transform(both_parts(Value::cat(reals, -1), Value::cat(imaginaries, -1)), 1).select(-2, 0);
  }
  const std::int64_t half = n / 2, last = real.ndim() - 1;
  const Value c = real.flip({last}), d = imaginary.flip({last});
  const Value even = both_parts(real + c, imaginary - d).narrow(-1, 0, half);
  const Value odd = turned(both_parts(real - c, imaginary + d).narrow(-1, 0, half), roots(n, half, 1, x.dtype()), -2);
  const Value z = both_parts(even.select(-2, 0) - odd.select(-2, 1), even.select(-2, 1) + odd.select(-2, 0));
  return transform(z, 1).transpose(-1, -2).flatten(-2, -1);
}

}  // namespace

namespace fft {

Value fft(const Value& x, const FftOptions& options) {
  const Asked a = asked("fft", x, options, true, false, -1);
  return as_pairs(transform(a.x, -1), a);
}

Value ifft(const Value& x, const FftOptions& options) {
  const Asked a = asked("ifft", x, options, true, false, 1);
  return as_pairs(transform(a.x, 1), a);
}

Value rfft(const Value& x, const FftOptions& options) {
  const Asked a = asked("rfft", x, options, false, false, -1);
  return as_pairs(half_spectrum(a.x), a);
}

Value irfft(const Value& x, const FftOptions& options) {
  const Asked a = asked("irfft", x, options, true, true, 1);
  const Value y = scaled(from_half_spectrum(a.x, a.n), a.scale);
  return y.movedim({y.ndim() - 1}, {a.axis});
}

}  // namespace fft

namespace {

/// The window of n elements, in the middle of n zeros where it is shorter; ones where none is given.
Value window_of(const char* name, const std::optional<Value>& window, std::int64_t n, const StftOptions& o,
                DType dtype) {
  const std::int64_t own = o.win_length.value_or(n);
  STRATA_CHECK(own >= 1 && own <= n, domain, "[", name, "] a window of ", own, " elements for frames of ", n);
  STRATA_CHECK(!window || (window->ndim() == 1 && is_of(window->size(0), own)), shape, "[", name,
               "] the window has shape ", window ? render(window->shape()) : "", "; (", own, ",) is expected");
  const Value given = window ? window->cast(dtype) : Value::ones({own}, dtype);
  const std::int64_t before = (n - own) / 2;
  return given.pad(Padding{{before, n - own - before}});
}

std::int64_t hop_of(const char* name, std::int64_t n, const StftOptions& o) {
  STRATA_CHECK(n >= 1 && n <= kLongest, domain, "[", name, "] frames of ", n, " elements");
  const std::int64_t hop = o.hop_length.value_or(std::max<std::int64_t>(n / 4, 1));
  STRATA_CHECK(hop >= 1, domain, "[", name, "] a frame every ", hop, " elements");
  return hop;
}

FftOptions norm_of(const StftOptions& o) { return {.norm = o.normalized ? FftNorm::ortho : FftNorm::backward}; }

}  // namespace

Value stft(const Value& x, std::int64_t n_fft, const std::optional<Value>& window, const StftOptions& options) {
  STRATA_CHECK(x.ndim() == 1 || x.ndim() == 2, shape, "[stft] the input has shape ", render(x.shape()),
               "; (samples) or (batch, samples) is expected");
  const std::int64_t hop = hop_of("stft", n_fft, options);
  const DType dtype = x.dtype() == dtypes::float64 ? dtypes::float64 : dtypes::float32;
  Value signal = x.cast(dtype);
  if (options.center) {
    Padding sides(static_cast<std::size_t>(x.ndim()), {0, 0});
    sides.back() = {n_fft / 2, n_fft / 2};
    signal = signal.pad(sides, options.pad_mode);
  }
  STRATA_CHECK(!signal.size(-1).is_number() || signal.size(-1).value() >= n_fft, shape, "[stft] ",
               signal.size(-1).render(), " samples are fewer than a frame of ", n_fft);
  const Value frames = signal.unfold(-1, n_fft, hop) * window_of("stft", window, n_fft, options, dtype);
  const FftOptions norm = norm_of(options);
  Value out = options.onesided ? fft::rfft(frames, norm)
                               : fft::fft(both_parts(frames, frames.zeros_like()).transpose(-1, -2), norm);
  return out.transpose(-2, -3);
}

Value istft(const Value& x, std::int64_t n_fft, const std::optional<Value>& window, const StftOptions& options,
            std::optional<std::int64_t> length) {
  STRATA_CHECK((x.ndim() == 3 || x.ndim() == 4) && is_of(x.size(-1), 2), shape, "[istft] the input has shape ",
               render(x.shape()), "; (bins, frames, 2) or (batch, bins, frames, 2) is expected");
  const std::int64_t hop = hop_of("istft", n_fft, options), bins = options.onesided ? n_fft / 2 + 1 : n_fft;
  STRATA_CHECK(is_of(x.size(-3), bins), shape, "[istft] ", x.size(-3).render(), " bins for frames of ", n_fft, ": ",
               bins, " are expected");
  STRATA_CHECK(x.size(-2).is_number() && x.size(-2).value() >= 1, shape, "[istft] ", x.size(-2).render(),
               " frames: a number is expected");
  const std::int64_t count = x.size(-2).value(), all = n_fft + hop * (count - 1);
  const Value spectrum = (x.ndim() == 3 ? x.unsqueeze(0) : x).transpose(-2, -3);  // (batch, frames, bins, 2)
  FftOptions norm = norm_of(options);
  norm.n = n_fft;
  const Value frames = options.onesided ? fft::irfft(spectrum, norm) : fft::ifft(spectrum, norm).select(-1, 0);
  const Value shape_of_frames = window_of("istft", window, n_fft, options, frames.dtype());
  const auto added = [&](const Value& each) {  // (batch, frames, n_fft) to (batch, all)
    const UnfoldOptions sides = {.stride = {1, hop}};
    return fold(each.transpose(-1, -2), {1, all}, {1, n_fft}, sides).squeeze(-2).squeeze(-2);
  };
  const Value weight = added((shape_of_frames * shape_of_frames).reshape({1, 1, n_fft}).expand({1, count, n_fft}));
  Value out = added(frames * shape_of_frames) / weight;
  const std::int64_t begin = options.center ? n_fft / 2 : 0;
  const std::int64_t end = length ? begin + *length : options.center ? all - n_fft / 2 : all;
  STRATA_CHECK(end > begin, shape, "[istft] ", all, " samples are no more than what is cut off at the ends");
  out = out.narrow(-1, begin, std::min(end, all) - begin);
  if (end > all) out = out.pad(Padding{{0, 0}, {0, end - all}});
  return x.ndim() == 3 ? out.squeeze(0) : out;
}

}  // namespace strata::ops
