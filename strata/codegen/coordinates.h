// Coordinates: the index at which lowering needs an element of a node, and moved(): how a movement op maps the index of
// its result to the index of its operand. Internal to codegen/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "strata/codegen/axes.h"

namespace strata {

/// An index of a tensor: an expression over loop variables for each dimension, and where the element is needed.
struct Coordinates {
  std::vector<Expr> idxs;
  Expr valid;  ///< the element is needed only where this holds; memory is not accessed elsewhere
  /// The element must be 0 where `valid` does not hold (below a PAD); else it is unspecified there.
  bool is_zero = false;
  Expr around = 1;  ///< the ranges, counter < size, of the surrounding reduction loops with symbolic sizes

  bool operator==(const Coordinates& o) const {
    return is_zero == o.is_zero && same(valid, o.valid) && same(around, o.around) &&
           std::equal(idxs.begin(), idxs.end(), o.idxs.begin(), o.idxs.end(),
                      [](const Expr& a, const Expr& b) { return same(a, b); });
  }
};

/// A node at an index: the unit of work of lowering, whose result is a UOp. Equal keys share one UOp.
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

/// The index of n.src[0] of the element that `n` has at `at`. @pre is_movement(n.op)
/// @param simple movement_of(n), simplified; used for RESHAPE and STRIDE only
Coordinates moved(const LazyNode& n, Coordinates at, const ShapeTracker& simple);

/// Sets the entries of `idxs` that the axes `of` enumerate; axis of[k] has the coordinate at[k]. For reduce axes,
/// `positions` lists the reduced dimensions, which the axes' `dims` count in; for output axes it is empty.
void set_dims(std::vector<Expr>& idxs, std::span<const std::int64_t> positions, std::span<const std::size_t> of,
              std::span<const Expr> at, const KernelAxes& axes);

/// The dimensions of merged axes. A coordinate x of an axis of several dimensions becomes the digits of x, and the
/// index of a View that steps through these dimensions evenly is that of x itself: 64*i + 16 of a row-major tensor,
/// whose digits (64*i + 16) / 160, (64*i + 16) / 5 % 32, (64*i + 16) % 5 no rule would put together again.
class MergedDims {
 public:
  explicit MergedDims(const KernelAxes& axes) : axes_(axes) {}
  /// set_dims(), which notes the coordinates of merged axes for index().
  void set_dims(std::vector<Expr>& idxs, std::span<const std::int64_t> positions, std::span<const std::size_t> of,
                std::span<const Expr> at);
  /// st.expr_idxs(idxs), by the coordinates of merged axes where `st` has one View.
  IndexExprs index(const ShapeTracker& st, const std::vector<Expr>& idxs);

 private:
  /// A coordinate, and its digits.
  struct Digits {
    std::vector<Expr> digits;
    Expr coordinate;
  };
  /// Neighbouring dimensions, the first of which is `first`, and the coordinates in them: one for each copy.
  struct Run {
    std::size_t first;
    Ints sizes;
    std::vector<Digits> coordinates;
  };
  static bool has_digits(const Digits& d, std::span<const Expr> idxs) {
    return std::equal(d.digits.begin(), d.digits.end(), idxs.begin(),
                      [](const Expr& a, const Expr& b) { return same(a, b); });
  }
  const Expr* coordinate_of(const Run& run, const ShapeTracker& st, const std::vector<Expr>& idxs) const;

  const KernelAxes& axes_;
  std::vector<Run> runs_;
};

/// `of` with the variables of `map` replaced.
std::vector<Expr> substituted(std::vector<Expr> of, const Substitution& map);

/// True iff the reduction `n` combines no elements: its operand has a size of 0.
bool has_no_terms(const LazyNode& n);

/// A ShapeTracker without dimensions: the `simple` of moved() for ops that do not use it.
const ShapeTracker& no_tracker();

}  // namespace strata
