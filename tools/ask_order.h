// In which order a kernel touches memory; and what it computes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strata/graph/interpret.h"
#include "tools/ask_kernel.h"
#include "tools/ask_kernel_values.h"

namespace strata::tools {

/// `given`, and the largest value of each variable that it does not name.
/// @throws Error (domain) for a name that the text has no variable of, or a value outside of its bounds
VariableValues all_values(const KernelText& text, const VariableValues& given);

inline constexpr std::int64_t default_accesses = std::int64_t{1} << 20;
inline constexpr std::int64_t most_accesses = std::int64_t{1} << 24;

struct OrderAnswer {
  /// Each access: the UOp's place in its kernel's list, the buffer's slot (-1: scratch memory), the element.
  std::vector<std::int64_t> triples;
  struct Part {
    std::string name;
    std::int64_t accesses;
  };
  std::vector<Part> kernels;        ///< one after another: those that run first, and the kernel
  std::vector<std::int64_t> sizes;  ///< of the buffers, by slot
  VariableValues values;
};

/// Runs the list on random input, on one thread. Of instances the first comes first.
/// @throws Error (budget) beyond `limit` accesses, or where memory or work are too much
OrderAnswer ask_order(const KernelAnswer& asked, const VariableValues& values, std::int64_t limit,
                      Work& work);

struct EvaluateAnswer {
  std::vector<BufferUse> buffers;
  std::vector<std::int64_t> sizes;
  KernelMemory before, after;
  VariableValues values;
};

/// What the interpreter of graphs makes of random input. @throws Error (budget)
EvaluateAnswer ask_evaluate(const KernelText& text, const VariableValues& values,
                            std::uint64_t seed, Work& work);

}  // namespace strata::tools
