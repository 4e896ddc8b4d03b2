#include "strata/engine/kept_nodes.h"

#include <unordered_map>

#include "strata/base/walk.h"

namespace strata {

namespace {

const LazyOp* any_source(const LazyOp* n, std::size_t k) { return k < n->src().size() ? &n->src()[k] : nullptr; }

}  // namespace

KeptNodes::KeptNodes(std::span<const LazyOp> roots, std::span<const ScheduleItem> items) : roots_(roots) {
  std::unordered_map<const LazyNode*, long> references;  // from nodes below the roots
  std::vector<const LazyOp*> tracked;
  for (const LazyOp& r : roots) asked_.insert(r.node());
  const auto enter = [&](const LazyOp* n) {
    return !is_realized(*n->node()) && references.try_emplace(n->node(), 0).second;
  };
  for (const LazyOp& r : roots)
    detail::walk(&r, enter, any_source, [&](const LazyOp* n) {
      if (n->is_tracked() && !asked_.contains(n->node())) tracked.push_back(n);
      for (const LazyOp& s : n->src())
        if (const auto it = references.find(s.node()); it != references.end()) ++it->second;
    });
  const auto hold = [&](const LazyOp& n) {
    if (const auto it = references.find(n.node()); it != references.end()) ++it->second;
  };
  for (const ScheduleItem& item : items) {
    hold(item.ast);
    for (const LazyOp& n : item.outputs) hold(n);
    for (const LazyOp& n : item.inputs) hold(n);
    if (item.part) hold(*item.part);
  }
  for (const LazyOp* n : tracked)
    if (n->owners() > references.at(n->node())) outside_.push_back(*n);
}

void KeptNodes::find(std::span<const ScheduleItem> items) {
  std::unordered_set<const LazyNode*> stored;
  for (const ScheduleItem& item : items)
    for (const LazyOp& output : item.outputs) stored.insert(output.node());
  std::unordered_set<const LazyNode*> seen;
  const auto keep = [&](const LazyOp* n) {
    if (n->is_tracked() && stored.contains(n->node())) kept_.insert(n->node());
  };
  const auto is_new = [&](const LazyOp* n) { return !is_realized(*n->node()) && seen.insert(n->node()).second; };
  for (const LazyOp& r : roots_)
    if (r.is_tracked()) detail::walk(&r, is_new, any_source, keep);
  // From the others down to the first stored results.
  for (const LazyOp& n : outside_)
    detail::walk(
        &n, is_new,
        [&](const LazyOp* at, std::size_t k) { return stored.contains(at->node()) ? nullptr : any_source(at, k); },
        keep);
}

}  // namespace strata
