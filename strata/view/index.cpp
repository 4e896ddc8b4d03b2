// Index functions as expressions: one View, and the definition of a stack.

#include <algorithm>
#include <string>

#include "strata/view/shape_tracker.h"
#include "strata/view/size_ops.h"

namespace strata {

std::vector<Expr> index_variables(const Ints& shape, std::string_view name) {
  std::vector<Expr> out;
  for (std::size_t j = 0; j < shape.size(); ++j) {
    const std::int64_t last = shape[j].vmax() - 1;
    const std::string label = detail::message(name, j);
    out.push_back(last > 0 ? Expr(Variable(label, 0, last)) : Expr(0));
  }
  return out;
}

IndexExprs View::expr(std::span<const Expr> idxs, const Expr& valid) const {
  STRATA_CHECK(idxs.size() == rank(), shape, "[index] ", idxs.size(), " indices for shape ", strata::render(shape_),
               " of ", rank(), " dimensions");
  if (has_no_index(shape_)) return {0, 0};
  std::vector<Expr> terms{offset_.expr()};
  std::vector<Expr> conditions{valid};
  for (std::size_t j = 0; j < rank(); ++j) {
    if (!(strides_[j] == Int(0))) terms.push_back(idxs[j] * strides_[j].expr());
    const Extent valid_j = extent(j);
    if (!mask_ || valid_j == Extent{0, shape_[j]}) continue;
    conditions.push_back(idxs[j] >= valid_j.begin.expr());
    conditions.push_back(idxs[j] < valid_j.end.expr());
  }
  return {sum(terms), all_of(conditions)};
}

std::vector<Expr> unravel(const Expr& flat, const Ints& shape) {
  std::vector<Expr> out(shape.size());
  Int place = 1;
  for (std::size_t j = shape.size(); j-- > 0;) {
    // Where a symbolic size is 0 no index is valid, so the digits do not matter; 1 keeps the divisor positive.
    const Expr size = larger(shape[j], 1).expr();
    out[j] = flat / place.expr() % size;
    if (j != 0) place *= Int(size);
  }
  return out;
}

namespace {

// The condition that every size is above 0.
Expr has_indices(const Ints& shape) {
  std::vector<Expr> conditions;
  for (const Int& size : shape)
    if (!size.is_number()) conditions.push_back(size.expr() > 0);
  return all_of(conditions);
}

}  // namespace

IndexExprs index(std::span<const View> views, std::span<const Expr> idxs) {
  STRATA_CHECK(!views.empty(), shape, "[index] there is no View");
  IndexExprs at = views.back().expr(idxs);
  for (std::size_t k = views.size() - 1; k-- > 0;) {
    const View lower = views[k].minify();
    at = lower.expr(unravel(at.index, lower.shape()), at.valid && has_indices(lower.shape()));
  }
  return at;
}

IndexedUOps View::to_indexed_uops() const { return to_indexed_uops(index_variables(shape_, "ridx")); }

IndexedUOps View::to_indexed_uops(std::span<const Expr> idxs) const {
  const IndexExprs at = expr(idxs);
  return {{at.index, false}, {at.valid, true}};
}

}  // namespace strata
