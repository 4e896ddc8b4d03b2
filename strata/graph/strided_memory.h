// strided_memory(): describes a node that is realized memory seen through movement ops by shape, strides and offset.
// Used to export tensors and to read elements on the host without running a kernel.
#pragma once

#include <cstdint>
#include <optional>

#include "strata/graph/lazy_op.h"

namespace strata {

/// A strided layout in the memory of a realized node.
struct StridedMemory {
  LazyOp memory;  ///< realized
  Index shape;
  /// In elements, of any sign; 0 where a dimension repeats. A dimension of size 1, and all where there are no elements,
  /// have row-major strides, as other libraries expect.
  Index strides;
  std::int64_t offset = 0;  ///< of the element at index 0, in elements
};
/// The layout of `node` where `node` is a chain of movement ops over a realized node, sizes are numbers, and one set of
/// strides without padding describes the chain; else nothing. With `through_copies` the chain may also contain copies
/// (CONTIGUOUS, FROM). Runs nothing.
std::optional<StridedMemory> strided_memory(const LazyOp& node, bool through_copies = false);

}  // namespace strata
