// Reverse-mode differentiation of LazyOp graphs: a table with one gradient rule per op, and backpropagate(), which
// applies the rules from the result to its sources. The basis of Tensor::backward() and gradients().
//
// A rule builds graph nodes, so that gradients can be differentiated again. Ops without a row (comparisons, integer
// ops, rounding) have the gradient 0 wherever it is defined.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata {

/// Returns the gradient by each source of `y`, in order, given `dy`, the gradient by `y`. An absent gradient is 0.
using GradientRuleFunction = std::vector<std::optional<LazyOp>> (*)(const LazyOp& y, const LazyOp& dy);

/// A row of the table.
struct GradientRule {
  Ops op;
  std::string_view
      text;  ///< the gradients by the operands a, b, c in order, as formulas of a, b, c, y and dy: "dy*b, dy*a" for MUL
  GradientRuleFunction gradients;
};
/// The table, in the order of ops.def.
std::span<const GradientRule> gradient_rules();

/// The gradients of several results by `xs`: of the sum of the products of ys[k] and dys[k]. Nodes of `xs` are leaves:
/// a gradient by one of them does not flow on to another. Nothing for an x that is untracked, or that no y depends on.
/// @pre dys[k] has the shape and dtype of ys[k]
std::vector<std::optional<LazyOp>> backpropagate_to(std::span<const LazyOp> xs, std::span<const LazyOp> ys,
                                                    std::span<const LazyOp> dys);

namespace ops {
/// The gradients of a SCAN (loop.cpp).
std::vector<std::optional<LazyOp>> loop_gradients(const LazyOp& y, const LazyOp& dy);
/// The gradients of an ASSOCIATIVE_SCAN (cumulative.cpp).
std::vector<std::optional<LazyOp>> scan_gradients(const LazyOp& y, const LazyOp& dy);
/// The gradients of a SCATTER (scatter.cpp). @throws Error (domain) for products
std::vector<std::optional<LazyOp>> scatter_gradients(const LazyOp& y, const LazyOp& dy);
}  // namespace ops

/// Returns the gradient of `y`, times `dy`, by each tracked node of floats below y, y included. A node without an entry
/// has the gradient 0. Linear in the size of the graph; no recursion. @pre dy has y's shape and dtype
std::unordered_map<const LazyNode*, LazyOp> backpropagate(const LazyOp& y, const LazyOp& dy);
/// The same for `xs` and the nodes between y and them: nothing that no x depends on is differentiated, such as the
/// layers below an operand of y. A custom gradient that takes gradients itself needs this: with it, a chain of such
/// nodes costs a gradient for each; without it, each node would differentiate all nodes below, and they theirs.
std::unordered_map<const LazyNode*, LazyOp> backpropagate(const LazyOp& y, const LazyOp& dy,
                                                          std::span<const LazyOp> xs);

}  // namespace strata
