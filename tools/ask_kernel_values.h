// The inputs of a run of a kernel, for `strata kernel --run` and the requests `order` and `evaluate`: values of its
// variables, numeric sizes, random memory, and an estimate of the work.
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

/// The work of a kernel for given sizes.
struct KernelWork {
  /// Of the AST, per element: MULACC counts twice, casts and WHERE not at all.
  double operations = 0;
  double bytes = 0;            ///< of all buffers that are read, plus of those that are written
  double oracle_elements = 0;  ///< the elements that INTERP computes, over all nodes
  bool floats = false;         ///< true iff some operation is on floats
  bool doubles = false;        ///< true iff some operation is on f64
};
/// The work of a kernel's AST on `buffers`. @throws Error (domain) for a variable without a value, or with one outside
/// its bounds
KernelWork work_of(const LazyOp& kernel, std::span<const BufferUse> buffers, const VariableValues& values);
inline KernelWork work_of(const Kernel& kernel, const VariableValues& values) {
  return work_of(kernel.ast, kernel.buffers, values);
}

/// Evaluates symbolic sizes with given values of the variables.
class KernelSizes {
 public:
  explicit KernelSizes(const VariableValues& values) : values_(values) {}

  /// The number of a size. @throws Error (domain) for a variable without a value, or with one outside its bounds
  std::int64_t operator()(const Int& size) const;
  /// The product of the sizes. A double, because an intermediate shape may have more than 2^63 elements.
  double elements(const Ints& shape) const;

 private:
  std::int64_t value(const Variable& v) const;

  const VariableValues& values_;
};

/// Pseudo-random scalars by splitmix64, the same on every machine.
class RandomValues {
 public:
  explicit RandomValues(std::uint64_t seed = 2026) : state_(seed) {}
  /// The next scalar of `dtype`: a float in [-1, 1), a signed integer in [-100, 100], an unsigned one in [0, 100], or a
  /// bool.
  Scalar next(DType dtype);

 private:
  std::uint64_t bits();

  std::uint64_t state_;
};

/// Memory for the buffers of a kernel.
struct KernelMemory {
  std::vector<std::vector<std::byte>> bytes;  ///< by slot
  std::vector<Memory> buffers;                ///< pointers into `bytes`, for interpret()
};
/// Memory for all buffers, by slot: random elements in the first `given` ones, zeros in the others. A buffer that is
/// not used is empty.
KernelMemory random_memory(std::span<const BufferUse> buffers, std::size_t given, const KernelSizes& sizes,
                           std::uint64_t seed);

}  // namespace strata::tools
