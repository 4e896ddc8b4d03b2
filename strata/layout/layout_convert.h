// Conversions between Views and Layouts, through PlacedLayout.
//
// A View has one stride for each dimension, and a valid box; a Layout has a hierarchy inside a
// dimension, and no box. A PlacedLayout has both: one layout for each dimension, over the valid box.
// It can express every View with a valid index, and those stacks of Views that are one hierarchical
// layout; the most common such stacks are reshapes of permutations.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "strata/layout/layout.h"
#include "strata/view/shape_tracker.h"
#include "strata/view/single.h"

namespace strata {

/// An offset, a shape, a valid box and a layout for each dimension. An index i of `shape` is valid
/// iff begin[j] <= i[j] < begin[j] + size(modes[j]) for all j; its address is offset + sum over j of
/// modes[j](i[j] - begin[j]). So `offset` is the address of the box's lower corner `begin`, not of
/// index 0 as in a View.
struct PlacedLayout {
  std::vector<Layout> modes;  ///< one for each dimension
  Int offset = 0;
  Ints shape, begin;

  /// The modes as one layout over the coordinates inside the valid box, without `offset`; a single
  /// mode by itself.
  Layout layout() const { return make_layout(modes); }
};

/// The layout whose dimensions are the modes of `l`, every index valid: shape[j] = size of mode j.
/// A leaf is one dimension, `():()` none.
PlacedLayout place(const Layout& l, const Int& offset = 0);

/// `v` as a layout: one leaf `extent:stride` for each dimension, where extent is the mask's. Nothing
/// when no index is valid (a layout has at least one), or when symbolic sizes leave that open.
/// @throws Error (overflow) when the address at the box's lower corner does not fit in 64 bits
std::optional<PlacedLayout> to_layout(const View& v);
/// `st` as a layout. Nothing unless the valid indices form a non-empty box, and each dimension can
/// be split into leaves such that addresses are linear in all of them. Exact for numbers, unless a
/// question needs more than `budget` steps, which gives nothing, too. For symbolic sizes: nothing
/// unless `st` simplifies to one View, or its Views have no masks and offsets and their layouts
/// compose.
std::optional<PlacedLayout> to_layout(const ShapeTracker& st, std::uint64_t budget = kMergeBudget);

/// The View with the same index function; nothing unless each mode coalesces to one leaf, e.g.
/// (2,3):(1,2) to 6:1. @throws as View::create, e.g. when the valid box leaves `shape`
std::optional<View> to_view(const PlacedLayout& l);
/// The same for place(l, offset): one dimension for each mode of `l`.
std::optional<View> to_view(const Layout& l, const Int& offset = 0);
/// The stack with the same index function: one View, or a View over the leaves and a second one over
/// the dimensions when a mode has several leaves.
ShapeTracker to_shape_tracker(const PlacedLayout& l);

}  // namespace strata
