// form_of(): x * 0.3 and x * 0.7 as one kernel, which loads the number; y[3] and y[5] as one, which gets the offset.
// Internal to engine/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "strata/dtype/scalar.h"
#include "strata/graph/lazy_op.h"
#include "strata/runtime/device.h"

namespace strata {

/// A kernel whose numbers and offsets are arguments.
struct KernelForm {
  LazyOp kernel;                ///< loads each number from a buffer of one element, behind the kernel's own
  std::vector<Scalar> numbers;  ///< one for each of these buffers
  std::vector<std::pair<std::string, std::int64_t>> offsets = {};  ///< the values of further variables of `kernel`
};

/// How products and sums of floats become one operation, which rounds once.
enum class Contraction : std::uint8_t {
  none,          ///< not at all
  of_additions,  ///< additions of products are fma in the code; a compiler may contract what is left
  by_compilers,  ///< as a compiler likes
};

/// That of the device's kernels.
Contraction contraction_of(const Device& device);

/// `kernel` with arguments, in an order that does not depend on their values:
/// - its floats: operands of arithmetic, comparisons and choices, and values that are stored. 0, 1, -1 and 2 stay, and
///   integers, on which indices depend; operands of operations on numbers alone; and all floats where a compiler may
///   contract a product with a number in the code otherwise than one with an argument;
/// - the offsets of LOADs through one View of numbers, within the buffer, from buffers that the kernel does not write;
///   and of a STORE, where it is the only access to its buffer. Where stores may bypass the caches, which needs whole
///   cache lines, it is a multiple of a line or stays.
/// Nothing where no argument is left, or more than 16 numbers or 8 offsets are. With the Opts of `kernel` the results
/// are its own, bit by bit. @param values of the kernel's variables
std::optional<KernelForm> form_of(const LazyOp& kernel, const Values& values = {},
                                  Contraction contraction = Contraction::none);

}  // namespace strata
