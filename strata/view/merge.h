// Merging stacks of Views: numbers by the exact decision (single.h), symbolic sizes by the same test on polynomials.
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
/// What `single` says of the indices of `shape`. @pre single.found == Answer::yes
inline View to_view(const Single& single, const Ints& shape) { return View::of(single, shape); }

struct Merge {
  Answer found = Answer::unknown;  ///< yes: `view` says the stack; no: no View does; unknown: not shown
  std::optional<View> view;
  Obstacle obstacle;       ///< for numbers, when not found
  std::uint64_t work = 0;  ///< what it took of the budget
};
/// One View for the whole stack, memory first. Symbolic sizes: pairs of neighbours, in any order that ends in one View.
/// @throws Error (shape) when there is no View.
Merge merge(std::span<const View> views, std::uint64_t budget = kMergeBudget);

/// The fewest Views that exact merges over contiguous groups give (shortest path over groups). Idempotent; work: twice
/// kMergeBudget at most each time the number of Views falls, beyond which groups stay apart.
std::vector<View> fewest_views(std::span<const View> views);

/// The one-piece test on symbolic sizes: a View for every value of the variables, or nothing where that is not shown.
/// With `assumption`, for every value where it holds. (symbolic_merge.cpp)
std::optional<View> merge_symbolic(const View& lower, const View& upper, const Expr& assumption = 1);
/// The condition under which merge_symbolic would have succeeded, with the View; nothing where none is known.
std::optional<ShapeTracker::Guarded> merge_guarded(const View& lower, const View& upper);

/// The sentence for `obstacle` of the stack: what happens at the witness, and in which dimension of which View
/// (explain.cpp).
std::string explain(std::span<const View> views, const Obstacle& obstacle);

}  // namespace strata
