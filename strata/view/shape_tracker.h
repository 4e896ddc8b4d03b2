// ShapeTracker: a stack of Views, from memory (first) to the user's indices (last). It records movement operations
// without copying an element; the compiler turns it into index expressions.
//
// A stack *means* the composition of its Views' index functions. The address that one View gives is unravelled,
// row-major, into an index of the View below: digit t is (address // product of the later sizes) % size. An index is
// valid iff every mask on the way down holds it. The function `index` is this definition in code; everything else is
// derived from it.
//
// A movement operation rewrites the top View alone. `reshape` pushes a second View when no single View is the result.
// Only simplify() merges Views.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "strata/view/view.h"

namespace strata {

/// The index with row-major number `flat` in `shape`, e.g. flat 7 in shape (3, 4) gives (1, 3). A symbolic size that
/// can be 0 counts as at least 1.
std::vector<Expr> unravel(const Expr& flat, const Ints& shape);

/// The definition of a stack: address and validity of `idxs`, an index of the last View.
/// @throws Error (shape) for an empty stack, or unless there is one index for each dimension.
IndexExprs index(std::span<const View> views, std::span<const Expr> idxs);

/// A stack of Views, memory first. Means the composition at the top of this file.
class ShapeTracker {
 public:
  /// One contiguous View of `shape`. @throws Error (shape, overflow) as View::create.
  static ShapeTracker from_shape(Ints shape);
  /// @throws Error (shape) for an empty list of Views.
  explicit ShapeTracker(std::vector<View> views);

  const std::vector<View>& views() const { return views_; }
  const Ints& shape() const { return views_.back().shape(); }
  std::size_t rank() const { return shape().size(); }
  /// The number of indices.
  Int size() const { return views_.back().size(); }
  /// True iff the stack is one contiguous View.
  bool contiguous() const { return views_.size() == 1 && views_[0].contiguous(); }
  /// True iff the stack is one View with row-major strides and no mask: a dense run of memory, at any offset.
  bool consecutive() const;
  bool is_concrete() const;

  // Movement: View's operations, applied to the top View; each throws as View's does. On a temporary the operation
  // works in place; after a failure the temporary must not be used.
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
  /// Stack `b` seen on top of stack `a`: the Views of `a`, then those of `b`. @throws Error (shape) unless every
  /// address of b is shown to be an index of a: at least 0 and below a's size; (undefined) when symbolic sizes leave
  /// the range of b's addresses open; (budget).
  friend ShapeTracker operator+(const ShapeTracker& a, const ShapeTracker& b);

  /// The same function in the fewest Views that exact merges of neighbouring Views reach; one View whenever one View is
  /// the function. Idempotent. Views stay apart where symbolic sizes or the work budget leave a merge undecided.
  ShapeTracker simplify() const;
  /// Why simplify() cannot make one View: the dimension that carries, and a witness. Empty when simplify() gives one
  /// View.
  std::string why_not_merged() const;
  /// A View that equals the stack wherever `condition` (over the sizes' variables) holds. For symbolic sizes where no
  /// single View is right for all values: a run-time test of the condition may choose the View. Nothing when no
  /// condition is known.
  struct Guarded {
    Expr condition;
    View view;
  };
  std::optional<Guarded> guarded_view() const;

  /// Address and validity over variables idx0, idx1, ..., or over `idxs`, e.g. `((idx0*3)+idx1)` and `1`. Views are not
  /// merged first. The address is simplified under its validity, and both under the condition that every index is
  /// inside the shape.
  IndexExprs expr_idxs() const;
  IndexExprs expr_idxs(std::span<const Expr> idxs) const;
  /// The same over ridx0, ridx1, ..., or over `idxs`, in the notation of UOps.
  IndexedUOps to_indexed_uops() const;
  IndexedUOps to_indexed_uops(std::span<const Expr> idxs) const;

  /// The address step along each dimension j: the d with address(i + e_j) == address(i) + d whenever both indices are
  /// valid (e_j is one step along j). 0 when no two such neighbours are valid; nothing when no single d fits. Without
  /// `ignore_valid` also nothing where validity depends on i_j. Nothing, too, where symbolic sizes or the work budget
  /// leave the question open.
  std::vector<std::optional<Int>> real_strides(bool ignore_valid = false) const;
  /// The number of elements that the memory must have: 1 + the largest address of a valid index; 0 when no index is
  /// valid or that address is negative. @throws Error (undefined) when symbolic sizes leave the range open; (budget).
  Int real_size() const;
  /// The dimensions whose step, as real_strides() gives it, is 1.
  Axes unit_stride_axes(bool ignore_valid = false) const;
  /// True iff validity depends on `axis`: a valid and an invalid index differ in that coordinate alone. (For symbolic
  /// sizes: iff the variable of `axis` occurs in the validity.)
  /// @throws Error (shape) for an axis outside the rank; (budget).
  bool axis_is_masked(std::int64_t axis) const;
  /// The inverse stack, of shape `out_shape` (the shape of the memory): takes each address to the row-major number of
  /// its index; invalid at addresses that no valid index has. It is built View by View; nothing unless each View (of
  /// this stack, or of simplify()) has an inverse that is one View, by View::invert or View::inverse.
  std::optional<ShapeTracker> invert(const Ints& out_shape) const;

  std::vector<Variable> vars() const;
  /// The values of the bound variables. @throws Error (domain) where one variable is bound to two values.
  Values var_vals() const;
  /// The stack with every bound variable replaced by the same variable without a value; and the values that were bound.
  std::pair<ShapeTracker, Values> unbind() const;
  /// The stack with variables replaced in every expression. @throws as View::create.
  ShapeTracker substitute(const Substitution& map) const;

  /// `ShapeTracker(views=(View(...), View(...)))`
  std::string render() const;
  std::size_t hash() const;
  /// True iff both stacks are written the same; `equal` (equal.h) compares the functions.
  friend bool operator==(const ShapeTracker& a, const ShapeTracker& b) { return a.views_ == b.views_; }

 private:
  std::vector<View> views_;
};

}  // namespace strata
