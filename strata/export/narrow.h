// Weights that are stored as f16: tensors of f32 from outside of the function become bits of f16 in the file, and the
// kernels widen what they load. Internal to export/.
//
// A weight becomes f16 if it has at least kFewestHalves elements, all finite and of at most 65504 in magnitude, the
// largest of them a normal number of f16 (2^-14 or more); others gain nothing, or f16 cannot hold them: biases, scales,
// masks of -infinity. Rounding is to nearest, ties to even.
//
// The bits h become f32 exactly: (h & 0x7fff) << 13, with the sign of h, has the exponent of h in place of that of f32,
// and is the number / 2^112; also a subnormal one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata::exporting {

constexpr std::size_t kFewestHalves = 1024;

/// The bits of the elements as f16; nothing where the elements stay f32.
std::optional<std::vector<std::uint16_t>> halves_of(std::span<const float> elements);

/// The kernel, where the LOADs of slots in `narrow` load bits of f16 and widen them. @param narrow by slot
LazyOp widening(const LazyOp& ast, const std::vector<bool>& narrow);

}  // namespace strata::exporting
