// Binds Fourier transforms: strata.fft, stft() and istft().
#include "python/src/call.h"
#include "python/src/tensor_values.h"
#include "strata/tensor/fourier.h"
#include "strata/tensor/functional.h"

namespace strata::python {

namespace {

FftOptions options_of(const char* function, const std::optional<std::int64_t>& n, std::int64_t axis,
                      const std::optional<std::string>& norm) {
  FftOptions out{.n = n, .axis = axis};
  if (norm)
    out.norm =
        static_cast<FftNorm>(choice_of({py::str(*norm).ptr(), function, "norm"}, {"backward", "ortho", "forward"}));
  return out;
}

StftOptions frames_of(const std::optional<std::int64_t>& hop_length, const std::optional<std::int64_t>& win_length,
                      bool center, const std::string& pad_mode, bool normalized, bool onesided) {
  return {.hop_length = hop_length,
          .win_length = win_length,
          .center = center,
          .pad_mode = static_cast<PadMode>(choice_of({py::str(pad_mode).ptr(), "stft", "pad_mode"},
                                                     {"constant", "reflect", "replicate", "circular"})),
          .normalized = normalized,
          .onesided = onesided};
}

template <auto transform>
auto transform_of(const char* name) {
  return [name](const Tensor& x, const std::optional<std::int64_t>& n, std::int64_t axis,
                const std::optional<std::string>& norm) {
    return transform(x, options_of(name, n, axis, norm), At::current());
  };
}

void bind_transforms(Functions& f) {
  constexpr const char* kParameters = "input|x, n=None, axis=-1, norm='backward'";
  f.function(
      "_fft", kParameters, transform_of<&fft::fft>("fft"),
      "The discrete Fourier transform of complex numbers, pairs along the last axis: (..., n, 2) gives (..., n, 2). "
      "The axis of pairs is not counted by `axis`. `n` cuts or pads with zeros first. `norm` says which way divides: "
      "'backward' the inverse by n, 'forward' this one, 'ortho' both by sqrt(n).");
  f.function("_ifft", kParameters, transform_of<&fft::ifft>("ifft"),
             "The inverse of fft(): (..., n, 2) gives (..., n, 2).");
  f.function("_rfft", kParameters, transform_of<&fft::rfft>("rfft"),
             "The first n // 2 + 1 numbers of the transform of real numbers, which tell the others: (..., n) gives "
             "(..., n // 2 "
             "+ 1, 2), pairs of real and imaginary part.");
  f.function("_irfft", kParameters, transform_of<&fft::irfft>("irfft"),
             "The inverse of rfft(): (..., n // 2 + 1, 2) gives (..., n), by default for an even n.");
}

void bind_frames(Functions& f) {
  f.op(
      "stft",
      "n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode='reflect', normalized=False, "
      "onesided=True",
      [](const Tensor& x, std::int64_t n_fft, const std::optional<std::int64_t>& hop_length,
         const std::optional<std::int64_t>& win_length, const std::optional<Tensor>& window, bool center,
         const std::string& pad_mode, bool normalized, bool onesided) {
        return stft(x, n_fft, window, frames_of(hop_length, win_length, center, pad_mode, normalized, onesided));
      },
      "The Fourier transforms of frames of `n_fft` samples, one every `hop_length` (n_fft // 4): (samples) or (batch, "
      "samples) gives (bins, frames, 2), with a batch in front. Frames are multiplied by `window`, of `win_length` "
      "elements. "
      "With `center` the signal is continued by n_fft // 2 samples at both ends first, as `pad_mode` says. "
      "`normalized` "
      "divides by sqrt(n_fft). Without `onesided` there are n_fft bins.");
  f.op(
      "istft",
      "n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=True, length=None",
      [](const Tensor& x, std::int64_t n_fft, const std::optional<std::int64_t>& hop_length,
         const std::optional<std::int64_t>& win_length, const std::optional<Tensor>& window, bool center,
         bool normalized, bool onesided, const std::optional<std::int64_t>& length) {
        return istft(x, n_fft, window, frames_of(hop_length, win_length, center, "reflect", normalized, onesided),
                     length);
      },
      "The signal whose stft() is nearest: frames are added where they overlap, and divided by the sum of the squares "
      "of their windows. (bins, frames, 2) gives (samples). NaN where no window reaches.");
}

}  // namespace

void bind_fourier(Functions& f) {
  bind_transforms(f);
  bind_frames(f);
}

}  // namespace strata::python
