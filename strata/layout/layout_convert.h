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
/// modes[j](i[j] - begin[j]).
struct PlacedLayout {
  std::vector<Layout> modes;  ///< one for each dimension
  Int offset = 0;
  Ints shape, begin;

  /// The modes as one layout over the coordinates inside the valid box; a single mode by itself.
  Layout layout() const { return make_layout(modes); }
};

/// The layout whose dimensions are the modes of `l`, every index valid.
PlacedLayout place(const Layout& l, const Int& offset = 0);

/// `v` as a layout. Nothing when no index is valid (a layout has at least one), or when symbolic
/// sizes leave that open.
std::optional<PlacedLayout> to_layout(const View& v);
/// `st` as a layout. Nothing unless the valid indices form a non-empty box, and each dimension can
/// be split into leaves such that addresses are linear in all of them. Exact for numbers, within
/// `budget` steps for each question; for symbolic sizes only as far as it is shown.
std::optional<PlacedLayout> to_layout(const ShapeTracker& st, std::uint64_t budget = kMergeBudget);

/// The View with the same index function; nothing unless each mode coalesces to one leaf.
std::optional<View> to_view(const PlacedLayout& l);
std::optional<View> to_view(const Layout& l, const Int& offset = 0);
/// The stack with the same index function: one View, or a View over the leaves and a second one over
/// the dimensions when a mode has several leaves.
ShapeTracker to_shape_tracker(const PlacedLayout& l);

}  // namespace strata
