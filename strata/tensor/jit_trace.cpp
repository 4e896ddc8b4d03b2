// Jit::traced(): runs a captured function once more on placeholders, which have no elements, and returns the graph.
#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include "strata/base/check.h"
#include "strata/engine/feed.h"
#include "strata/tensor/gradient_slot.h"
#include "strata/tensor/jit.h"
#include "strata/tensor/jit_run.h"
#include "strata/tensor/jit_turn.h"
#include "strata/tensor/jit_watching.h"

namespace strata {

using namespace jit_watching;

namespace {

/// A tensor from outside as it was before the function ran.
struct Before {
  State state;
  LazyOp node;
  std::optional<Tensor> gradient;
  bool is_assigned = false;
};

std::optional<Tensor> gradient_now(const State& state) {
  if (state->slot == nullptr) return std::nullopt;
  const std::lock_guard lock(gradient_mutex());
  return state->slot->gradient;
}

bool is_one_tensor(const std::optional<Tensor>& a, const std::optional<Tensor>& b) {
  return a && b ? TensorAccess::state(*a) == TensorAccess::state(*b) : a.has_value() == b.has_value();
}

/// Notes the tensors from outside that a function uses; the destructor gives them back what they had.
class Outside final : public TensorListener {
 public:
  explicit Outside(std::uint64_t begin) : begin_(begin) {}
  ~Outside() override { restore(); }
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;

  void read(const State& state) override {
    if (outer() != nullptr) outer()->read(state);
    note(state);
  }
  void assigned(const State& state) override {
    if (outer() != nullptr) outer()->assigned(state);
    if (Before* const known = note(state)) known->is_assigned = true;
  }

  std::vector<TracedChange> changes() const {
    std::vector<TracedChange> out;
    for (const Before& b : before_) {
      const std::string text = detail::message("a tensor of shape ", render(b.node.shape()));
      if (b.is_assigned) out.push_back({"assigns to " + text, b.state->node()});
      const std::optional<Tensor> now = gradient_now(b.state);
      if (!is_one_tensor(now, b.gradient))
        out.push_back({"changes the gradient of " + text, now ? now->node() : b.state->node()});
    }
    return out;
  }
  /// Restores the tensors, and realizes those that are no memory yet. Returns whether there were any.
  bool settle() {
    restore();
    bool found = false;
    for (const Before& b : before_) {
      if (chain_of(b.state->node()) || b.node.node()->is_closed) continue;
      TensorAccess::of(b.state).realize();
      found = true;
    }
    return found;
  }

 private:
  /// Null for a tensor that the function made.
  Before* note(const State& state) {
    if (state->born >= begin_) return nullptr;
    const auto known = std::find_if(before_.begin(), before_.end(), [&](const Before& b) { return b.state == state; });
    if (known != before_.end()) return &*known;
    return &before_.emplace_back(Before{state, state->node(), gradient_now(state)});
  }
  void restore() {
    for (const Before& b : before_) {
      b.state->set_node(b.node);
      if (b.state->slot == nullptr) continue;
      std::optional<Tensor> gradient = b.gradient;
      const std::lock_guard lock(gradient_mutex());
      b.state->slot->gradient.swap(gradient);
    }
  }

  std::uint64_t begin_;
  std::vector<Before> before_;
};

/// `e` with its variables bound to their values of the captured call.
Expr bound_expr(const Expr& e, const Values& values) {
  Substitution map;
  for (const Variable& v : variables(e))
    for (const auto& [known, value] : values)
      if (same(known, v)) {
        map.emplace_back(v, v.bind(value));
        break;
      }
  return substitute(e, map);
}

}  // namespace

Traced Jit::traced() {
  const Captured known = captured();
  const JitTurn turn(owner_, name_);
  Traced out{name_, {}, {}, known.integers, known.values, known.keeps_values, {}, {}};
  std::vector<Expr> integers;
  for (const Expr& e : known.integers) integers.push_back(bound_expr(e, known.values));
  for (const CapturedTensor& x : known.inputs) {
    Ints shape;
    for (const Int& size : x.shape)
      shape.push_back(size.is_number() ? size : Int(bound_expr(size.expr(), known.values)));
    out.inputs.push_back(LazyOp::empty(x.dtype, shape, true));
  }
  // What the function reads has to be memory: where it is not yet, it is computed, and the function is traced again.
  for (bool is_done = false; !is_done;) {
    const std::uint64_t begin = birth_now();
    std::vector<Tensor> own;
    for (std::size_t k = 0; k < out.inputs.size(); ++k)
      own.push_back(TensorAccess::of(out.inputs[k], *known.inputs[k].device));
    FeedListener feeds;
    const Watching watching(begin);
    Outside outside(begin);
    out.outputs.clear();
    try {
      for (const Tensor& y : function_(own, integers)) out.outputs.push_back(y.node());
    } catch (const std::exception&) {
      // A change comes before what it leads to, e.g. the step of an optimiser, which computes.
      out.changes = outside.changes();
      if (out.changes.empty()) throw;
      out.outputs.clear();
      return out;
    }
    out.changes = outside.changes();
    for (std::size_t k = 0; k < own.size(); ++k)
      if (!(own[k].node() == out.inputs[k]))
        out.changes.push_back({detail::message("assigns to argument ", k), own[k].node()});
    out.fed.clear();
    for (const FeedListener::Fed& f : feeds.fed) out.fed.push_back(f.buffer.data());
    is_done = !outside.settle();
  }
  return out;
}

}  // namespace strata
