// walk: a depth-first walk over a graph, sources before users, each node once. It uses an explicit stack, so any depth
// is fine.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace strata::detail {

/// Calls `leave(node)` for every node under `root` and for `root`, after the calls for the node's sources.
/// `enter(node)` says whether to walk a node; it must return false for a node it has seen before. `source(node, k)` is
/// the k-th source of a node, null when there are no more. A Node is a pointer, or a type that can be null like one.
template <class Node, class Enter, class Source, class Leave>
void walk(Node root, const Enter& enter, const Source& source, const Leave& leave) {
  if (!enter(root)) return;
  std::vector<std::pair<Node, std::size_t>> open;  // a node, and the number of its sources that were looked at
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
