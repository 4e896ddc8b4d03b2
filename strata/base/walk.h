// The walk over a graph: sources before users, each node once, however deep the graph is.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace strata::detail {

/// Calls `leave(node)` for what is below `root` and for `root`, behind the calls for its sources. `enter(node)` says whether a node is
/// to be walked: not one that was met before. `source(node, k)` is its k-th source; null: there are no more. A Node is a pointer, or
/// can be null as one can.
template <class Node, class Enter, class Source, class Leave>
void walk(Node root, const Enter& enter, const Source& source, const Leave& leave) {
  if (!enter(root)) return;
  std::vector<std::pair<Node, std::size_t>> open;  // a node, and how many of its sources were looked at
  open.emplace_back(root, 0);
  while (!open.empty()) {
    auto& [node, next] = open.back();
    if (const Node below = source(node, next++)) {
      if (enter(below)) open.emplace_back(below, 0);
    } else {
      leave(node);
      open.pop_back();
    }
  }
}

}  // namespace strata::detail
