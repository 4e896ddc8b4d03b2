// Merging stacks of Views: for numbers by the exact decision of single.h, for symbolic sizes by the same test on
// polynomials (sizes.h). Used by ShapeTracker::simplify, View::reshape and operator+ of Views. Internal to view/.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strata/view/shape_tracker.h"
#include "strata/view/strided.h"

namespace strata {

/// A View of numbers as a strided box. @throws Error (undefined) unless v.is_concrete()
Strided to_strided(const View& v);
std::vector<Strided> to_strided(std::span<const View> views);
/// `single` as a View of `shape`. @pre single.found == Answer::yes
inline View to_view(const Single& single, const Ints& shape) { return View::of(single, shape); }

struct Merge {
  Answer found = Answer::unknown;  ///< no: no View is the stack's function; unknown: not shown
  std::optional<View> view;
  Obstacle obstacle;       ///< for numbers, when no View was found
  std::uint64_t work = 0;  ///< how much of the budget was used
};
/// One View for the whole stack, memory first. With symbolic sizes, neighbours are merged pair by pair, in any order
/// that ends in one View. @throws Error (shape) for an empty stack.
Merge merge(std::span<const View> views, std::uint64_t budget = kMergeBudget);

/// The fewest Views that exact merges of neighbouring groups reach: a shortest path over mergeable groups. Idempotent.
/// Each round that lowers the number of Views takes at most twice kMergeBudget; groups beyond that budget stay apart.
std::vector<View> fewest_views(std::span<const View> views);

/// The one-piece test for symbolic sizes (symbolic_merge.cpp): the View that is right for every value of the variables
/// that satisfies `assumption`; nothing when this is not shown.
std::optional<View> merge_symbolic(const View& lower, const View& upper, const Expr& assumption = 1);
/// A condition under which merge_symbolic succeeds, with the resulting View; nothing when no condition is known.
std::optional<ShapeTracker::Guarded> merge_guarded(const View& lower, const View& upper);

/// The sentence that explains `obstacle` of the stack: what happens at the witness, and in which dimension of which
/// View (explain.cpp).
std::string explain(std::span<const View> views, const Obstacle& obstacle);

}  // namespace strata
