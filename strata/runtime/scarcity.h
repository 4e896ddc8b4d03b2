// The limits of the system on a process: threads and address space. tbb_executor.cpp and opencl_library.cpp ask for
// them before they start a library, because oneTBB and OpenCL drivers abort the process when the system refuses them a
// thread. Strata then goes on with fewer threads, or without the device, and says so.
#pragma once

#include <string>
#include <string_view>

namespace strata {

/// How many of `wanted` further threads the system grants this process. Found out by starting them, all at the same
/// time, and ending them.
/// @post 0 <= result <= max(wanted, 0)
int startable_threads(int wanted);

/// Prints one line on standard error: loops run on `granted` of `wanted` threads. Only the first call in a process
/// prints.
void warn_of_few_threads(int wanted, int granted);

/// If the address space is limited, `before` followed by e.g. "the address space is limited to 512 MiB (ulimit -v)";
/// else empty.
std::string address_space_limit(std::string_view before = "");

}  // namespace strata
