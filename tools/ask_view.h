// The questions about views that `strata view` and `strata batch` answer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/view/shape_tracker.h"
#include "tools/ask.h"

namespace strata::tools {

/// The argument of a movement operation: a number (a size, an axis, a step) or a pair of them a dimension.
struct Movement {
  Ints numbers;
  Padding pairs;
};

/// Pairs of begin and end as a mask.
Mask to_mask(const Padding& pairs);

struct MovementOp {
  std::string_view name;
  bool takes_pairs;
  ShapeTracker (*apply)(const ShapeTracker&, const Movement&);
};

/// All movement operations.
std::span<const MovementOp> movement_ops();
const MovementOp* find_movement(std::string_view name);

/// `stack` after one operation.
ShapeTracker apply_movement(const ShapeTracker& stack, const MovementOp& op,
                            const Movement& movement, Work& work);

/// `stack` in the fewest Views.
ShapeTracker simplified(const ShapeTracker& stack, Work& work);

/// A part of a box: half-open, one a dimension.
using Window = std::vector<std::pair<std::int64_t, std::int64_t>>;
/// @throws Error (shape) unless the window lies in a box of shape `shape`.
void check_window(const Window& window, const Index& shape);

struct ViewQuestion {
  ShapeTracker stack;
  bool simplify = true;
  bool addresses = false;
  std::optional<std::vector<std::string>> idxs = {};  ///< names of the indices, ridx0, ridx1, ... by default
  std::optional<Window> window = {};  ///< whose addresses are asked for; all where there is none
  std::int64_t invalid = -1;          ///< what stands for no address
};

struct ViewAnswer {
  ShapeTracker stack;  ///< simplified where that was asked
  std::vector<std::string> names;
  std::vector<Expr> idxs;  ///< a variable over each dimension, 0 where its size is at most 1
  IndexExprs index;
  std::vector<std::optional<Int>> real_strides;
  std::optional<Int> real_size;         ///< nothing where symbolic sizes leave it open
  std::vector<std::int64_t> addresses;  ///< row-major, of the window
};

/// @throws Error (shape) for another number of names than dimensions, (parse) for what is no name or is there twice,
///   (budget) before the work is done.
ViewAnswer ask_view(const ViewQuestion& question, Work& work);

/// `at`, and another valid index with its address; nothing where that is not found within `work`.
std::optional<std::pair<Index, Index>> ask_same_address(const ShapeTracker& stack, const Index& at,
                                                        const Work& work);

struct ViewsDiffer {
  std::optional<Index> at;  ///< nothing where the shapes differ
};
/// Nothing when the two stacks have one shape and one index function.
/// @throws Error (budget) when that was not decided.
std::optional<ViewsDiffer> ask_equal_view(const ShapeTracker& a, const ShapeTracker& b, Work& work);

}  // namespace strata::tools
