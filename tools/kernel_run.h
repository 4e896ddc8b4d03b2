// run_kernel(): a trial run of a kernel, for `strata kernel --run` and `strata bench`: random input, comparison with
// INTERP, times. roofline() measures what the machine could reach.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "strata/runtime/device.h"
#include "tools/ask_kernel_values.h"

namespace strata::tools {

/// The roofline of a device: the memory bandwidth and the peak performance that generated kernels reach on this
/// machine. Both are 0 for a device that computes nothing (NULL).
struct Roofline {
  double bandwidth = 0;  ///< bytes a second
  double peak = 0;       ///< operations a second
  std::string text;      ///< what was measured
  /// The seconds that `work` takes at least: the maximum of bytes / bandwidth and, of floats, operations / peak.
  double seconds(const KernelWork& work) const;
};
/// Measures the roofline, once in a process for each device and precision (f32 or f64): the bandwidth by a = b + 3*c on
/// arrays of 32 MiB, the peak by chains of multiplications and additions in registers.
const Roofline& roofline(const Device& device, bool doubles);

struct KernelRun {
  KernelWork work;
  std::vector<double> seconds;  ///< of each repeat
  double median = 0;
  int threads = 1;
  std::optional<bool> agrees;  ///< whether the results are INTERP's; nothing: not compared
  std::string check;           ///< the result of the comparison, in words
};
enum class Compare { where_quick, never };
/// Runs `kernel` on random input (always the same, by a fixed seed): once to compare the results with INTERP, if INTERP
/// is quick enough, once to warm up, then `repeats` times for the times. Without `repeats`: 10 times, or until a second
/// has passed.
/// @throws Error (domain) for a missing or illegal value of a variable, (budget) if the buffers are too large for a
/// trial
KernelRun run_kernel(const CompiledKernel& kernel, const Device& device, const VariableValues& values,
                     std::optional<std::int64_t> repeats, Compare compare = Compare::where_quick);

}  // namespace strata::tools
