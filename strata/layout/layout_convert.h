// Between Views and Layouts.
//
// A View has one stride a dimension, and a valid box; a Layout has a hierarchy inside a dimension.
// PlacedLayout has both: a layout for each dimension, over the valid box. So it says every View,
// and those stacks of Views that are one hierarchical layout: the most common ones (reshapes of
// permutations).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "strata/layout/layout.h"
#include "strata/view/shape_tracker.h"
#include "strata/view/single.h"

namespace strata {

/// An index i of `shape` is valid iff begin[j] <= i[j] < begin[j] + size(modes[j]) for all j; its
/// address is offset + sum over j of modes[j](i[j] - begin[j]).
struct PlacedLayout {
  std::vector<Layout> modes;  ///< one a dimension
  Int offset = 0;
  Ints shape, begin;

  /// The modes as one layout: of a coordinate inside the valid box. (Of one mode: that mode.)
  Layout layout() const { return make_layout(modes); }
};

/// The modes of `l` as dimensions, everything valid.
PlacedLayout place(const Layout& l, const Int& offset = 0);

/// Nothing where no index is valid (a layout has at least one), or symbolic sizes leave that open.
std::optional<PlacedLayout> to_layout(const View& v);
/// Nothing unless the valid indices are a box (and there is one), and each dimension can be refined
/// so that addresses are linear in all of its leaves. For numbers exact, within `budget` steps a
/// question; for symbolic sizes as far as it is shown.
std::optional<PlacedLayout> to_layout(const ShapeTracker& st, std::uint64_t budget = kMergeBudget);

/// The View that says the same; nothing unless each mode coalesces to one leaf.
std::optional<View> to_view(const PlacedLayout& l);
std::optional<View> to_view(const Layout& l, const Int& offset = 0);
/// One View over the leaves, and one over the dimensions where a mode has several leaves.
/// @post its index function is that of `l`
ShapeTracker to_shape_tracker(const PlacedLayout& l);

}  // namespace strata
