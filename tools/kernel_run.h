// Running a kernel for people: random input, comparison with the oracle, times, and what the machine could do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "strata/runtime/device.h"
#include "tools/ask_kernel_values.h"

namespace strata::tools {

/// Bytes a second and operations a second that generated kernels reach here; 0 where the device computes nothing.
struct Roofline {
  double bandwidth = 0;
  double peak = 0;
  std::string text;  ///< what was measured
  /// Seconds that `work` takes at least.
  double seconds(const KernelWork& work) const;
};
/// Measures once a process for each device and dtype: a = b + 3*c over arrays of 32 MiB, and chains of multiplications and
/// additions in registers.
const Roofline& roofline(const Device& device, bool doubles);

struct KernelRun {
  KernelWork work;
  std::vector<double> seconds;  ///< of each repeat
  double median = 0;
  int threads = 1;
  std::optional<bool> agrees;  ///< with INTERP; nothing where that was not asked
  std::string check;           ///< in words
};
enum class Compare { where_quick, never };
/// Runs `kernel` on random input (seeded: the same every time), `repeats` times behind a first run that is compared with INTERP
/// where that is quick. Without `repeats`: 10, or fewer where they take longer than a second.
/// @throws Error (domain) for values of variables, (budget) where the buffers are too large for a trial
KernelRun run_kernel(const CompiledKernel& kernel, const Device& device, const VariableValues& values,
                     std::optional<std::int64_t> repeats, Compare compare = Compare::where_quick);

}  // namespace strata::tools
