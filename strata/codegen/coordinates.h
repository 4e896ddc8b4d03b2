// What a movement op does to the indices of a tensor: indices of its result to indices of its operand.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "strata/codegen/axes.h"

namespace strata {

/// An index of a tensor, by expressions over loop variables.
struct Coordinates {
  std::vector<Expr> idxs;
  Expr valid;            ///< where the element counts: memory is not touched elsewhere
  bool is_zero = false;  ///< the element has to be 0 where `valid` is not; else it may be anything there
};

/// The index of n.src[0] whose element stands at `at` in `n`. `simple` is movement_of(n), simplified; it is asked for only
/// where dimensions are regrouped. @pre is_movement(n.op)
Coordinates moved(const LazyNode& n, Coordinates at, const ShapeTracker& simple);

/// Sets the indices that output axes `of` run over, or (those of a group) those that `places` names: axis of[k] is at at[k].
void set_dims(std::vector<Expr>& idxs, std::span<const std::int64_t> places,
              std::span<const std::size_t> of, std::span<const Expr> at, const KernelAxes& axes);

/// The index that is number `flat` of `shape` in row-major order.
std::vector<Expr> unravel(const Expr& flat, const Ints& shape);

}  // namespace strata
