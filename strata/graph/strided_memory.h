// Nodes that are memory seen through movement: how the elements lie there.
#pragma once

#include <cstdint>
#include <optional>

#include "strata/graph/lazy_op.h"

namespace strata {

/// Elements of a realized node by strides.
struct StridedMemory {
  LazyOp memory;  ///< realized
  Index shape;
  Index strides;  ///< in elements, of any sign; 0 where a dimension repeats; row-major where there is one index or none
  std::int64_t offset = 0;  ///< of the element at index 0
};
/// `node`, where it is movement of a realized node (or, `through_copies`, of copies of one) that strides describe, and sizes are
/// numbers. Nothing runs.
std::optional<StridedMemory> strided_memory(const LazyOp& node, bool through_copies = false);

}  // namespace strata
