// The stack that the functions of an exported file need at most, as gcc -O2 compiles them for x86-64. Internal to
// export/.
#pragma once

#include <cstddef>
#include <cstdint>

#include "strata/ir/uop.h"

namespace strata::exporting {

/// What a kernel keeps while it runs.
struct KernelValues {
  std::int64_t array_bytes = 0;  ///< of scratch memory
  std::int64_t integers = 0;     ///< the most that are needed at once: parameters, counters, indices
  std::int64_t values = 0;       ///< the most others of at most `register_bytes` that are needed at once
  std::int64_t accesses = 0;     ///< loads and stores with an index of their own
  std::int64_t wide_bytes = 0;   ///< the most of values wider than a register that are needed at once
  std::int64_t emulated = 0;     ///< products of 64-bit integers in vectors, and their conversions from and to floats
  std::int64_t register_bytes = 16;
};
KernelValues values_of(const UOpGraph& graph, std::int64_t register_bytes);

// Upper bounds of frames, in bytes.

/// Of a kernel, with the helpers that it may call.
std::int64_t frame_of(const KernelValues& values, bool has_helpers);
/// Of the function that shares a loop among threads.
std::int64_t frame_of_share();
/// Of the function that runs a part of a loop. @param given the parameters of the kernel
std::int64_t frame_of_part(std::size_t given);
/// Of a function that calls others. @param kept what it needs behind a call in registers: parameters and variables; 0
/// where the call is its end @param given the most parameters of a function that it calls @param arrays bytes of its
/// structs and arrays
std::int64_t frame_of_caller(std::size_t kept, std::size_t given, std::int64_t arrays);

}  // namespace strata::exporting
