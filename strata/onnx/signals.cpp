// Fourier transforms, windows, and weights of mel filters. A complex number is a pair along the last axis.
#include <cmath>
#include <numbers>

#include "strata/onnx/operators.h"
#include "strata/tensor/fourier.h"

namespace strata::onnx {
namespace {

constexpr std::int64_t kLongestTransform = std::int64_t{1} << 20;

/// The transform of real numbers or pairs, as `x` has one or two parts along its last axis: (..., n, parts) to
/// (..., bins, 2). The axis in front of the parts is cut or padded to `length` first.
Tensor fourier(const Tensor& x, std::int64_t length, bool is_onesided, bool is_inverse) {
  const std::int64_t parts = x.size(-1).value();
  STRATA_CHECK(parts == 1 || parts == 2, shape, "the last axis has ", parts, " elements instead of 1 or 2");
  STRATA_CHECK(length >= 1 && length <= kLongestTransform, budget, "a transform of length ", length);
  const FftOptions options{.n = length};
  if (parts == 1 && is_onesided && !is_inverse) return fft::rfft(x.select(-1, 0), options).cast(x.dtype());
  const std::vector<Tensor> both = {x, x.zeros_like()};
  const Tensor pairs = parts == 2 ? x : Tensor::cat(both, -1);
  const Tensor out = is_inverse ? fft::ifft(pairs, options) : fft::fft(pairs, options);
  return (is_onesided ? out.narrow(-2, 0, length / 2 + 1) : out).cast(x.dtype());
}

/// sum of factors[j] * cos(2 pi j n / size): n from 0, with the size less 1 for symmetric windows.
Results cosine_window(const Call& call, const std::vector<double>& factors) {
  const std::int64_t size = call.integer_of(0);
  STRATA_CHECK(size >= 0 && size < std::int64_t{1} << 40, domain, "the size is ", size);
  const DType dtype = dtype_of_element(call.integer("output_datatype"), "the window");
  const auto period = static_cast<double>(call.integer("periodic") != 0 ? size : size - 1);
  const Tensor at = call.arange(size).cast(dtypes::float64) * (2 * std::numbers::pi / period);
  Tensor out = at * 0 + factors[0];
  for (std::size_t j = 1; j < factors.size(); ++j) out = out + (at * static_cast<double>(j)).cos() * factors[j];
  return {out.cast(dtype)};
}

}  // namespace

Results discrete_fourier(const Call& call) {
  Tensor x = call.x(0);
  STRATA_CHECK(x.ndim() >= 2, shape, "the input has ", x.ndim(), " dimensions");
  const std::int64_t given = call.opset() < 20 ? call.integer("axis") : call.has(2) ? call.integer_of(2) : -2;
  const std::int64_t axis = Call::axis_in(given, x.ndim());
  STRATA_CHECK(axis < x.ndim() - 1, shape, "axis ", axis, " is that of real and imaginary parts");
  const bool is_inverse = call.integer("inverse") != 0, is_onesided = call.integer("onesided") != 0;
  x = x.movedim({axis}, {x.ndim() - 2});
  const std::int64_t length = call.has(1) ? call.integer_of(1) : x.size(-2).value();
  return {fourier(x, length, is_onesided, is_inverse).movedim({x.ndim() - 2}, {axis})};
}

Results short_time_fourier(const Call& call) {
  Tensor x = call.x(0);
  if (x.ndim() == 2) x = x.unsqueeze(-1);
  STRATA_CHECK(x.ndim() == 3, shape, "the signal has ", x.ndim(), " dimensions instead of 2 or 3");
  const std::int64_t step = call.integer_of(1);
  STRATA_CHECK(call.has(2) || call.has(3), domain, "neither a window nor a length of frames is given");
  const std::int64_t length = call.has(3) ? call.integer_of(3) : call.datum(2).shape()[0];
  STRATA_CHECK(length >= 1 && length <= kLongestTransform && step >= 1, domain, "frames of ", length, " every ", step);
  Tensor frames = x.unfold(1, length, step).transpose(-1, -2);  // (batch, frames, length, parts)
  if (call.has(2)) {
    Tensor window = call.x(2);
    STRATA_CHECK(sizes_of(window) == Sizes{length}, shape, "a window of shape ", render(window.shape()),
                 " for frames of ", length);
    frames = frames * window.unsqueeze(-1);
  }
  const bool is_onesided = call.integer("onesided") != 0;
  return {fourier(frames, length, is_onesided, false)};
}

Results hann_window(const Call& call) { return cosine_window(call, {0.5, -0.5}); }
Results hamming_window(const Call& call) { return cosine_window(call, {25.0 / 46, -21.0 / 46}); }
Results blackman_window(const Call& call) { return cosine_window(call, {0.42, -0.5, 0.08}); }

Results mel_weights(const Call& call) {
  const std::int64_t bands = call.integer_of(0), length = call.integer_of(1), rate = call.integer_of(2);
  const double low = call.number_of(3), high = call.number_of(4);
  STRATA_CHECK(bands >= 1 && bands <= 1 << 14 && length >= 1 && length <= kLongestTransform && rate >= 1, domain, bands,
               " bands of a transform of length ", length, " at ", rate, " Hz");
  STRATA_CHECK(low >= 0 && high >= low && high <= 1e9, domain, "frequencies from ", low, " to ", high);
  const std::int64_t bins = length / 2 + 1;
  STRATA_CHECK(bins * bands <= 1 << 24, budget, bands, " bands of ", bins, " bins");
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  // The edges of the bands are evenly spaced in mel, and are rounded down to bins of the transform.
  const double step = (mel(high) - mel(low)) / static_cast<double>(bands + 2);
  Sizes edges;
  for (std::int64_t k = 0; k < bands + 2; ++k) {
    const double hertz = 700 * (std::pow(10, (static_cast<double>(k) * step + mel(low)) / 2595) - 1);
    edges.push_back(
        static_cast<std::int64_t>(std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate))));
  }
  STRATA_CHECK(edges.back() <= bins, domain, "the highest frequency is above half of the sample rate");
  std::vector<double> weights(static_cast<std::size_t>(bins * bands));
  const auto at = [&](std::int64_t bin, std::int64_t band) -> double& {
    return weights[static_cast<std::size_t>(std::min(bin, bins - 1) * bands + band)];
  };
  for (std::int64_t k = 0; k < bands; ++k) {
    const auto i = static_cast<std::size_t>(k);
    const std::int64_t begin = edges[i], centre = edges[i + 1], end = edges[i + 2];
    if (centre == begin) at(centre, k) = 1;
    for (std::int64_t bin = begin; centre > begin && bin <= centre; ++bin)
      at(bin, k) = static_cast<double>(bin - begin) / static_cast<double>(centre - begin);
    for (std::int64_t bin = centre; bin < end; ++bin)
      at(bin, k) = static_cast<double>(end - bin) / static_cast<double>(end - centre);
  }
  return {call.from(weights, {bins, bands}, dtype_of_element(call.integer("output_datatype"), "the weights"))};
}

}  // namespace strata::onnx
