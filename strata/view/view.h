// View: a strided window on memory (shape, strides, offset, mask), and the movement operations that make new Views from
// it. The compiler describes with Views how each kernel reads and writes its buffers; ShapeTracker stacks them.
//
// A View *means* its index function: index -> (address, valid). For an index i inside the shape
//   address(i) = offset + sum over j of strides[j] * i[j],
//   valid(i)   = mask[j].begin <= i[j] < mask[j].end for all j.
// Everything else is derived from this definition and tested against it. Sizes, strides, offsets and mask bounds are
// numbers or expressions over bounded variables (Int). A condition on expressions must hold for every value of their
// variables; a movement operation throws the same Error for a condition that is not shown as for one that is false.
// (`create` is milder: it takes a mask that is inside the shape for some of the values.)
//
// Form. A View is canonical:
// - a dimension has stride 0 (its share is folded into the offset) where its size or its mask has extent at most 1;
// - a mask that covers the whole shape is dropped;
// - where no index is valid: strides and offset 0, mask ((0, 0), ...);
// - where there is no index (a size is 0): strides and offset 0, no mask.
// Two Views of numbers with one shape and one index function are therefore equal.
//
// Views are values; a failed operation changes nothing. Rank is not capped. Size 0 is legal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/view/int.h"

namespace strata {

/// A half-open interval [begin, end) of the indices of one dimension.
struct Extent {
  Int begin, end;
  friend bool operator==(const Extent&, const Extent&) = default;
};
/// True iff `valid` is written as [0, size): the whole dimension.
inline bool is_full(const Extent& valid, const Int& size) { return valid.begin == Int(0) && valid.end == size; }
/// The valid box: one Extent for each dimension.
using Mask = SmallVec<Extent, 6>;
/// How many indices to add before and after: one pair for each dimension.
using Padding = SmallVec<std::pair<Int, Int>, 6>;
/// Dimension numbers, counted from 0.
using Axes = SmallVec<std::int64_t, 6>;

/// An integer or a condition that prints in the notation of the specification's UOps: a constant condition prints as
/// `True` or `False`.
struct IndexedUOp {
  Expr expr;
  bool is_condition = false;
  std::string render() const;
  /// The indented tree of ops, one node a line.
  std::string tree() const;
};
/// An address and whether it is valid, for printing as UOps.
struct IndexedUOps {
  IndexedUOp index, valid;
};
/// An address and whether it is valid (a condition), as expressions.
struct IndexExprs {
  Expr index, valid;
};

class ShapeTracker;
struct Single;

/// A shape with strides, an offset and a mask, in canonical form. Means the index function at the top of this file.
class View {
 public:
  /// A View in canonical form; row-major strides when none are given.
  /// @throws Error (shape) for a size that is not (shown to be) at least 0, for a number of strides or mask pairs other
  ///   than the rank, or for a mask that is outside the shape or has begin > end for every value of the variables;
  ///   (overflow) when the number of elements, or the address of a valid index, does not fit in 64 bits.
  static View create(Ints shape, std::optional<Ints> strides = std::nullopt, Int offset = 0,
                     std::optional<Mask> mask = std::nullopt);

  const Ints& shape() const { return shape_; }
  const Ints& strides() const { return strides_; }
  const Int& offset() const { return offset_; }
  const std::optional<Mask>& mask() const { return mask_; }
  /// True iff every index is valid and address(i) is the row-major number of i. (For symbolic sizes: true iff the
  /// strides are written as the row-major ones; false promises nothing.)
  bool contiguous() const { return contiguous_; }
  std::size_t rank() const { return shape_.size(); }
  /// The number of indices: the product of the shape.
  Int size() const { return product(shape_); }
  /// True iff shape, strides, offset and mask are numbers.
  bool is_concrete() const;

