// Other libraries at the work of bench_contractions: matrix products and convolutions. Each has its own file, or
// absent_*.cpp in its place.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace strata::bench {

/// The dtype of both operands. Results are f32, of int8 i32.
enum class Element : std::uint8_t { f32, bf16, int8 };

/// A product of a (batch, m, k) and b (batch, k, n), or of a and the transposed b (batch, n, k).
struct Product {
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
  bool transposed = false;
  Element element = Element::f32;
};

/// A convolution of two spatial axes, NCHW, without bias. The pass is computed from the two operands that it has: image
/// and weight, weight and gradient of the output, image and gradient of the output.
struct Convolution {
  enum class Pass : std::uint8_t { forward, data_gradient, weight_gradient };
  std::int64_t batch = 1, in = 1, size = 1, out = 1, kernel = 1, stride = 1, padding = 0, groups = 1, dilation = 1;
  Pass pass = Pass::forward;
  std::int64_t out_size() const { return (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1; }
  std::vector<std::int64_t> image() const { return {batch, in, size, size}; }
  std::vector<std::int64_t> weight() const { return {out, in / groups, kernel, kernel}; }
  std::vector<std::int64_t> result() const { return {batch, out, out_size(), out_size()}; }
};

/// A way in which a library does the work; `run` is empty where the library has nothing for it.
struct ContractionCall {
  std::string name;
  std::function<void()> run;
};

struct ContractionPeer {
  bool present;
  void (*set_threads)(int count);
  std::string (*version)();
  /// Operands and result are row-major, in memory that stays. What is constant in inference (b, the weight) may be
  /// reordered before, where the name says "prepacked" or "blocked"; results are there after run().
  std::vector<ContractionCall> (*product)(const Product& what, const void* a, const void* b, void* out);
  std::vector<ContractionCall> (*convolution)(const Convolution& what, const float* a, const float* b, float* out);
};

extern const ContractionPeer onednn_contractions;
extern const ContractionPeer openblas_contractions;

}  // namespace strata::bench
