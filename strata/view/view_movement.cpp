// Movement operations other than reshape. Each makes a new View according to its postcondition in view.h.
//
// Every valid address of a result is a valid address of the View it is made from. So only the offset and the number of
// elements are checked for overflow.

#include <utility>

#include "strata/view/size_ops.h"
#include "strata/view/view.h"

namespace strata {
namespace {

std::string dimensions(std::size_t n) { return detail::message(n, n == 1 ? " dimension" : " dimensions"); }

void check_rank(std::string_view operation, std::size_t given, const Ints& shape) {
  STRATA_CHECK(given == shape.size(), shape, "[", operation, "] ", dimensions(given), " given, shape ", render(shape),
               " has ", shape.size());
}

// Checks that `axes` holds dimensions of `shape`, each at most once.
void check_axes(std::string_view operation, const Axes& axes, const Ints& shape) {
  SmallVec<bool, 8> seen(shape.size(), false);
  for (const std::int64_t axis : axes) {
    const bool inside = axis >= 0 && std::cmp_less(axis, shape.size());
    STRATA_CHECK(inside, shape, "[", operation, "] ", axis, " is not a dimension of ", render(shape));
    bool& mark = seen[static_cast<std::size_t>(axis)];
    STRATA_CHECK(!mark, shape, "[", operation, "] dimension ", axis, " of ", render(shape), " is named twice");
    mark = true;
  }
}

// The mask of `size` copies of a dimension of size 1: everything or nothing.
Extent expanded(const Extent& one, const Int& size) {
  if (one == Extent{0, 1}) return {0, size};
  const Expr valid = one.begin.expr() <= 0 && one.end.expr() > 0;
  return {0, Int(select(valid, size.expr(), 0))};
}

// @pre step < 0. Sizes are below 2^63, so the steps 2^63 and 2^63 - 1 keep the same indices.
Int negated_step(const Int& step) { return step == Int(kNegInf) ? Int(kPosInf) : -step; }

}  // namespace

void View::permute_here(const View& from, const Axes& order) {
  check_rank("permute", order.size(), shape_);
  check_axes("permute", order, shape_);
  for (std::size_t k = 0; k < rank(); ++k) {
    const auto j = static_cast<std::size_t>(order[k]);
    shape_[k] = from.shape_[j];
    strides_[k] = from.strides_[j];
    if (mask_) (*mask_)[k] = (*from.mask_)[j];
  }
  decide_contiguous();
}

void View::expand_here(const Ints& shape) {
  STRATA_CHECK(shape.size() == rank(), shape, "[expand] cannot expand ", strata::render(shape_), ", ",
               dimensions(rank()), ", to ", strata::render(shape), ", ", dimensions(shape.size()));
  check_sizes("expand", shape);
  SmallVec<bool, 8> grows;
  for (std::size_t j = 0; j < rank(); ++j) {
    grows.push_back(!surely_equal(shape_[j], shape[j]));
    STRATA_CHECK(!grows[j] || surely_equal(shape_[j], 1), shape, "[expand] dimension ", j, ": cannot expand size ",
                 shape_[j].render(), " of ", strata::render(shape_), " to size ", shape[j].render(), " of ",
                 strata::render(shape));
  }
  for (std::size_t j = 0; j < rank(); ++j) {
    if (!grows[j]) continue;
    shape_[j] = shape[j];
    if (mask_ && !is_nowhere()) (*mask_)[j] = expanded((*mask_)[j], shape[j]);
  }
  canonicalize("expand");
}

void View::pad_here(const Padding& padding) {
  check_rank("pad", padding.size(), shape_);
  const bool masked = mask_.has_value();
  if (!masked) mask_.emplace();
  for (std::size_t j = 0; j < rank(); ++j) {
    const auto& [before, after] = padding[j];
    STRATA_CHECK(surely_at_most(0, before) && surely_at_most(0, after), shape, "[pad] dimension ", j, ": padding (",
                 before.render(), ", ", after.render(), ") of size ", shape_[j].render(), " is negative",
                 before.is_number() && after.is_number() ? "" : ", or is not shown to be at least 0");
    if (!masked) mask_->push_back({before, plus_product("pad", shape_[j], 1, before)});
    shape_[j] = plus_product("pad", plus_product("pad", shape_[j], 1, before), 1, after);
    if (before == Int(0)) continue;
    if (masked) (*mask_)[j].begin += before;
    if (masked) (*mask_)[j].end += before;
    if (!(strides_[j] == Int(0))) offset_ = plus_product("pad", offset_, strides_[j], -before);
  }
  check_sizes("pad", shape_);
  canonicalize("pad");
}

void View::shrink_here(const Mask& bounds) {
  check_rank("shrink", bounds.size(), shape_);
  for (std::size_t j = 0; j < rank(); ++j) {
    const auto& [begin, end] = bounds[j];
    STRATA_CHECK(surely_at_most(0, begin) && surely_at_most(begin, end) && surely_at_most(end, shape_[j]), shape,
                 "[shrink] dimension ", j, ": bounds (", begin.render(), ", ", end.render(), ") are not inside (0, ",
                 shape_[j].render(), ")");
    shape_[j] = end - begin;
  }
  if (has_no_index(shape_)) return become_nowhere();
  for (std::size_t j = 0; j < rank(); ++j) {
    const Int& begin = bounds[j].begin;
    if (!(strides_[j] == Int(0))) offset_ = plus_product("shrink", offset_, strides_[j], begin);
    if (!mask_) continue;
    auto& [low, high] = (*mask_)[j];
    low = larger(low - begin, 0);
    high = larger(smaller(high - begin, shape_[j]), low);
  }
  canonicalize("shrink");
}

void View::flip_here(std::string_view operation, const Axes& axes) {
  check_axes(operation, axes, shape_);
  for (const std::int64_t axis : axes) {
    const auto j = static_cast<std::size_t>(axis);
    if (mask_ && !is_nowhere()) {
      auto& [begin, end] = (*mask_)[j];
      std::swap(begin, end);
      begin = shape_[j] - begin;
      end = shape_[j] - end;
    }
    if (strides_[j] == Int(0)) continue;
    offset_ = plus_product(operation, offset_, strides_[j], shape_[j] - 1);
    strides_[j] = plus_product(operation, 0, strides_[j], -1);
  }
  decide_contiguous();
}

void View::stride_here(const Ints& steps) {
  check_rank("stride", steps.size(), shape_);
  Axes backwards;
  for (std::size_t j = 0; j < rank(); ++j) {
    const bool down = surely_less(steps[j], 0);
    STRATA_CHECK(down || surely_less(0, steps[j]), shape, "[stride] dimension ", j, " of ", strata::render(shape_),
                 ": step ", steps[j].render(), " is 0", steps[j].is_number() ? "" : ", or its sign is not known");
    if (down) backwards.push_back(static_cast<std::int64_t>(j));
  }
  flip_here("stride", backwards);
  for (std::size_t j = 0, b = 0; j < rank(); ++j) {
    const bool down = b < backwards.size() && static_cast<std::size_t>(backwards[b]) == j;
    if (down) ++b;
    take_every(j, down ? negated_step(steps[j]) : steps[j]);
  }
  canonicalize("stride");
}

// Keeps every step-th index along `axis`. @pre step > 0
void View::take_every(std::size_t axis, const Int& step) {
  if (step == Int(1)) return;
  shape_[axis] = ceil_quotient(shape_[axis], step);
  Int begin = 0, end = shape_[axis];
  if (mask_) {
    auto& valid = (*mask_)[axis];
    begin = valid.begin = ceil_quotient(valid.begin, step);
    end = valid.end = ceil_quotient(valid.end, step);
  }
  if (strides_[axis] == Int(0)) return;
  if (!plainly_at_most(end, begin + 1)) {
    strides_[axis] = plus_product("stride", 0, strides_[axis], step);
  } else {  // at most one index is left, so its step does not matter
    if (!(begin == end)) offset_ = plus_product("stride", offset_, strides_[axis], begin * step);
    strides_[axis] = 0;
  }
}

View View::permute(const Axes& order) const {
  View v = *this;
  v.permute_here(*this, order);
  return v;
}
View View::expand(const Ints& shape) const {
  View v = *this;
  v.expand_here(shape);
  return v;
}
View View::pad(const Padding& padding) const {
  View v = *this;
  v.pad_here(padding);
  return v;
}
View View::shrink(const Mask& bounds) const {
  View v = *this;
  v.shrink_here(bounds);
  return v;
}
View View::flip(const Axes& axes) const {
  View v = *this;
  v.flip_here("flip", axes);
  return v;
}
View View::stride(const Ints& steps) const {
  View v = *this;
  v.stride_here(steps);
  return v;
}

}  // namespace strata