  // --- movement. Below, v is this View, w the result, i any index of w; `w(i) == v(j)` means: both are invalid, or
  // both are valid with one address. Every operation may also throw Error (overflow): the offset, a stride or the
  // number of elements of w does not fit in 64 bits. ---
  /// Reorders dimensions: dimension k of w is dimension order[k] of v, e.g. permute({1, 0}) transposes.
  /// @post w(i) == v(j) with j[order[k]] == i[k].
  /// @throws Error (shape) unless `order` holds each dimension once.
  View permute(const Axes& order) const;
  /// The same elements in the same row-major order in another shape: w(i) == v(j) where i and j have the same row-major
  /// number, e.g. (2, 6) to (3, 4). Nothing when no single View is that function (a ShapeTracker then adds a second
  /// View), or when this cannot be shown for symbolic sizes or within the work budget. A View without dimensions has no
  /// mask, so an invalid element cannot be reshaped to shape ().
  /// @throws Error (shape) for a negative size, or when the numbers of elements differ or are not shown to be equal.
  std::optional<View> reshape(const Ints& shape) const;
  /// Repeats dimensions of size 1, e.g. (3, 1) expands to (3, 4): w(i) == v(i with 0 in the repeated dimensions).
  /// @throws Error (shape) for another rank, a negative size, or a change of a size other than 1.
  View expand(const Ints& shape) const;
  /// Adds invalid indices around: w(i) == v(i - before) inside, invalid outside, e.g. padding (1, 2) makes size 3 to 6.
  /// @throws Error (shape) for another rank, or for a padding that is not (shown to be) at least 0.
  View pad(const Padding& padding) const;
  /// Keeps the indices [begin, end): w(i) == v(i + begin), of shape end - begin.
  /// @throws Error (shape) for another rank, or unless 0 <= begin <= end <= size in each dimension.
  View shrink(const Mask& bounds) const;
  /// Reverses `axes`: w(i) == v(size - 1 - i) along them. @throws Error (shape) for an axis outside the rank or named
  /// twice.
  View flip(const Axes& axes) const;
  /// Keeps every |step|-th index, from the last one backwards where step < 0: w(i) == v(i * step), or
  /// v(size - 1 - i * -step). The size becomes ceil(size / |step|), e.g. size 5 with step 2 keeps indices 0, 2, 4.
  /// @throws Error (shape) for another rank or a step 0.
  View stride(const Ints& steps) const;

  // --- questions ---
  /// The same addresses in the same row-major order in fewer dimensions: dimensions of size 1 that the mask leaves
  /// whole are dropped, and neighbours are joined where their strides continue one another and the mask allows it, e.g.
  /// shape (2, 3) with strides (3, 1) becomes (6) with (1). A View whose mask admits no index becomes one dimension.
  View minify() const;
  /// The inverse: the View w of shape `out_shape` (the shape of the memory) with w(address(i)) == row-major number of i
  /// for every valid i, and invalid at every other address. Exact for numbers: nothing when two valid indices share an
  /// address, when an address is outside the memory, or when no single View (of 64-bit numbers) is the inverse. For
  /// symbolic sizes: nothing unless this View is seen to be a permutation (with flips) of all elements of the memory.
  /// O(rank * log rank). @throws Error (shape, overflow) for sizes that no shape may have.
  std::optional<View> invert(const Ints& out_shape) const;
  /// As invert, for a memory of `elements` elements in a shape that the View's own address steps give: one dimension
  /// for each run of addresses, the largest step first, and a last one for the gap below a smallest step above 1. E.g.
  /// shape (2, 3) with strides (8, 2) in 16 elements has an inverse of shape (2, 4, 2). Nothing also when a step does
  /// not divide the next larger one, or the largest does not divide `elements`. @throws Error (shape) for elements < 0.
  std::optional<View> inverse(const Int& elements) const;
  /// A stack of two Views, `lower` next to the memory, as one View of upper's shape: result(i) == lower(j), where j is
  /// the index whose row-major number is the address upper(i) (modulo lower.size()); invalid where upper(i) or lower(j)
  /// is. Nothing when no single View is that function, or when this is not shown or decided (symbolic sizes, work
  /// budget, 64 bits).
  friend std::optional<View> operator+(const View& lower, const View& upper);

