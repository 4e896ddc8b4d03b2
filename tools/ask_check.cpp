// Proofs about texts in the box.
#include "tools/ask_check.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "strata/base/quotes.h"
#include "strata/base/sort_few.h"
#include "strata/expr/parse.h"
#include "strata/layout/layout_convert.h"
#include "strata/view/equal.h"

namespace strata::tools {
namespace {

/// A function of coordinates: a stack of Views, or an index with its validity.
struct BoxFunction {
  std::optional<ShapeTracker> stack;
  std::vector<Variable> axes;   ///< the coordinates; for a stack with made-up names
  std::vector<Variable> sizes;  ///< the variables that are not coordinates
  Expr index = 0, valid = 1;
  Expr given = 1;  ///< the condition under which coordinates are in the domain
};

/// A name that no text can have, because names in texts begin with a letter or a single `_`.
std::string made_up_name(std::size_t axis, std::string_view suffix) { return detail::message("__axis", axis, suffix); }

const Layout& layout_in(const Box& box) {
  STRATA_CHECK(box.layout->answer.layout, request, "[check] ", box.layout->function->name, " does not give a layout");
  return *box.layout->answer.layout;
}

/// @throws Error (undefined) unless every size is known to be at least 1
void require_elements(const ShapeTracker& stack) {
  for (const Int& size : stack.shape())
    STRATA_CHECK(size.vmin() >= 1, undefined, "[check] the shape ", render(stack.shape()), " may have no elements");
}

/// Sets f to the index of its stack at `axes`. A variable of an axis may have values beyond a symbolic size; f.given
/// excludes them.
void look_at(BoxFunction& f, std::vector<Variable> axes, Work& work) {
  const ShapeTracker& stack = *f.stack;
  work.charge(std::uint64_t{1024} * stack.views().size() * stack.views().size() * (1 + stack.rank()));
  const std::vector<Expr> idxs(axes.begin(), axes.end());
  const IndexExprs exprs = stack.expr_idxs(idxs);
  f.index = exprs.index;
  f.valid = exprs.valid;
  for (std::size_t k = 0; k < axes.size(); ++k)
    if (!stack.shape()[k].is_number()) f.given = f.given && idxs[k] < stack.shape()[k].expr();
  f.axes = std::move(axes);
}

void look_at_own_axes(BoxFunction& f, std::string_view suffix, Work& work) {
  require_elements(*f.stack);
  std::vector<Variable> axes;
  for (std::size_t k = 0; k < f.stack->rank(); ++k)
    axes.emplace_back(made_up_name(k, suffix), 0, f.stack->shape()[k].vmax() - 1);
  look_at(f, std::move(axes), work);
}

BoxFunction function_in(const Box& box) {
  BoxFunction out;
  STRATA_CHECK(!box.kernel, request,
               "[check] a kernel is not a function of coordinates: the request 'kernel' proves the "
               "accesses");
  if (box.view) out.stack = box.view->stack;
  if (box.layout) out.stack = to_shape_tracker(place(layout_in(box)));
  if (out.stack) {
    out.sizes = box.variables;
    return out;
  }
  STRATA_CHECK(box.expr->unbound.empty(), parse, "[check] ", in_quotes(box.expr->unbound[0]), " has no bounds");
  const Parser parser(box.variables);
  out.axes = box.variables;
  out.index = parser(box.expr->text);
  if (box.expr->valid) out.valid = parser(*box.expr->valid);
  for (const std::string& condition : box.expr->assume) out.given = out.given && parser(condition);
  return out;
}

/// The answer of a proof, with its counterexample split into `axes` and `sizes`.
CheckAnswer told(const Proof& proof, const std::vector<Variable>& axes, const std::vector<Variable>& sizes) {
  CheckAnswer out{proof.answer};
  if (proof.answer != Answer::no) return out;
  std::unordered_map<std::string_view, std::int64_t> known;
  for (const auto& [v, value] : proof.counterexample) known[v.name()] = value;
  const auto value_of = [&](const Variable& v) {
    const auto found = known.find(v.name());
    return found == known.end() ? v.min() : found->second;
  };
  Index& at = out.witness.emplace_back();
  for (const Variable& v : axes) at.push_back(value_of(v));
  for (const Variable& v : sizes) out.at.emplace_back(v, value_of(v));
  return out;
}

std::string axes_text(const std::vector<Variable>& axes) {
  std::string out;
  for (const Variable& v : axes)
    out += detail::message(out.empty() ? "" : "; ", v.name(), ": ", v.min(), "..", v.max());
  return detail::message("(", out, ")");
}

// --- equal ---

CheckAnswer equal_stacks(const ShapeTracker& a, const ShapeTracker& b, Work& work) {
  if (a.rank() != b.rank())
    return {Answer::no, {}, {}, detail::message("the shapes are ", render(a.shape()), " and ", render(b.shape()))};
  if (!a.is_concrete() || !b.is_concrete()) {
    const StackProof proof = equal(a, b, std::min(kEqualBudget, work.left()));
    CheckAnswer out{proof.answer};
    if (proof.witness) out.witness.push_back(*proof.witness);
    if (proof.answer == Answer::unknown) out.note = "not decided for all sizes";
    return out;
  }
  const auto differ = ask_equal_view(a, b, work);
  if (!differ) return {Answer::yes};
  if (!differ->at)
    return {Answer::no, {}, {}, detail::message("the shapes are ", render(a.shape()), " and ", render(b.shape()))};
  return {Answer::no, {*differ->at}};
}

/// The layout as a function of one index, 0, 1, ..., as a stack.
ShapeTracker over_all(const Layout& layout) {
  PlacedLayout placed;
  placed.modes = {layout};
  placed.shape = {layout.size()};
  placed.begin = {0};
  return to_shape_tracker(placed);
}

/// Whether two functions have the same address, or both none, wherever both domains hold.
CheckAnswer equal_functions(const BoxFunction& a, const BoxFunction& b) {
  const Expr both = a.valid && b.valid && a.index == b.index;
  std::vector<Variable> sizes = a.stack ? a.sizes : b.sizes;
  return told(prove(both || (!a.valid && !b.valid), a.given && b.given), a.axes, sizes);
}

/// Reads a stack at the variables of an expression, in order. Variables that occur in the stack's sizes are not
/// coordinates.
CheckAnswer equal_mixed(BoxFunction stack, BoxFunction expr, Work& work) {
  std::set<std::string_view> taken;
  for (const Variable& v : stack.sizes) taken.insert(v.name());
  std::vector<Variable> axes;
  for (const Variable& v : expr.axes)
    if (!taken.contains(v.name())) axes.push_back(v);
  require_elements(*stack.stack);
  bool fits = axes.size() == stack.stack->rank();
  for (std::size_t k = 0; fits && k < axes.size(); ++k)
    fits = axes[k].min() == 0 && axes[k].max() == stack.stack->shape()[k].vmax() - 1;
  STRATA_CHECK(fits, shape, "[check] the variables ", axes_text(axes), " are not coordinates of the shape ",
               render(stack.stack->shape()));
  look_at(stack, axes, work);
  expr.axes = std::move(axes);
  return equal_functions(stack, expr);
}

/// Matches the variables of `b` with those of `a`: by name or, if names differ, by position.
CheckAnswer equal_exprs(const BoxFunction& a, BoxFunction b) {
  const auto by_name = [](const Variable& x, const Variable& y) { return x.name() < y.name(); };
  std::vector<Variable> ours = a.axes;
  std::vector<Variable> theirs = b.axes;
  sort_few(ours, by_name);
  sort_few(theirs, by_name);
  const auto same_name = [](const Variable& x, const Variable& y) { return x.name() == y.name(); };
  if (!std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end(), same_name)) {
    ours = a.axes;
    theirs = b.axes;
  }
  const auto same_bounds = [](const Variable& x, const Variable& y) {
    return x.min() == y.min() && x.max() == y.max();
  };
  STRATA_CHECK(std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end(), same_bounds), shape,
               "[check] the variables ", axes_text(a.axes), " and ", axes_text(b.axes), " have different bounds");
  Substitution map;
  for (std::size_t k = 0; k < ours.size(); ++k) map.emplace_back(theirs[k], ours[k]);
  b.index = substitute(b.index, map);
  b.valid = substitute(b.valid, map);
  b.given = substitute(b.given, map);
  return equal_functions(a, b);
}

