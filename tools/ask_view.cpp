// Answers questions about views.
#include "tools/ask_view.h"

#include <algorithm>
#include <set>

#include "strata/base/quotes.h"
#include "strata/expr/render.h"
#include "strata/view/equal.h"
#include "strata/view/merge.h"
#include "strata/view/stack_facts.h"

namespace strata::tools {
namespace {

Axes to_axes(const Ints& numbers) {
  Axes axes;
  for (const Int& n : numbers) axes.push_back(n.value());
  return axes;
}

// clang-format off
constexpr MovementOp movement_table[] = {
    {"reshape", false, [](const ShapeTracker& s, const Movement& m) { return s.reshape(m.numbers); }},
    {"permute", false, [](const ShapeTracker& s, const Movement& m) { return s.permute(to_axes(m.numbers)); }},
    {"expand",  false, [](const ShapeTracker& s, const Movement& m) { return s.expand(m.numbers); }},
    {"pad",     true,  [](const ShapeTracker& s, const Movement& m) { return s.pad(m.pairs); }},
    {"shrink",  true,  [](const ShapeTracker& s, const Movement& m) { return s.shrink(to_mask(m.pairs)); }},
    {"flip",    false, [](const ShapeTracker& s, const Movement& m) { return s.flip(to_axes(m.numbers)); }},
    {"stride",  false, [](const ShapeTracker& s, const Movement& m) { return s.stride(m.numbers); }},
};
// clang-format on

/// The units of work for one visit of each dimension of each View.
std::uint64_t weight(std::span<const View> views) {
  std::uint64_t out = 0;
  for (const View& v : views) out += 1 + v.rank();
  return out;
}

/// Charges work that visits every pair of dimensions, and may take a decision for every pair of Views.
void charge_decisions(std::span<const View> views, Work& work) {
  constexpr std::uint64_t decision = 1024;
  const std::uint64_t n = weight(views);
  work.charge(n * n);
  work.charge(decision * views.size() * views.size());
}

std::vector<std::string> default_names(std::size_t rank) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < rank; ++i) names.push_back(detail::message("ridx", i));
  return names;
}

void require_names(const std::vector<std::string>& names, const ShapeTracker& stack) {
  STRATA_CHECK(names.size() == stack.rank(), shape, "[idxs] ", names.size(), " names for ", stack.rank(),
               " dimensions");
  std::set<std::string_view> seen;
  for (const Variable& v : stack.vars()) seen.insert(v.name());
  for (const std::string& name : names)
    STRATA_CHECK(seen.insert(name).second, parse, "[idxs] the name ", in_quotes(name), " is given twice");
}

std::vector<Expr> variables_named(const ShapeTracker& stack, const std::vector<std::string>& names) {
  std::vector<Expr> idxs;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::int64_t last = std::max<std::int64_t>(stack.shape()[i].vmax(), 1) - 1;
    const Variable v(names[i], 0, last);
    idxs.push_back(last == 0 ? Expr(0) : Expr(v));
  }
  return idxs;
}

/// Charges `each` units for every element of `stack`.
void charge_elements(const ShapeTracker& stack, std::uint64_t each, Work& work) {
  std::int64_t units = 0;
  const bool fits = try_mul(stack.size().value(), static_cast<std::int64_t>(each), units);
  work.charge(fits ? static_cast<std::uint64_t>(units) : UINT64_MAX);
}

/// A concrete stack, evaluated element by element: the fallback when an exact procedure exceeds its budget.
class Elements {
 public:
  /// Charges a visit of all elements. @throws Error (budget)
  Elements(const ShapeTracker& stack, Work& work) : size_(stack.size().value()), shape_(*numbers(stack.shape())) {
    charge_elements(stack, 2 * weight(stack.views()), work);
    for (const View& v : stack.views()) views_.push_back(to_strided(v));
  }

  std::int64_t size() const { return size_; }
  Index index(std::int64_t element) const {
    Index at(shape_.size(), 0);
    for (std::size_t j = shape_.size(); j-- > 0;) {
      at[j] = element % shape_[j];
      element /= shape_[j];
    }
    return at;
  }
  /// The address of an index; nothing if the index is masked.
  std::optional<std::int64_t> operator()(Index at) const {
    for (std::size_t k = views_.size(); k-- > 0;) {
      const Strided& v = views_[k];
      __int128 sum = v.offset;  // partial sums may exceed 64 bits; the sum of a valid View does not
      for (std::size_t j = 0; j < at.size(); ++j) {
        if (at[j] < v.begin[j] || at[j] >= v.end[j]) return std::nullopt;
        sum += static_cast<__int128>(v.stride[j]) * at[j];
      }
      auto address = static_cast<std::int64_t>(sum);
      if (k == 0) return address;
      const Index& below = views_[k - 1].shape;
      at = Index(below.size(), 0);
      for (std::size_t j = below.size(); j-- > 0;) {
        at[j] = floor_mod(address, below[j]);
        address = floor_div(address, below[j]);
      }
    }
    return std::nullopt;
  }

 private:
  std::int64_t size_;
  Index shape_;
  std::vector<Strided> views_;
};

Int real_size_by_elements(const ShapeTracker& stack, Work& work) {
  const Elements elements(stack, work);
  std::optional<std::int64_t> largest;
  for (std::int64_t e = 0; e < elements.size(); ++e) {
    const auto address = elements(elements.index(e));
    if (address && (!largest || *address > *largest)) largest = address;
  }
  return largest ? Int(*largest) + 1 : Int(0);
}

std::optional<Int> symbolic_real_size(const ShapeTracker& stack) {
  try {
    return stack.real_size();
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::undefined) throw;
    return std::nullopt;
  }
}