  /// Address and validity of the index `idxs` as expressions: the result's `valid` is the mask's condition and `valid`.
  /// Whether `idxs` is inside the shape is not checked. Invalid everywhere when a size is 0.
  /// @throws Error (shape) unless there is one index for each dimension; (overflow) as Expr's operators.
  IndexExprs expr(std::span<const Expr> idxs, const Expr& valid = 1) const;
  /// The same over variables ridx0, ridx1, ... that run over the shape, or over `idxs`, for printing as UOps.
  IndexedUOps to_indexed_uops() const;
  IndexedUOps to_indexed_uops(std::span<const Expr> idxs) const;

  /// The variables that occur in sizes, strides, offset and mask, in natural order.
  std::vector<Variable> vars() const;
  /// The View with every bound variable (a variable that carries a value, as `n` bound to 8) replaced by the same
  /// variable without a value; and the values that were bound.
  /// @throws Error (domain) when one variable is bound to two values.
  std::pair<View, Values> unbind() const;
  /// The View with variables replaced in every expression. Mask bounds beyond the shape are cut off. @throws as create
  /// for sizes and addresses.
  View substitute(const Substitution& map) const;

  /// `View(shape=(2, 3), strides=(1, 2), offset=0, mask=None, contiguous=False)`
  std::string render() const;
  std::size_t hash() const;
  friend bool operator==(const View& a, const View& b) {
    return a.shape_ == b.shape_ && a.strides_ == b.strides_ && a.offset_ == b.offset_ && a.mask_ == b.mask_;
  }

 private:
  View() = default;
  /// A row-major View with every index valid. @pre sizes are at least 0, their product fits in 64 bits
  static View row_major(const Ints& shape);
  void become_row_major();  ///< keeps the shape. @pre as row_major; only the shape is set
  /// `single` as a View of `shape`. @pre single.found == Answer::yes
  static View of(const Single& single, const Ints& shape);
  // merge.h
  friend View to_view(const Single& single, const Ints& shape);
  /// Brings the members into canonical form. @pre sizes are at least 0, the mask has one Extent for each dimension, and
  ///   addresses of valid indices fit in 64 bits. @throws Error (overflow), named after `operation`, when the offset
  ///   does not fit.
  void canonicalize(std::string_view operation);
  /// Sets the canonical form for a shape without a valid index, or without any index.
  void become_nowhere();
  void decide_contiguous();
  /// True iff there are indices and none of them is valid.
  bool is_nowhere() const;
  Extent extent(std::size_t axis) const { return mask_ ? (*mask_)[axis] : Extent{0, shape_[axis]}; }
  // Movement in place. After a failure the object must not be used.
  friend class ShapeTracker;
  void permute_here(const View& from, const Axes& order);  ///< @pre this is a copy of `from`
  void expand_here(const Ints& shape);
  void pad_here(const Padding& padding);
  void shrink_here(const Mask& bounds);
  void flip_here(std::string_view operation, const Axes& axes);
  void stride_here(const Ints& steps);
  void take_every(std::size_t axis, const Int& step);
  std::optional<View> symbolic_inverse() const;  ///< @pre the memory has size() elements
  struct Regroup;
  template <class Visit>
  void for_each_size(const Visit& visit) const;
  template <class Change>
  View changed(const Change& change) const;

  Ints shape_, strides_;
  Int offset_;
  std::optional<Mask> mask_;
  bool contiguous_ = false;
};

/// Variables name0, name1, ... that run over `shape`; the constant 0 for a dimension of size 0 or 1. For a symbolic
/// size the variable's range goes up to the largest size.
std::vector<Expr> index_variables(const Ints& shape, std::string_view name);

}  // namespace strata