/// @throws Error if a name has different bounds in the two texts
void require_same_bounds(const Box& a, const Box& b) {
  for (const Variable& x : a.variables)
    for (const Variable& y : b.variables)
      STRATA_CHECK(x.name() != y.name() || (x.min() == y.min() && x.max() == y.max()), shape, "[check] ", x.name(),
                   " is ", x.min(), "..", x.max(), " in a and ", y.min(), "..", y.max(), " in b");
}

}  // namespace

CheckAnswer check_equal(const Box& a, const Box& b, Work& work) {
  const BoxFunction left = function_in(a);
  const BoxFunction right = function_in(b);
  work.charge(std::uint64_t{1024} + a.variables.size() * b.variables.size());
  if (!left.stack && !right.stack) return equal_exprs(left, right);
  require_same_bounds(a, b);
  if (!left.stack) return equal_mixed(right, left, work);
  if (!right.stack) return equal_mixed(left, right, work);
  const bool layouts = a.layout && b.layout;
  if (!layouts || is_equal(layout_in(a).size(), layout_in(b).size()) != Answer::yes ||
      left.stack->shape() == right.stack->shape())
    return equal_stacks(*left.stack, *right.stack, work);
  CheckAnswer out = equal_stacks(over_all(layout_in(a)), over_all(layout_in(b)), work);
  out.note = "the modes differ: compared at 0, 1, 2, ...";
  return out;
}

