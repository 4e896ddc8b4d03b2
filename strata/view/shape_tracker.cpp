// ShapeTracker: movement on the top View, merging, inverses, index expressions.

#include "strata/view/shape_tracker.h"

#include <algorithm>

#include "strata/view/merge.h"
#include "strata/view/size_ops.h"
#include "strata/view/stack_facts.h"

namespace strata {

ShapeTracker ShapeTracker::from_shape(Ints shape) {
  std::vector<View> views;
  views.reserve(2);  // room for the second View that a reshape may push
  views.push_back(View::create(std::move(shape)));
  return ShapeTracker(std::move(views));
}

ShapeTracker::ShapeTracker(std::vector<View> views) : views_(std::move(views)) {
  STRATA_CHECK(!views_.empty(), shape, "[shapetracker] there is no View");
}

bool ShapeTracker::consecutive() const {
  return views_.size() == 1 && View::row_major(shape()).strides() == views_[0].strides() && !views_[0].mask();
}

bool ShapeTracker::is_concrete() const {
  return std::all_of(views_.begin(), views_.end(), [](const View& v) { return v.is_concrete(); });
}

// --- movement ---

ShapeTracker ShapeTracker::permute(const Axes& order) && {
  const View from = views_.back();
  views_.back().permute_here(from, order);
  return std::move(*this);
}
ShapeTracker ShapeTracker::expand(const Ints& shape) && {
  views_.back().expand_here(shape);
  return std::move(*this);
}
ShapeTracker ShapeTracker::pad(const Padding& padding) && {
  views_.back().pad_here(padding);
  return std::move(*this);
}
ShapeTracker ShapeTracker::shrink(const Mask& bounds) && {
  views_.back().shrink_here(bounds);
  return std::move(*this);
}
ShapeTracker ShapeTracker::flip(const Axes& axes) && {
  views_.back().flip_here("flip", axes);
  return std::move(*this);
}
ShapeTracker ShapeTracker::stride(const Ints& steps) && {
  views_.back().stride_here(steps);
  return std::move(*this);
}

ShapeTracker ShapeTracker::reshape(const Ints& shape) && {
  if (std::optional<View> top = views_.back().reshape(shape)) {
    views_.back() = *std::move(top);
  } else {
    views_.push_back(View::row_major(shape));
  }
  return std::move(*this);
}

ShapeTracker ShapeTracker::reshape(const Ints& shape) const& {
  std::optional<View> top = views_.back().reshape(shape);
  std::vector<View> views;
  views.reserve(views_.size() + 1);
  views.insert(views.end(), views_.begin(), views_.end() - (top ? 1 : 0));
  views.push_back(top ? *std::move(top) : View::row_major(shape));
  return ShapeTracker(std::move(views));
}

ShapeTracker operator+(const ShapeTracker& a, const ShapeTracker& b) {
  const AddressRange range = address_range(b, "+");
  STRATA_CHECK(range.nowhere || (surely_at_most(0, range.lo) && surely_less(range.hi, a.size())), shape,
               "[+] addresses ", range.lo.render(), " to ", range.hi.render(), " of ", b.render(),
               " are not inside (0, ", a.size().render(), "), the indices of shape ", render(a.shape()));
  std::vector<View> views = a.views_;
  views.insert(views.end(), b.views_.begin(), b.views_.end());
  return ShapeTracker(std::move(views));
}

// --- merging ---

ShapeTracker ShapeTracker::simplify() const { return views_.size() == 1 ? *this : ShapeTracker(fewest_views(views_)); }

std::string ShapeTracker::why_not_merged() const {
  if (views_.size() == 1) return "";
  const Merge merged = merge(views_);
  return merged.found == Answer::yes ? "" : explain(views_, merged.obstacle);
}

std::optional<ShapeTracker::Guarded> ShapeTracker::guarded_view() const {
  const ShapeTracker simple = simplify();
  Guarded out{1, simple.views_[0]};
  for (std::size_t k = 1; k < simple.views_.size(); ++k) {
    const View& upper = simple.views_[k];
    if (std::optional<View> one = merge_symbolic(out.view, upper, out.condition)) {
      out.view = *std::move(one);
    } else if (std::optional<Guarded> guarded = merge_guarded(out.view, upper)) {
      out.condition = out.condition && guarded->condition;
      out.view = std::move(guarded->view);
    } else {
      return std::nullopt;
    }
  }
  return out;
}

namespace {

// The inverse of a stack, View by View from the top down: each View takes addresses to row-major numbers of the View
// above.
std::optional<ShapeTracker> inverse_of(std::span<const View> stack, const Ints& memory) {
  std::vector<View> views;
  for (std::size_t k = stack.size(); k-- > 0;) {
    const Ints& below = k == 0 ? memory : stack[k - 1].shape();
    std::optional<View> inverse;
    if (stack[k].is_concrete()) inverse = stack[k].invert(below);
    if (!inverse) inverse = stack[k].inverse(product(below));
    if (!inverse) return std::nullopt;
    views.push_back(*std::move(inverse));
  }
  return ShapeTracker(std::move(views)).reshape(memory);
}

}  // namespace

std::optional<ShapeTracker> ShapeTracker::invert(const Ints& out_shape) const {
  check_sizes("invert", out_shape);
  std::optional<ShapeTracker> inverse = inverse_of(views_, out_shape);
  if (inverse || views_.size() == 1) return inverse;
  const ShapeTracker simple = simplify();
  return simple == *this ? std::nullopt : inverse_of(simple.views_, out_shape);
}

// --- index expressions ---

IndexExprs ShapeTracker::expr_idxs() const { return expr_idxs(index_variables(shape(), "idx")); }

namespace {

// The condition that every index is below its size. Sizes that are numbers are left out: the variables' bounds imply
// it.
Expr inside(const Ints& shape, std::span<const Expr> idxs) {
  std::vector<Expr> conditions;
  for (std::size_t j = 0; j < shape.size(); ++j)
    if (!shape[j].is_number()) conditions.push_back(idxs[j] < shape[j].expr());
  return all_of(conditions);
}

}  // namespace

IndexExprs ShapeTracker::expr_idxs(std::span<const Expr> idxs) const {
  IndexExprs at = index(views_, idxs);
  Expr given = at.valid;
  if (views_.size() > 1) {
    const Expr sizes = inside(shape(), idxs);
    if (!sizes.is_constant()) {
      at.valid = simplify_under(at.valid, sizes);
      given = at.valid && sizes;
    }
  }
  if (!given.is_constant()) at.index = simplify_under(at.index, given);
  return at;
}

IndexedUOps ShapeTracker::to_indexed_uops() const { return to_indexed_uops(index_variables(shape(), "ridx")); }

IndexedUOps ShapeTracker::to_indexed_uops(std::span<const Expr> idxs) const {
  const IndexExprs at = expr_idxs(idxs);
  return {{at.index, false}, {at.valid, true}};
}

// --- variables ---

std::vector<Variable> ShapeTracker::vars() const {
  std::vector<Variable> out;
  for (const View& v : views_) {
    const std::vector<Variable> of_v = v.vars();
    out.insert(out.end(), of_v.begin(), of_v.end());
  }
  return in_order(std::move(out));
}

Values ShapeTracker::var_vals() const {
  Values out;
  for (const Variable& v : vars())
    if (v.bound_value()) out.push_back(v.unbind());
  return in_order("var_vals", std::move(out));
}

std::pair<ShapeTracker, Values> ShapeTracker::unbind() const {
  Values values = var_vals();
  std::vector<View> views;
  views.reserve(views_.size());
  for (const View& v : views_) views.push_back(v.unbind().first);
  return {ShapeTracker(std::move(views)), std::move(values)};
}

ShapeTracker ShapeTracker::substitute(const Substitution& map) const {
  std::vector<View> views;
  views.reserve(views_.size());
  for (const View& v : views_) views.push_back(v.substitute(map));
  return ShapeTracker(std::move(views));
}

std::size_t ShapeTracker::hash() const {
  std::size_t h = views_.size();
  for (const View& v : views_) h = h * 31 + v.hash();
  return h;
}

}  // namespace strata
