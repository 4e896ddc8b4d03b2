#include "strata/ops/instantiation.h"

#include <algorithm>
#include <memory>

#include "strata/base/walk.h"
#include "strata/graph/step_graph.h"

namespace strata {

namespace {

/// A custom gradient of a function, on other nodes.
class InstantiatedGradient final : public GradientFunction {
 public:
  // NOTE: keeps the replacements, not the Instantiation, which owns the result: that would be a cycle.
  InstantiatedGradient(std::shared_ptr<const GradientFunction> backward, std::vector<Replacement> replacements)
      : backward_(std::move(backward)), replacements_(std::move(replacements)) {}

  std::vector<LazyOp> gradients(const LazyOp& dy) const override {
    std::vector<Replacement> all = replacements_;
    all.emplace_back(placeholder(dy.dtype(), dy.shape()), dy);
    Instantiation instantiated(all);
    std::vector<LazyOp> out = backward_->gradients(all.back().first);
    for (LazyOp& g : out) g = instantiated(g);
    return out;
  }

 private:
  std::shared_ptr<const GradientFunction> backward_;
  std::vector<Replacement> replacements_;
};

}  // namespace

Instantiation::Instantiation(std::vector<Replacement> replacements) : replacements_(std::move(replacements)) {
  for (const auto& [from, to] : replacements_) known_.emplace(from.node(), to);
}

LazyOp Instantiation::operator()(const LazyOp& root) {
  roots_.push_back(root);
  const auto enter = [&](const LazyOp* n) {
    if (known_.contains(n->node())) return false;
    if (!n->src().empty() && !is_realized(*n->node()) && !n->node()->is_closed) return true;
    known_.emplace(n->node(), *n);
    return false;
  };
  detail::walk(&root, enter, any_source, [&](const LazyOp* n) {
    const auto stays = [&](const LazyOp& s) { return known_.at(s.node()) == s; };
    if (!known_.contains(n->node()))
      known_.emplace(n->node(), std::all_of(n->src().begin(), n->src().end(), stays) ? *n : made(*n));
  });
  return known_.at(root.node());
}

LazyOp Instantiation::made(const LazyOp& n) const {
  std::vector<LazyOp> sources;
  for (const LazyOp& s : n.src()) sources.push_back(known_.at(s.node()));
  if (n.op() == Ops::REQUIRES_GRAD) return sources[0];  // gradients by values of the trace are taken by now
  if (n.op() == Ops::DETACH) return sources[0].detached();
  if (n.op() != Ops::CUSTOM_GRAD) return n.with_sources(sources);
  return sources[0].with_gradient(
      std::span(sources).subspan(1),
      std::make_shared<InstantiatedGradient>(std::get<IdentityArg>(n.arg()).backward, replacements_));
}

}  // namespace strata
