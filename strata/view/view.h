// View: shape, strides, offset and mask; what movement operations do to it.
//
// A View *means* its index function: index tuple -> (address, valid). For an index i inside the shape
//   address(i) = offset + sum strides[j] * i[j],   valid(i) = mask[j].begin <= i[j] < mask[j].end for all j.
// Everything else is derived from that, and tested against it. Sizes, strides, offsets and mask ends are numbers or
// expressions over bounded variables (Int); what an operation needs to know of expressions has to hold for every
// value inside their bounds, and is refused otherwise.
//
// Form. A View is canonical: stride 0 (its share folded into the offset) where a dimension or its mask has extent at
// most 1; no mask where the mask is the whole shape; strides and offset 0, mask ((0, 0), ...) where nothing is valid;
// strides and offset 0 and no mask where there is no index (a size is 0). For numbers, equal functions of one shape are
// equal Views.
//
// Views are values; a failed operation leaves everything as it was. Rank is not capped. Sizes 0 are legal.
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
/// True iff `valid` is written as the whole of a dimension of `size`.
inline bool is_full(const Extent& valid, const Int& size) {
  return valid.begin == Int(0) && valid.end == size;
}
/// One Extent a dimension.
using Mask = SmallVec<Extent, 6>;
/// How much to add before and after, one pair a dimension.
using Padding = SmallVec<std::pair<Int, Int>, 6>;
/// Dimensions, from 0.
using Axes = SmallVec<std::int64_t, 6>;

/// An integer or a condition that prints in the notation of the specification's UOps: a condition that is constant is
/// `True` or `False`.
struct IndexedUOp {
  Expr expr;
  bool is_condition = false;
  std::string render() const;
  /// The indented tree of ops, one node a line.
  std::string tree() const;
};
/// An address, and whether it is valid.
struct IndexedUOps {
  IndexedUOp index, valid;
};
/// An address and whether it is valid (a condition).
struct IndexExprs {
  Expr index, valid;
};

class ShapeTracker;
struct Single;

/// A shape with strides, an offset and a mask.
class View {
 public:
  /// Row-major strides where none are given. Canonical.
  /// @throws Error (shape) for a negative size, another number of strides or mask pairs than dimensions, a mask outside
  ///   of the shape or with begin > end; (overflow) where the number of elements, or the address of a valid index,
  ///   leaves 64 bits. A mask end over a symbolic size has to be inside it for one value at least.
  static View create(Ints shape, std::optional<Ints> strides = std::nullopt, Int offset = 0,
                     std::optional<Mask> mask = std::nullopt);

  const Ints& shape() const { return shape_; }
  const Ints& strides() const { return strides_; }
  const Int& offset() const { return offset_; }
  const std::optional<Mask>& mask() const { return mask_; }
  /// True iff address(i) is i's row-major number, for every index, and all are valid. (For symbolic sizes: as written.)
  bool contiguous() const { return contiguous_; }
  std::size_t rank() const { return shape_.size(); }
  /// Number of indices: the product of the shape.
  Int size() const { return product(shape_); }
  /// True iff shape, strides, offset and mask are numbers.
  bool is_concrete() const;

  // --- movement; below, v is this View and w the result; i ranges over w's indices ---
  /// @post w(i) == v(j) with j[order[k]] == i[k]
  /// @throws Error (shape) unless `order` holds each dimension once.
  View permute(const Axes& order) const;
  /// The same elements in row-major order in another shape: w(i) == v(j) where i and j have the same row-major number.
  /// Nothing where no single View says it (or where that cannot be shown: symbolic sizes, or beyond the work budget):
  /// a View without dimensions, for one, cannot be invalid.
  /// @throws Error (shape) for a negative size, or where the numbers of elements differ (or cannot be shown equal).
  std::optional<View> reshape(const Ints& shape) const;
  /// Repeats dimensions of size 1: w(i) == v(i with 0 where v's size is 1 and w's is not).
  /// @throws Error (shape) for another rank, a negative size, or where a size other than 1 would change.
  View expand(const Ints& shape) const;
  /// w(i) == v(i - before) inside, invalid outside. @throws Error (shape) for another rank or a negative padding.
  View pad(const Padding& padding) const;
  /// w(i) == v(i + begin), of shape end - begin. @throws Error (shape) unless 0 <= begin <= end <= size everywhere.
  View shrink(const Mask& bounds) const;
  /// w(i) == v(size - 1 - i) along `axes`. @throws Error (shape) for an axis outside of the rank, or twice.
  View flip(const Axes& axes) const;
  /// Every |step|-th index, from the last one backwards where step < 0: w(i) == v(i * step), or
  /// v(size - 1 - i * -step); the size is ceil(size / |step|). @throws Error (shape) for another rank or a step 0.
  View stride(const Ints& steps) const;