CheckAnswer check_injective(const Box& a, Work& work) {
  const BoxFunction f = function_in(a);
  work.charge(4096);
  if (f.stack) {
    const StackProof proof = is_injective(*f.stack);
    CheckAnswer out{proof.answer};
    const auto pair = proof.witness ? ask_same_address(*f.stack, *proof.witness, work) : std::nullopt;
    if (pair) out.witness = {pair->first, pair->second};
    return out;
  }
  // Two copies of the function with separate variables: equal addresses must imply equal coordinates.
  Substitution map;
  std::vector<Variable> others;
  Expr same = 1;
  for (std::size_t k = 0; k < f.axes.size(); ++k) {
    const Variable& v = f.axes[k];
    others.emplace_back(made_up_name(k, "_other"), v.min(), v.max());
    map.emplace_back(v, others[k]);
    same = same && v == others[k];
  }
  const Expr collide = f.valid && substitute(f.valid, map) && f.index == substitute(f.index, map);
  const Proof proof = prove(!collide || same, f.given && substitute(f.given, map));
  CheckAnswer out = told(proof, f.axes, {});
  if (proof.answer == Answer::no) out.witness.push_back(told(proof, others, {}).witness[0]);
  return out;
}

CheckAnswer check_contiguous(const Box& a, Work& work) {
  const BoxFunction f = function_in(a);
  work.charge(4096);
  if (f.stack) {
    const StackProof proof = is_contiguous(*f.stack);
    CheckAnswer out{proof.answer};
    if (proof.witness) out.witness.push_back(*proof.witness);
    return out;
  }
  Expr number = 0;
  for (const Variable& v : f.axes) number = number * (Expr(v.max()) - v.min() + 1) + (v - Expr(v.min()));
  return told(prove(f.valid && f.index == number, f.given), f.axes, {});
}

CheckAnswer check_in_bounds(const Box& a, std::int64_t size, Work& work) {
  BoxFunction f = function_in(a);
  work.charge(4096);
  if (f.stack) {
    for (const Int& extent : f.stack->shape())
      if (extent == Int(0)) return {Answer::yes, {}, {}, "there are no elements"};
    look_at_own_axes(f, "", work);
  }
  const Expr inside = f.index >= 0 && f.index < size;
  return told(prove(!f.valid || inside, f.given), f.axes, f.sizes);
}

}  // namespace strata::tools
