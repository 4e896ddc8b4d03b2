// Gradients of graphs: one rule for each op, applied from the result to what it was made of.
//
// What a rule gives is a graph again, so that gradients of gradients need nothing more. Ops without a row (comparisons, integer
// ops, rounding) have the gradient 0 wherever they have one.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata {

/// The gradients by the sources of `y`, given that by `y`; nothing where it is 0.
using GradientRuleFunction = std::vector<std::optional<LazyOp>> (*)(const LazyOp& y, const LazyOp& dy);

/// A row: an op, and the gradients by its sources.
struct GradientRule {
  Ops op;
  std::string_view text;  ///< by a, b, c in order, with y and dy
  GradientRuleFunction gradients;
};
/// The table, in the order of ops.def.
std::span<const GradientRule> gradient_rules();

/// The gradient of `y` (times `dy`) by every node below on the way to what is tracked. Nothing for nodes that it does not depend on.
/// Linear in the size of the graph; no recursion. @pre dy has y's shape and dtype
std::unordered_map<const LazyNode*, LazyOp> backpropagate(const LazyOp& y, const LazyOp& dy);

}  // namespace strata