  // --- questions ---
  /// The View without dimensions of size 1 and with dimensions joined where their strides continue one another (and
  /// no mask is between): the same addresses in the same row-major order, in as few dimensions as possible.
  View minify() const;
  /// The View w of shape `out_shape` (that of the memory) with w(address(i)) == row-major number of i for every valid i,
  /// and invalid at every other address. Exact for numbers: nothing where two valid indices have one address, an address
  /// is not inside of the memory, or no single View (of 64-bit numbers) says it. Symbolic sizes: nothing unless this View
  /// is seen to be a permutation (with flips) of all the memory's elements. O(rank * log rank).
  /// @throws Error (shape, overflow) for sizes that no shape may have.
  std::optional<View> invert(const Ints& out_shape) const;
  /// The same for a memory of `elements` elements in the shape of this View's steps: a dimension for each run of
  /// addresses, in order, and one for a gap below them. Nothing also where a step does not divide the next one, or the
  /// last one `elements`.
  std::optional<View> inverse(const Int& elements) const;
  /// Two Views in a stack, memory first, as one: result(i) == lower(unravelled upper(i)). Nothing where no single View says it.
  friend std::optional<View> operator+(const View& lower, const View& upper);

  /// Address and validity of the index `idxs`; nowhere valid where a size is 0.
  /// @throws Error (shape) unless there is one a dimension.
  IndexExprs expr(std::span<const Expr> idxs, const Expr& valid = 1) const;
  /// The same over variables ridx0, ridx1, ... that run over the shape.
  IndexedUOps to_indexed_uops() const;
  IndexedUOps to_indexed_uops(std::span<const Expr> idxs) const;

  /// The variables that sizes, strides, offset and mask are written with, in natural order.
  std::vector<Variable> vars() const;
  /// Bound variables replaced by plain ones, and their values. @throws Error (domain) where one has two values.
  std::pair<View, Values> unbind() const;
  /// Every expression with variables replaced. @throws what create throws.
  View substitute(const Substitution& map) const;

  /// `View(shape=(2, 3), strides=(1, 2), offset=0, mask=None, contiguous=False)`
  std::string render() const;
  std::size_t hash() const;
  friend bool operator==(const View& a, const View& b) {
    return a.shape_ == b.shape_ && a.strides_ == b.strides_ && a.offset_ == b.offset_ &&
           a.mask_ == b.mask_;
  }

 private:
  View() = default;
  /// Row-major, everything valid. @pre sizes are at least 0, their product fits in 64 bits
  static View row_major(const Ints& shape);
  void become_row_major();  ///< keeps the shape. @pre as row_major; nothing but the shape is set
  /// What `single` says of the indices of `shape`. @pre single.found == Answer::yes
  static View of(const Single& single, const Ints& shape);
  // merge.h
  friend View to_view(const Single& single, const Ints& shape);
  /// Gives the members their canonical form. @pre sizes are at least 0, masks have one Extent a dimension, and addresses
  ///   of valid indices fit in 64 bits. @throws Error (overflow) in the name of `operation` where the offset does not.
  void canonicalize(std::string_view operation);
  /// Canonical where no index is valid, or there is none.
  void become_nowhere();
  void decide_contiguous();
  /// True iff there are indices, and none is valid.
  bool is_nowhere() const;
  Extent extent(std::size_t axis) const { return mask_ ? (*mask_)[axis] : Extent{0, shape_[axis]}; }
  // Movement of this object; where it fails, the object is not to be used any more.
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

/// Variables name0, name1, ... that run over `shape`; 0 for a dimension of size 0 or 1. A symbolic size gives the
/// variable the upper bound's range.
std::vector<Expr> index_variables(const Ints& shape, std::string_view name);

}  // namespace strata
