// ShapeTracker: a stack of Views, from memory (first) to the user's indices (last).
//
// It means the composition of its Views' index functions: the address that one View gives is unravelled, row-major, into an index of
// the View below: digit t is (address // product of the later sizes) % size. An index is valid iff every mask on the way
// holds it. `index` is that definition; everything else is derived from it.
//
// A movement operation rewrites the top View alone; reshape appends a View where the top alone cannot say it; only
// simplify() merges.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "strata/view/view.h"

namespace strata {

/// The index that is number `flat` of `shape` in row-major order. A size that can be 0 counts as 1 there.
std::vector<Expr> unravel(const Expr& flat, const Ints& shape);

/// The definition: address and validity of `idxs`, an index of the last View.
/// @throws Error (shape) unless there is one index a dimension and one View at least.
IndexExprs index(std::span<const View> views, std::span<const Expr> idxs);

/// A stack of Views, that of memory first: what movement operations have made of a shape.
class ShapeTracker {
 public:
  /// One contiguous View. @throws Error (shape, overflow) as View::create.
  static ShapeTracker from_shape(Ints shape);
  /// @throws Error (shape) when there is no View.
  explicit ShapeTracker(std::vector<View> views);

  const std::vector<View>& views() const { return views_; }
  const Ints& shape() const { return views_.back().shape(); }
  std::size_t rank() const { return shape().size(); }
  /// Number of indices.
  Int size() const { return views_.back().size(); }
  /// True iff there is one View and it is contiguous.
  bool contiguous() const { return views_.size() == 1 && views_[0].contiguous(); }
  /// True iff there is one View without a mask whose strides are those of its shape: a run of memory, from any offset.
  bool consecutive() const;
  bool is_concrete() const;

  // Movement: as View's, on the top View. Each throws what View's does. A temporary is changed in place; when that
  // fails, it is not to be used any more.
  ShapeTracker permute(const Axes& order) const& { return ShapeTracker(*this).permute(order); }
  ShapeTracker reshape(const Ints& shape) const&;
  ShapeTracker expand(const Ints& shape) const& { return ShapeTracker(*this).expand(shape); }
  ShapeTracker pad(const Padding& padding) const& { return ShapeTracker(*this).pad(padding); }
  ShapeTracker shrink(const Mask& bounds) const& { return ShapeTracker(*this).shrink(bounds); }
  ShapeTracker flip(const Axes& axes) const& { return ShapeTracker(*this).flip(axes); }
  ShapeTracker stride(const Ints& steps) const& { return ShapeTracker(*this).stride(steps); }
  ShapeTracker permute(const Axes& order) &&;
  ShapeTracker reshape(const Ints& shape) &&;
  ShapeTracker expand(const Ints& shape) &&;
  ShapeTracker pad(const Padding& padding) &&;
  ShapeTracker shrink(const Mask& bounds) &&;
  ShapeTracker flip(const Axes& axes) &&;
  ShapeTracker stride(const Ints& steps) &&;
  /// This stack seen through another: the views of `a`, then those of `b`. @throws Error (shape) unless b's addresses
  /// are indices of a: at least 0 and below a's size (for symbolic sizes: unless that is shown); (budget)
  friend ShapeTracker operator+(const ShapeTracker& a, const ShapeTracker& b);

  /// The same function in the fewest Views that exact merges over contiguous groups give: one View iff there is one.
  /// Idempotent. What cannot be decided (symbolic sizes, the work budget) stays as it was.
  ShapeTracker simplify() const;
  /// Why simplify() cannot make one View of this: the carry, the dimension and a witness; empty when it can.
  std::string why_not_merged() const;
  /// A View that says the same wherever `condition` (over the sizes' variables) holds, for symbolic sizes where no View
  /// does it for all: what a run-time test may choose. Nothing where none is known.
  struct Guarded {
    Expr condition;
    View view;
  };
  std::optional<Guarded> guarded_view() const;

  /// Address and validity over variables idx0, idx1, ..., or over given expressions, of the stack as it stands; the
  /// address simplified under its validity, and both under the indices being inside the shape. Texts:
  /// `((idx0*3)+idx1)`, `1`.
  IndexExprs expr_idxs() const;
  IndexExprs expr_idxs(std::span<const Expr> idxs) const;
  /// The same over ridx0, ridx1, ..., in the notation of UOps.
  IndexedUOps to_indexed_uops() const;
  IndexedUOps to_indexed_uops(std::span<const Expr> idxs) const;

  /// For each dimension the d with address(i + e_j) == address(i) + d wherever both are valid, nothing where there is none;
  /// 0 where no two are. Without `ignore_valid` also nothing where validity depends on i_j. Also nothing where symbolic
  /// sizes or the work budget leave it open.
  std::vector<std::optional<Int>> real_strides(bool ignore_valid = false) const;
  /// 1 + the largest address of a valid index, 0 when there is none (or it is negative): elements that memory must have.
  /// @throws Error (undefined) where symbolic sizes leave it open, (budget)
  Int real_size() const;
  /// Dimensions whose real stride, as real_strides() has it, is 1.
  Axes unit_stride_axes(bool ignore_valid = false) const;
  /// True iff validity depends on the axis: a valid and an invalid index differ in that coordinate alone. (For symbolic
  /// sizes: iff the validity is written with it.) @throws Error (shape) for an axis outside of the rank, (budget)
  bool axis_is_masked(std::int64_t axis) const;
  /// The stack that takes addresses back to indices' row-major numbers, of shape `out_shape` (that of the memory); invalid
  /// at addresses that no valid index has. Nothing unless each View, here or after simplify(), has an inverse over what
  /// is below it that is one View: in that shape (View::invert) or in that of its own steps (View::inverse).
  std::optional<ShapeTracker> invert(const Ints& out_shape) const;

  std::vector<Variable> vars() const;
  /// The values of the bound variables. @throws Error (domain) where one variable is bound to two values.
  Values var_vals() const;
  /// Bound variables replaced by plain ones, and their values.
  std::pair<ShapeTracker, Values> unbind() const;
  /// Every expression with variables replaced. @throws what View::create throws.
  ShapeTracker substitute(const Substitution& map) const;

  /// `ShapeTracker(views=(View(...), View(...)))`
  std::string render() const;
  std::size_t hash() const;
  /// True iff written the same; `equal` (equal.h) compares meanings.
  friend bool operator==(const ShapeTracker& a, const ShapeTracker& b) {
    return a.views_ == b.views_;
  }

 private:
  std::vector<View> views_;
};

}  // namespace strata
