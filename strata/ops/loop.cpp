#include "strata/ops/loop.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "strata/base/walk.h"
#include "strata/ops/gradient.h"

namespace strata::ops {

namespace {

using Nodes = std::unordered_set<const LazyNode*>;

bool is_memory(const LazyNode& n) { return n.op == Ops::EMPTY || is_realized(n); }

/// Finds which nodes of a step depend on its formal inputs, and what the step takes from outside.
class Captures {
 public:
  explicit Captures(const StepGraph& step) {
    for (const LazyOp& input : step.inputs) formal_.insert(input.node()), varying_.insert(input.node());
    std::vector<LazyOp> roots = step.results;
    if (step.condition) roots.push_back(*step.condition);
    for (const LazyOp& root : roots) find_varying(root);
    for (const LazyOp& root : roots)
      if (!varying_.contains(root.node())) capture(root);
    for (const LazyOp& n : order_)
      for (std::size_t k = 0; const LazyOp* s = source_in_step(&n, k); ++k)
        if (!varying_.contains(s->node())) capture(*s);
  }

  /// The nodes that depend on a formal input, these included.
  const Nodes& varying() const { return varying_; }
  const std::vector<LazyOp>& captured() const { return captured_; }

 private:
  void find_varying(const LazyOp& root) {
    const auto source = [&](const LazyOp* n, std::size_t k) {
      return formal_.contains(n->node()) ? nullptr : source_in_step(n, k);
    };
    detail::walk(
        &root, [&](const LazyOp* n) { return seen_.insert(n->node()).second; }, source,
        [&](const LazyOp* n) {
          for (std::size_t k = 0; const LazyOp* s = source(n, k); ++k)
            if (varying_.contains(s->node())) {
              varying_.insert(n->node());
              order_.push_back(*n);
              return;
            }
        });
  }

  /// Takes what is below movement ops, so that a view of memory stays a view.
  void capture(const LazyOp& n) {
    const LazyOp* at = &n;
    while (is_movement(at->op()) && !is_memory(*at->node())) at = &at->src(0);
    const bool has_memory = is_realized(*at->node());
    if ((!has_memory && is_cheap_constant(*at)) || !formal_.insert(at->node()).second) return;
    captured_.push_back(*at);
  }
  /// Whether the node is made of constants by ops that kernels compute in passing.
  static bool is_cheap_constant(const LazyOp& root) {
    if (!root.node()->is_closed) return false;
    const std::vector<const LazyNode*> nodes = postorder(root);
    return std::all_of(nodes.begin(), nodes.end(), [](const LazyNode* n) {
      return n->op == Ops::CONST || n->op == Ops::IOTA || is_movement(n->op) || is_elementwise(n->op);
    });
  }

  Nodes formal_, varying_, seen_;
  std::vector<LazyOp> order_, captured_;
};

/// The gradient of the step, by placeholders for the gradients by its results.
std::shared_ptr<const StepGradient> gradient_of(const StepGraph& step) {
  auto out = std::make_shared<StepGradient>();
  std::vector<LazyOp> ys;
  for (std::size_t k = 0; k < step.results.size(); ++k) {
    const LazyOp& r = step.results[k];
    if (!r.dtype().is_float()) continue;
    out->results.push_back(k);
    out->by_results.push_back(placeholder(r.dtype(), r.shape()));
    ys.push_back(r);
  }
  out->by_inputs = backpropagate_to(step.inputs, ys, out->by_results);
  return out;
}

/// Ops whose results the gradient keeps; others are computed again.
bool is_expensive(Ops op) {
  return is_reduce(op) || is_scan(op) || op == Ops::SCAN || op == Ops::SCATTER || op == Ops::ORDER || op == Ops::CONCAT;
}

/// Gives `step` its gradient, and results for the values that the gradient needs: states, and, unless the step is
/// computed again, results of expensive ops.
void save_for_gradient(StepGraph& step, const Nodes& varying) {
  step.gradient = gradient_of(step);
  Nodes leaves, seen;
  for (const LazyOp& n : step.gradient->by_results) leaves.insert(n.node());
  for (std::size_t k = step.states; k < step.inputs.size(); ++k) leaves.insert(step.inputs[k].node());
  Nodes states;
  for (std::size_t k = 0; k < step.states; ++k) states.insert(step.inputs[k].node());
  for (std::size_t k = step.states; k < step.results.size(); ++k) step.saved.try_emplace(step.results[k].node(), k);
  const auto is_saved = [&](const LazyOp& n) {
    return states.contains(n.node()) || step.saved.contains(n.node()) ||
           (!step.recomputes && varying.contains(n.node()) && is_expensive(n.op()));
  };
  const auto source = [&](const LazyOp* n, std::size_t k) {
    return leaves.contains(n->node()) || is_saved(*n) ? nullptr : source_in_step(n, k);
  };
  for (const std::optional<LazyOp>& g : step.gradient->by_inputs)
    if (g)
      detail::walk(
          &*g, [&](const LazyOp* n) { return seen.insert(n->node()).second; }, source,
          [&](const LazyOp* n) {
            if (leaves.contains(n->node()) || !is_saved(*n) ||
                !step.saved.try_emplace(n->node(), step.results.size()).second)
              return;
            step.results.push_back(*n);
          });
}

}  // namespace

const LazyOp* source_in_step(const LazyOp* n, std::size_t k) {
  if (is_memory(*n->node())) return nullptr;
  if (n->op() == Ops::CUSTOM_GRAD) return k < n->src().size() ? &n->src()[k] : nullptr;
  return needed_source(n, k);
}

Loop make_loop(StepGraph step, std::vector<LazyOp> sources, const std::optional<LazyOp>& last, bool saves) {
  const Captures captures(step);
  for (const LazyOp& n : captures.captured()) step.inputs.push_back(n), sources.push_back(n);
  const bool is_tracked = std::any_of(sources.begin(), sources.end(), [](const LazyOp& s) { return s.is_tracked(); });
  step.wanted = step.results.size();
  if (saves && is_tracked) save_for_gradient(step, captures.varying());
  if (last) sources.push_back(*last);
  return {std::make_shared<const StepGraph>(std::move(step)), std::move(sources)};
}

}  // namespace strata::ops
