// What a movement op does to the indices of a tensor: indices of its result to indices of its operand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "strata/codegen/axes.h"

namespace strata {

/// An index of a tensor, by expressions over loop variables.
struct Coordinates {
  std::vector<Expr> idxs;
  Expr valid;            ///< where the element counts: memory is not touched elsewhere
  bool is_zero = false;  ///< the element has to be 0 where `valid` is not; else it may be anything there
  Expr around =
      1;  ///< the loops of reductions that it is asked for in, as far as their sizes are symbolic: counter < size

  bool operator==(const Coordinates& o) const {
    return is_zero == o.is_zero && same(valid, o.valid) && same(around, o.around) &&
           std::equal(idxs.begin(), idxs.end(), o.idxs.begin(), o.idxs.end(),
                      [](const Expr& a, const Expr& b) { return same(a, b); });
  }
};

/// A node at an index: the value of one of its elements, or of a vector of them.
struct IndexedNode {
  const LazyNode* node;
  Coordinates at;
  bool operator==(const IndexedNode&) const = default;
};
struct HashIndexedNode {
  std::size_t operator()(const IndexedNode& k) const {
    std::size_t h = std::hash<const void*>()(k.node) + (k.at.is_zero ? 1 : 0);
    for (const Expr& e : k.at.idxs) h = h * 1000003 + std::hash<const void*>()(e.node());
    h = h * 1000003 + std::hash<const void*>()(k.at.valid.node());
    return h * 1000003 + std::hash<const void*>()(k.at.around.node());
  }
};

/// The index of n.src[0] whose element stands at `at` in `n`. `simple` is movement_of(n), simplified; it is asked for only
/// where dimensions are regrouped. @pre is_movement(n.op)
Coordinates moved(const LazyNode& n, Coordinates at, const ShapeTracker& simple);

/// Sets the indices that output axes `of` run over, or (those of a group) those that `places` names: axis of[k] is at at[k].
void set_dims(std::vector<Expr>& idxs, std::span<const std::int64_t> positions,
              std::span<const std::size_t> of, std::span<const Expr> at, const KernelAxes& axes);

/// That of no dimensions.
const ShapeTracker& no_tracker();

}  // namespace strata