/// Sets real_strides and real_size. For a concrete stack they come from its decomposition into pieces, which has a
/// budget of its own; the work that it took is charged.
void ask_memory(const ShapeTracker& stack, Work& work, ViewAnswer& out) {
  if (!stack.is_concrete()) {
    out.real_strides = stack.real_strides();
    out.real_size = symbolic_real_size(stack);
    return;
  }
  const std::uint64_t budget = std::min(kPieceBudget, work.left());
  PieceFacts facts = piece_facts(stack, false, budget);
  work.charge(facts.work);
  if (!facts.complete && budget < kPieceBudget) work.charge(kPieceBudget);  // throws: more than is left
  out.real_strides = std::move(facts.real_strides);
  out.real_size = facts.complete ? real_size_of(facts.range) : real_size_by_elements(stack, work);
}

std::optional<ViewsDiffer> differ_by_elements(const ShapeTracker& a, const ShapeTracker& b, Work& work) {
  const Elements left(a, work);
  const Elements right(b, work);
  for (std::int64_t e = 0; e < left.size(); ++e) {
    const Index at = left.index(e);
    if (left(at) != right(at)) return ViewsDiffer{at};
  }
  return std::nullopt;
}

ShapeTracker windowed(const ShapeTracker& stack, const Window& window) {
  const auto shape = numbers(stack.shape());
  STRATA_CHECK(shape, undefined, "[window] the sizes ", render(stack.shape()), " are not numbers");
  check_window(window, *shape);
  Mask bounds;
  for (const auto& [begin, end] : window) bounds.push_back({begin, end});
  return stack.shrink(bounds);
}

std::vector<std::int64_t> addresses_of(const ShapeTracker& stack, std::int64_t invalid, Work& work) {
  constexpr std::size_t printed = 8;  // about the bytes of an address in the answer
  charge_elements(stack, printed + weight(stack.views()), work);
  return addresses(stack, stack.size().value(), invalid);
}

}  // namespace

Mask to_mask(const Padding& pairs) {
  Mask mask;
  for (const auto& [begin, end] : pairs) mask.push_back({begin, end});
  return mask;
}

std::span<const MovementOp> movement_ops() { return movement_table; }

const MovementOp* find_movement(std::string_view name) {
  for (const MovementOp& op : movement_table)
    if (op.name == name) return &op;
  return nullptr;
}

void check_window(const Window& window, const Index& shape) {
  STRATA_CHECK(window.size() == shape.size(), shape, "[window] has ", window.size(), " dimensions, shape ",
               render(shape), " has ", shape.size());
  for (std::size_t j = 0; j < shape.size(); ++j) {
    const auto [begin, end] = window[j];
    STRATA_CHECK(0 <= begin && begin <= end && end <= shape[j], shape, "[window] ", begin, "..", end,
                 " is not a part of dimension ", j, " of ", render(shape));
  }
}

ShapeTracker apply_movement(const ShapeTracker& stack, const MovementOp& op, const Movement& movement, Work& work) {
  // The work for a copy of the stack, and for every pair among the dimensions of the top View and of the argument.
  constexpr std::uint64_t copied = 8;
  const std::uint64_t top = 1 + stack.rank() + movement.numbers.size() + movement.pairs.size();
  work.charge(copied * weight(stack.views()));
  work.charge(top * top);
  return op.apply(stack, movement);
}

ShapeTracker simplified(const ShapeTracker& stack, Work& work) {
  charge_decisions(stack.views(), work);
  return stack.simplify();
}

ViewAnswer ask_view(const ViewQuestion& question, Work& work) {
  charge_decisions(question.stack.views(), work);
  ViewAnswer out{question.simplify ? question.stack.simplify() : question.stack, {}, {}, {}, {}, {}, {}};
  const ShapeTracker& stack = out.stack;
  out.names = question.idxs ? *question.idxs : default_names(stack.rank());
  require_names(out.names, stack);
  out.idxs = variables_named(stack, out.names);
  out.index = question.simplify ? stack.expr_idxs(out.idxs) : index(stack.views(), out.idxs);
  work.charge(count_nodes(out.index.index));
  work.charge(count_nodes(out.index.valid));
  ask_memory(stack, work, out);
  if (question.addresses)
    out.addresses = addresses_of(question.window ? windowed(stack, *question.window) : stack, question.invalid, work);
  return out;
}

std::optional<std::pair<Index, Index>> ask_same_address(const ShapeTracker& stack, const Index& at, const Work& work) {
  if (!stack.is_concrete()) return std::nullopt;
  Work own(static_cast<std::int64_t>(std::min<std::uint64_t>(work.left(), default_budget)));
  try {
    const Elements elements(stack, own);
    const auto address = elements(at);
    for (std::int64_t e = 0; address && e < elements.size(); ++e) {
      Index other = elements.index(e);
      if (other != at && elements(other) == address) return std::pair(at, std::move(other));
    }
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::budget) throw;
  }
  return std::nullopt;
}

std::optional<ViewsDiffer> ask_equal_view(const ShapeTracker& a, const ShapeTracker& b, Work& work) {
  charge_decisions(a.views(), work);
  charge_decisions(b.views(), work);
  const std::uint64_t budget = std::min(kEqualBudget, work.left());
  work.charge(budget / 8);  // a typical share: the budget is seldom used up
  const StackProof proof = equal(a, b, budget);
  if (proof.answer == Answer::yes) return std::nullopt;
  if (proof.answer == Answer::no) return ViewsDiffer{proof.witness};
  STRATA_CHECK(a.is_concrete() && b.is_concrete(), budget,
               "[equal_view] neither shown equal nor found to differ: ", a.render(), " and ", b.render());
  return differ_by_elements(a, b, work);
}

}  // namespace strata::tools
