// Conversions that the bindings of View and ShapeTracker share (view.cpp, shape_tracker.cpp).
#pragma once

#include <utility>
#include <vector>

#include "python/src/expr_casters.h"
#include "strata/view/shape_tracker.h"

namespace strata::python {

/// An Expr that prints in the notation of the specification's UOps. Operators on it give a plain Expr.
struct IndexedExpr : Expr {
  IndexedExpr(const IndexedUOp& indexed) : Expr(indexed.expr), is_condition(indexed.is_condition) {}
  IndexedUOp indexed() const { return {*this, is_condition}; }
  bool is_condition;
};

using IndexList = std::optional<std::vector<ExprArg>>;
using ExprPair = std::pair<ExprResult, ExprResult>;
using IndexedPair = std::pair<IndexedExpr, IndexedExpr>;

inline ExprPair expr_pair_of(const IndexExprs& e) { return {{e.index}, {e.valid}}; }
inline IndexedPair expr_pair_of(const IndexedUOps& e) { return {e.index, e.valid}; }

/// Masks and bounds are sequences of pairs (begin, end) in Python, like paddings.
inline Mask mask_of_pairs(const Padding& pairs) {
  Mask out;
  for (const auto& [begin, end] : pairs) out.push_back({begin, end});
  return out;
}
inline std::optional<Mask> mask_of_pairs(const std::optional<Padding>& pairs) {
  return pairs ? std::optional<Mask>(mask_of_pairs(*pairs)) : std::nullopt;
}
inline std::optional<Padding> pairs_of_mask(const std::optional<Mask>& mask) {
  if (!mask) return std::nullopt;
  Padding out;
  for (const Extent& e : *mask) out.push_back({e.begin, e.end});
  return out;
}

}  // namespace strata::python
