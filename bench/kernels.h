// The rows of bench_kernels: what is computed, in Strata's text and as work for the others.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/hand.h"
#include "bench/harness.h"
#include "strata/base/executor.h"

namespace strata::bench {

/// What of the machine a row cannot exceed.
enum class Limit {
  l1,    ///< a = b + 3*c, 12 KiB an array: bytes read and written in the nearest cache
  l2,    ///< the same, 192 KiB an array
  copy,  ///< memory to memory, past the caches
  read,  ///< from memory
  fill,  ///< to memory, past the caches
  peak,  ///< f32 multiplications and additions
};
inline constexpr std::size_t kLimits = 6;

struct KernelCase {
  std::string name;
  Work work;
  std::int64_t m, n, k;
  std::string text;                  ///< Strata's kernel; its inputs in the order of Operands::in
  std::vector<std::int64_t> inputs;  ///< elements of each
  std::int64_t output;               ///< elements
  Limit limit;
  double amount;     ///< useful bytes, each buffer once; operations where the limit is `peak`
  double tolerance;  ///< how far elements may be from those of the hand-written kernel
};

const std::vector<KernelCase>& kernel_cases();

/// Bytes, or operations, a nanosecond.
struct Limits {
  std::array<double, kLimits> rate{};
  double of(Limit limit) const { return rate[static_cast<std::size_t>(limit)]; }
};
/// Measured with kernels by hand on the threads of `executor`: they are no business of the code that they judge.
Limits measure_limits(Executor& executor, bool quick);

/// `hand` from its beginning to its end on `executor`.
std::function<void()> hand_call(const HandKernel& hand, const Operands& o, Executor& executor);

}  // namespace strata::bench
