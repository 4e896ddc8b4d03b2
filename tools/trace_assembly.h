// assembly_in_trace(): the assembly of a kernel in a trace, for the page of `strata viz --serve`. A trace has the
// source of each kernel; the assembly is made from it at the request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace strata::tools {

/// A kernel of a trace.
struct TracedKernel {
  std::int64_t kernel;   ///< its number in the trace
  std::size_t part = 0;  ///< 0: the kernel itself; k: the k-th kernel that runs before it (`first`)
};

/// The assembly that the kernel's device makes of the source, on this machine. No code of the trace runs. A kernel that
/// runs before another is compiled with the options of the whole kernel, so it is optimised even if it is tiny by
/// itself.
/// @param trace the path of the trace
/// @throws Error (domain) if the trace has no such kernel or does not name its device, or C source could include other
///   files of this machine; and as Device::assembly_of()
std::string assembly_in_trace(const std::string& trace, const TracedKernel& which);

}  // namespace strata::tools
