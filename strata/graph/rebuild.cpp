#include "strata/graph/rebuild.h"

namespace strata::detail {

LazyOp Rebuild::operator()(const LazyOp& root) {
  std::vector<std::pair<LazyOp, std::size_t>> open;  // a node, and how many of its sources were opened
  open.emplace_back(root, 0);
  while (!open.empty()) {
    auto& [n, next] = open.back();
    if (made_.contains(n.node())) {
      open.pop_back();
      continue;
    }
    if (next == 0 && replace_) {
      if (const std::optional<LazyOp> replacement = replace_(n)) {
        made_.emplace(n.node(), *replacement);
        open.pop_back();
        continue;
      }
    }
    const auto sources = needed(*n.node());
    if (next < sources.size()) {
      open.emplace_back(sources[next++], 0);
      continue;
    }
    std::vector<LazyOp> made;
    for (const LazyOp& s : sources) made.push_back(made_.at(s.node()));
    const LazyOp node = n;
    open.pop_back();
    made_.emplace(node.node(), make_(node, made));
  }
  return made_.at(root.node());
}

}  // namespace strata::detail
