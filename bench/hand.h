// The work of bench_kernels, and kernels for it written by hand: what a person with a vector unit, non-temporal stores
// and an afternoon writes. They are the mark that generated code is held against, and the judges of its results.
#pragma once

#include <array>
#include <cstdint>

namespace strata::bench {

enum class Work {
  relu_chain,     ///< out = relu(a*b + c) + d, size m
  tanh_chain,     ///< out = tanh(a*b + c) * sigmoid(d), size m
  sum,            ///< of a, size m
  var,            ///< of a, size m, divided by m
  row_sum,        ///< of a (m, n)
  col_sum,        ///< of a (m, n)
  softmax,        ///< of the rows of a (m, n)
  logsumexp,      ///< of the rows of a (m, n)
  layernorm,      ///< of the rows of a (m, n), times b (n) plus c (n)
  transpose,      ///< out (n, m) of a (m, n)
  window,         ///< of a (m, m): 16 zeros around it, both axes backwards, 8 off each side
  broadcast_add,  ///< a (m, 1) + b (1, n)
  to_nhwc,        ///< a (m, 64, 56, 56), the channels to the end
  maxpool,        ///< 3x3, stride 1, of a (m, 56, 56)
  matmul,         ///< a (m, k) @ b (k, n)
  conv,           ///< 3x3, one zero around it, of a (m, 56, 56) with b (n, m, 3, 3)
  attention,      ///< softmax(a b^T / 8) c of m heads, n queries and keys of 64
  copy,           ///< of a, size m
  fill,           ///< with ones, size m
  triad,          ///< out = a + 3*b, size m
  peak,           ///< multiplications and additions in registers, kPeakOperations of them a turn
};

inline constexpr double kPeakOperations = 3 << 18;

struct Operands {
  float* out = nullptr;
  std::array<const float*, 4> in{};
  std::int64_t m = 1, n = 1, k = 1;
  float* scratch = nullptr;  ///< of kScratch elements
};
inline constexpr std::int64_t kScratch = 1 << 22;

/// `start`, then `run` on [0, iterations) in chunks and in any order, then `finish`. Each may be run on another thread.
struct HandKernel {
  std::int64_t iterations = 1;
  std::int64_t chunks_per_thread = 4;  ///< that [0, iterations) is best cut into
  void (*run)(const Operands&, std::int64_t begin, std::int64_t end) = nullptr;
  void (*start)(const Operands&) = nullptr;   ///< null: nothing to do
  void (*finish)(const Operands&) = nullptr;  ///< null: nothing to do
};

HandKernel hand_kernel(Work work, const Operands& o);

// The families of it; @pre `work` is one of the family's.
HandKernel hand_elements(Work work, const Operands& o);
HandKernel hand_reduction(Work work, const Operands& o);
HandKernel hand_movement(Work work, const Operands& o);
HandKernel hand_contraction(Work work, const Operands& o);

/// c (m, n) = a (m, k) @ b (k, n), each with the length of its rows, nothing packed. @pre n is a multiple of 2 * kLanes
void matmul_in_place(const float* a, std::int64_t a_row, const float* b, std::int64_t b_row, float* c,
                     std::int64_t c_row, std::int64_t m, std::int64_t n, std::int64_t k);

/// The softmax of n elements. @pre n is a multiple of kLanes
void softmax_row(const float* x, float scale, float* out, std::int64_t n);

}  // namespace strata::bench
