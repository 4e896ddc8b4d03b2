// ask_order(): the sequence of memory accesses of a kernel, and ask_evaluate(): its results on random input, for the
// requests `order` and `evaluate` of the page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strata/graph/interpret.h"
#include "tools/ask_kernel.h"
#include "tools/ask_kernel_values.h"

namespace strata::tools {

/// A value for each variable of the kernel: the value in `given`, else the variable's maximum.
/// @throws Error (domain) if `given` names an unknown variable, or a value is outside the bounds
VariableValues all_values(const KernelText& text, const VariableValues& given);

/// Limits on the number of accesses: the default, and the largest that a request may ask for.
inline constexpr std::int64_t default_accesses = std::int64_t{1} << 20;
inline constexpr std::int64_t most_accesses = std::int64_t{1} << 24;

struct OrderAnswer {
  /// Three numbers for each access: the index of the UOp in its kernel's list, the slot of the buffer (-1: scratch
  /// memory), the element.
  std::vector<std::int64_t> triples;
  struct Part {
    std::string name;
    std::int64_t accesses;
  };
  std::vector<Part> kernels;        ///< in the order of running: kernels that run before, the kernel
  std::vector<std::int64_t> sizes;  ///< of the buffers, by slot
  VariableValues values;
};

/// Interprets the UOps on random input, on one thread; iterations of the parallel loop run in order.
/// @throws Error (budget) beyond `limit` accesses, or if memory or work exceeds the budget
OrderAnswer ask_order(const KernelAnswer& asked, const VariableValues& values, std::int64_t limit, Work& work);

struct EvaluateAnswer {
  std::vector<BufferUse> buffers;
  std::vector<std::int64_t> sizes;
  KernelMemory before, after;
  VariableValues values;
};

/// Interprets the graph (graph/interpret.h) on random input. Returns the buffers before and after. @throws Error
/// (budget)
EvaluateAnswer ask_evaluate(const KernelText& text, const VariableValues& values, std::uint64_t seed, Work& work);

}  // namespace strata::tools
