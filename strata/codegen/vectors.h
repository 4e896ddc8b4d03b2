// Vectorization helpers: strides of an index along the lanes, and LaneOps, ops on mixtures of scalars and vectors. Internal to codegen/.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "strata/codegen/index_uops.h"
#include "strata/view/view.h"

namespace strata {

/// The constant c with index(lane + 1) == index(lane) + c: 0 where the index does not depend on the lane, the coefficient where the index
/// is a sum with the lane as a term. Nothing for other indices.
std::optional<std::int64_t> stride_along(const Expr& index, const Lanes& lanes);

/// `at` with the lanes in reverse order: lane k becomes lane count - 1 - k.
IndexExprs mirrored(const IndexExprs& at, const Lanes& lanes);

/// The size in bytes of a vector of `dtype` that begins at element `first`, if it is a power of two >= 16 and `first` is a multiple of
/// the lanes, so that the vector is aligned to its size wherever its buffer is; else nothing.
std::optional<std::int64_t> whole_bytes(const Expr& first, DType dtype);

/// Appends ops on mixtures of scalars and vectors: scalars are broadcast to the lanes of the vectors.
class LaneOps {
 public:
  /// `made` gets each ALU that alu() makes.
  LaneOps(UOpGraph& graph, std::vector<UOp>& made) : graph_(graph), made_(made) {}

  /// `op` on `operands`, by emit().
  UOp alu(Ops op, std::vector<UOp> operands);
  /// `value`; a scalar is broadcast to `lanes` lanes.
  UOp widened(UOp value, int lanes);
  /// `vector` with its lanes in reverse order.
  UOp reversed(UOp vector);
  /// Combines `parts` pairwise, as a balanced tree: (p0 op p1) op (p2 op p3). @pre !parts.empty()
  UOp folded(Ops op, std::vector<UOp> parts);
  /// folded() of the lanes of `value`.
  UOp across(Ops op, UOp value, int lanes);
  /// The largest number of lanes among `values`.
  static int most_lanes(std::span<const UOp> values);

 private:
  UOpGraph& graph_;
  std::vector<UOp>& made_;
};

}  // namespace strata
