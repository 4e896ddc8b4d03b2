#include "strata/graph/rebuild.h"

#include "strata/base/walk.h"

namespace strata::detail {

LazyOp Rebuild::operator()(const LazyOp& root) {
  const auto enter = [&](const LazyOp* n) {
    if (made_.contains(n->node())) return false;
    const std::optional<LazyOp> replacement = replace_ ? replace_(*n) : std::nullopt;
    if (replacement) made_.emplace(n->node(), *replacement);
    return !replacement;
  };
  walk(&root, enter, needed_source, [&](const LazyOp* n) {
    std::vector<LazyOp> made;
    for (const LazyOp& s : needed(*n->node())) made.push_back(made_.at(s.node()));
    made_.emplace(n->node(), make_(*n, made));
  });
  return made_.at(root.node());
}

}  // namespace strata::detail
