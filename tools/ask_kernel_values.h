// What it takes to compute a kernel: values of its variables, sizes, how much work that is, and random input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "strata/codegen/kernel.h"

namespace strata::tools {

/// Values of a kernel's variables, by name.
using VariableValues = std::vector<std::pair<std::string, std::int64_t>>;

/// What a kernel does at given sizes.
struct KernelWork {
  double operations =
      0;  ///< of the AST, each once an element; MULACC is two, conversions and selections none
  double bytes = 0;            ///< each buffer once for reading and once for writing, as it is used
  double oracle_elements = 0;  ///< that INTERP computes
  bool floats = false;         ///< true iff some operation is on floats
  bool doubles = false;        ///< true iff some operation is on f64
};
/// @throws Error (domain) for a variable without a value or outside of its bounds
KernelWork work_of(const LazyOp& kernel, std::span<const BufferUse> buffers,
                   const VariableValues& values);
inline KernelWork work_of(const Kernel& kernel, const VariableValues& values) {
  return work_of(kernel.ast, kernel.buffers, values);
}

/// Sizes as numbers.
class KernelSizes {
 public:
  explicit KernelSizes(const VariableValues& values) : values_(values) {}

  /// @throws Error (domain) for a variable without a value or outside of its bounds
  std::int64_t operator()(const Int& size) const;
  /// As a double: shapes between may have more elements than 64 bits count.
  double elements(const Ints& shape) const;

 private:
  std::int64_t value(const Variable& v) const;

  const VariableValues& values_;
};

/// splitmix64: the same numbers on every machine.
class RandomValues {
 public:
  explicit RandomValues(std::uint64_t seed = 2026) : state_(seed) {}
  /// Floats in [-1, 1), integers in [-100, 100] or [0, 100].
  Scalar next(DType dtype);

 private:
  std::uint64_t bits();

  std::uint64_t state_;
};

/// Memory for the buffers of a kernel.
struct KernelMemory {
  std::vector<std::vector<std::byte>> bytes;  ///< by slot
  std::vector<Memory> buffers;                ///< the same, as interpreters take it
};
/// Random input for the first `given` buffers, as far as they are used, in order of slot; 0 for the others.
KernelMemory random_memory(std::span<const BufferUse> buffers, std::size_t given,
                           const KernelSizes& sizes, std::uint64_t seed);

}  // namespace strata::tools
