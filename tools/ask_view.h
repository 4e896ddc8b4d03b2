// Questions about stacks of Views, for `strata view`, the box, and the requests `view` and `equal_view`: movement
// operations, the index expression, real strides and size, addresses, equality.
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

/// The argument of a movement operation: a number (a size, an axis, a step) or a pair of numbers for each dimension.
struct Movement {
  Ints numbers;
  Padding pairs;
};

/// The mask of pairs (begin, end).
Mask to_mask(const Padding& pairs);

/// A row of the table of movement operations.
struct MovementOp {
  std::string_view name;
  bool takes_pairs;
  ShapeTracker (*apply)(const ShapeTracker&, const Movement&);
};

/// reshape, permute, expand, pad, shrink, flip, stride.
std::span<const MovementOp> movement_ops();
/// The operation of that name; null if there is none.
const MovementOp* find_movement(std::string_view name);

/// `stack` after one operation. @throws as the operation; Error (budget)
ShapeTracker apply_movement(const ShapeTracker& stack, const MovementOp& op, const Movement& movement, Work& work);

/// stack.simplify(): the same function in as few Views as can be found. @throws Error (budget)
ShapeTracker simplified(const ShapeTracker& stack, Work& work);

/// A part of an index space: a half-open interval [begin, end) for each dimension.
using Window = std::vector<std::pair<std::int64_t, std::int64_t>>;
/// @throws Error (shape) unless the window lies inside `shape`
void check_window(const Window& window, const Index& shape);

struct ViewQuestion {
  ShapeTracker stack;
  bool simplify = true;
  bool addresses = false;
  std::optional<std::vector<std::string>> idxs = {};  ///< names of the indices; ridx0, ... by default
  std::optional<Window> window = {};                  ///< the part whose addresses are wanted; nothing: all
  std::int64_t invalid = -1;                          ///< the number that marks a masked index
};

struct ViewAnswer {
  ShapeTracker stack;  ///< simplified if question.simplify
  std::vector<std::string> names;
  std::vector<Expr> idxs;  ///< a variable over each dimension, 0 where its size is at most 1
  IndexExprs index;
  std::vector<std::optional<Int>> real_strides;
  std::optional<Int> real_size;         ///< nothing if it depends on symbolic sizes
  std::vector<std::int64_t> addresses;  ///< of the window, in row-major order
};

/// Answers the question. @throws Error (shape) if the number of names is not that of dimensions, (parse) for an illegal
///   or repeated name, (budget) before the work is done
ViewAnswer ask_view(const ViewQuestion& question, Work& work);

/// The pair of `at` and another valid index with the same address; nothing if none is found within the budget, or sizes
/// are symbolic.
std::optional<std::pair<Index, Index>> ask_same_address(const ShapeTracker& stack, const Index& at, const Work& work);

/// A witness that two stacks differ.
struct ViewsDiffer {
  std::optional<Index> at;  ///< an index with different addresses; nothing: the shapes differ
};
/// Nothing if both stacks have the same shape and the same index function; else a witness.
/// @throws Error (budget) if it cannot be decided within the budget
std::optional<ViewsDiffer> ask_equal_view(const ShapeTracker& a, const ShapeTracker& b, Work& work);

}  // namespace strata::tools
