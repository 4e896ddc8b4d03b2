// Weights that are stored in fewer bits: tensors of f32 from outside of the function become f16 or int8 in the file,
// and the kernels widen what they load. Internal to export/.
//
// A weight is stored so if it has at least kFewestNarrow elements, and the dtype can hold them; others gain nothing, or
// lose too much: biases, scales, masks of -infinity.
//
// f16: all elements are finite and of at most 65504 in magnitude, the largest of them a normal number of f16 (2^-14 or
// more). Rounding is to nearest, ties to even. The bits h become f32 exactly: (h & 0x7fff) << 13, with the sign of h,
// has the exponent of h in place of that of f32, and is the number / 2^112; also a subnormal one.
//
// int8: blocks of 32 elements in the order of memory share a power of two (as MXINT8 of the Open Compute Project's
// Microscaling formats). An element is q * 2^e with |q| <= 127, to nearest, ties to even, and the least e at which the
// largest of the block is in that range: its error is at most 1/127 of the largest element. The exponents of all blocks
// lie in front of the q. All elements are finite and below 2^127 in magnitude, and the largest is 2^-100 or more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata::exporting {

constexpr std::size_t kFewestNarrow = 1024;

/// How the kernels find the elements of a slot.
struct Narrowing {
  DType dtype = {};           ///< that is stored; none: the elements are not narrow
  std::int64_t elements = 0;  ///< of f32

  bool is_narrow() const { return !dtype.is_none(); }
  bool operator==(const Narrowing& other) const = default;
};

/// The stored bytes of a weight.
struct NarrowWeight {
  Narrowing form;
  std::vector<std::byte> bytes;

  double element(std::size_t k) const;  ///< as a kernel widens it
};
/// The elements as `dtype`, f16 or int8; nothing where the elements stay f32.
std::optional<NarrowWeight> narrowed(std::span<const float> elements, DType dtype);

/// The kernel, where the LOADs of narrow slots load what is stored, and widen it. @param narrow by slot
LazyOp widening(const LazyOp& ast, const std::vector<Narrowing>& narrow);

}  // namespace strata::exporting
