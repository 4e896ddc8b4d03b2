// Vectorization helpers: strides of an index along the lanes, and LaneOps, ops on mixtures of scalars and vectors.
// Internal to codegen/.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "strata/codegen/decompose.h"
#include "strata/codegen/index_uops.h"
#include "strata/view/view.h"

namespace strata {

/// The constant c, in elements, with index(lane + 1) == index(lane) + c: 0 where the index does not depend on the lane,
/// the coefficient where the index is a sum with the lane as a term. Nothing for other indices, e.g. lane // 2: the
/// access is a gather or a scatter.
std::optional<std::int64_t> stride_along(const Expr& index, const Lanes& lanes);

/// `at` with the lanes in reverse order: lane k becomes lane count - 1 - k. An index of stride -1 becomes one of
/// stride 1.
IndexExprs mirrored(const IndexExprs& at, const Lanes& lanes);

/// The size in bytes of a vector of `dtype` that begins at element `first`, if the size is a power of two >= 16 and
/// `first` is proven to be a multiple of the lanes; else nothing. The vector is then aligned to its size where the
/// buffer is, which a streaming store tests at run time.
std::optional<std::int64_t> whole_bytes(const Expr& first, DType dtype);

/// Appends ops on mixtures of scalars and vectors: scalars are broadcast to the lanes of the vectors.
class LaneOps {
 public:
  /// `native`: the ops that the backend has. It must outlive this.
  LaneOps(UOpGraph& graph, const OpSet& native) : graph_(graph), native_(native) {}

  /// `op` on `operands`, broadcast to the lanes of the widest one: made by emit(), so that an op that
  /// is not native becomes its decomposition.
  UOp alu(Ops op, std::vector<UOp> operands);
  /// `value`; a scalar is broadcast to `lanes` lanes. @pre `value` has 1 or `lanes` lanes
  UOp widened(UOp value, int lanes);
  /// `vector` with its lanes in reverse order. @pre `vector` has more than one lane
  UOp reversed(UOp vector);
  /// Combines `parts` pairwise, as a balanced tree: (p0 op p1) op (p2 op p3). Of an odd number the last one moves up as
  /// it is.
  /// @pre !parts.empty()
  UOp folded(Ops op, std::vector<UOp> parts);
  /// folded() of the first `lanes` lanes of `value`: a scalar.
  UOp across(Ops op, UOp value, int lanes);
  /// The largest number of lanes among `values`; at least 1.
  static int most_lanes(std::span<const UOp> values);

 private:
  UOpGraph& graph_;
  const OpSet& native_;
};

}  // namespace strata
