// Machine code of a kernel in a trace, made of its source when somebody asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace strata::tools {

/// Which of a trace's kernels.
struct TracedKernel {
  std::int64_t kernel;  ///< its number in the trace
  std::size_t part = 0;  ///< 0 is the kernel itself, k the k-th of those that run before it (`first`)
};

/// The machine code that the kernel's device makes of its source on this machine. Nothing of it is run. A part is compiled as the whole
/// kernel is: one that is tiny by itself is optimised all the same.
/// @param trace the file's path
/// @throws Error (domain) where the trace has no such kernel, or none whose device is known, or a source in C that could read other
/// files; as Device::assembly_of
std::string assembly_in_trace(const std::string& trace, const TracedKernel& which);

}  // namespace strata::tools
