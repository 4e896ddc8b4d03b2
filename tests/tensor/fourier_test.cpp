// Fourier transforms beside the sums that define them, their gradients against differences, and frames there and back.

#include "strata/tensor/fourier.h"

#include <cmath>
#include <numbers>

#include "strata/tensor/functional.h"
#include "tests/tensor/arrays.h"
#include "tests/tensor/finite_differences.h"

namespace strata::test {
namespace {

/// The sums over j of x[j] * exp(sign * 2 pi i j k / n), for pairs.
std::vector<double> fourier_sums(const std::vector<double>& x, int sign) {
  const std::size_t n = x.size() / 2;
  std::vector<double> out(x.size());
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t j = 0; j < n; ++j) {
      const double angle = sign * 2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
      const double c = std::cos(angle), s = std::sin(angle);
      out[2 * k] += x[2 * j] * c - x[2 * j + 1] * s;
      out[2 * k + 1] += x[2 * j] * s + x[2 * j + 1] * c;
    }
  return out;
}

void expect_near_to(const Tensor& found, const std::vector<double>& wanted) {
  const std::vector<double> values = found.to_vector<double>();
  ASSERT_EQ(values.size(), wanted.size());
  for (std::size_t k = 0; k < values.size(); ++k) EXPECT_NEAR(values[k], wanted[k], 1e-9) << k;
}

TEST(Fourier, IsTheSumsThatDefineIt) {
  for (const std::int64_t n : {1, 2, 3, 8, 12, 61, 67, 90}) {
    SCOPED_TRACE(n);
    const std::vector<double> x = spread(2 * n, -1, 1, 1);
    const Tensor given = f64(x, {n, 2});
    expect_near_to(fft::fft(given), fourier_sums(x, -1));
    expect_near_to(fft::ifft(given, {.norm = FftNorm::forward}), fourier_sums(x, 1));
    expect_near_to(fft::ifft(fft::fft(given, {.norm = FftNorm::ortho}), {.norm = FftNorm::ortho}), x);
    const std::vector<double> real = spread(n, -1, 1, 2);
    const Tensor half = fft::rfft(f64(real, {n}));
    EXPECT_EQ(half.shape(), Ints({n / 2 + 1, 2}));
    expect_near_to(fft::irfft(half, {.n = n}), real);
  }
}

TEST(Fourier, GradientsAreDifferenceQuotients) {
  for (const std::int64_t n : {1, 6, 7})
    expect_gradient([&](const Many& in) { return fft::irfft(fft::rfft(in[0]).square(), {.n = n}); },
                    {spread(2 * n, -1, 1, 3)}, {{2, n}});
}

TEST(Fourier, FramesAndBack) {
  const std::vector<double> x = spread(50, -1, 1, 4);
  const Tensor signal = f64(x, {50}), window = Tensor::hann_window(8, true, dtypes::float64).to(signal.device());
  const Tensor frames = stft(signal, 8, window);
  EXPECT_EQ(frames.shape(), Ints({5, 26, 2}));
  expect_near_to(istft(frames, 8, window), x);
}

TEST(Fourier, RefusesOtherShapes) {
  EXPECT_THROW(fft::fft(f64({1, 2, 3}, {3})), Error);
  EXPECT_THROW(fft::rfft(f64({1, 2, 3}, {3}), {.axis = 1}), Error);
  EXPECT_THROW(stft(f64({1, 2, 3}, {3}), 8, {}, {.center = false}), Error);
}

}  // namespace
}  // namespace strata::test
