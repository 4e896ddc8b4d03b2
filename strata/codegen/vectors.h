// Indices along the lanes of a vector, and ops between values of which some are vectors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "strata/codegen/index_uops.h"
#include "strata/view/view.h"

namespace strata {

/// The c with index(lane + 1) == index(lane) + c, where the index is a sum with the lane as a term; 0 where it does not depend
/// on the lane; nothing else.
std::optional<std::int64_t> stride_along(const Expr& index, const Lanes& lanes);

/// The same with the lanes from last to first.
IndexExprs mirrored(const IndexExprs& at, const Lanes& lanes);

/// The bytes of a vector of `dtype`, where they are a power of two from 16 on and `first`, the element at which it begins, is
/// a multiple of its lanes: then it begins at a multiple of them if its buffer does.
std::optional<std::int64_t> whole_bytes(const Expr& first, DType dtype);

/// Ops of a graph between scalars and vectors: scalars are made as wide as the others.
class LaneOps {
 public:
  /// `made` gets each ALU that alu() makes.
  LaneOps(UOpGraph& graph, std::vector<UOp>& made) : graph_(graph), made_(made) {}

  UOp alu(Ops op, std::vector<UOp> operands);
  UOp widened(UOp value, int lanes);
  /// The lanes from last to first.
  UOp reversed(UOp vector);
  /// Pairs of parts, then pairs of these, until there is one.
  UOp folded(Ops op, std::vector<UOp> parts);
  /// The lanes of `value`, folded.
  UOp across(Ops op, UOp value, int lanes);
  static int most_lanes(std::span<const UOp> values);

 private:
  UOpGraph& graph_;
  std::vector<UOp>& made_;
};

}  // namespace strata
