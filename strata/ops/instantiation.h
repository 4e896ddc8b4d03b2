// Instantiation: the graph of a traced function on other nodes than its placeholders. Gradients are those of the
// function: custom gradients and detach() stay. (Rebuild, in graph/, is for kernels: it drops all annotations.)
#pragma once

#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata {

/// Source `k` of a node, also one that serves its gradient alone; null beyond the last one: the successor function for
/// detail::walk().
inline const LazyOp* any_source(const LazyOp* n, std::size_t k) { return k < n->src().size() ? &n->src()[k] : nullptr; }

/// A node, and what takes its place.
using Replacement = std::pair<LazyOp, LazyOp>;

/// Rewrites graphs. Each node is rewritten once, also over several calls; nodes that depend on no replaced node stay.
class Instantiation {
 public:
  /// @pre both nodes of a replacement have one shape and one dtype
  explicit Instantiation(std::vector<Replacement> replacements);

  LazyOp operator()(const LazyOp& root);
  /// Whether `root` depends on a replaced node.
  bool depends(const LazyOp& root) { return !((*this)(root) == root); }

 private:
  LazyOp made(const LazyOp& n) const;

  std::vector<Replacement> replacements_;
  std::vector<LazyOp> roots_;  // keeps the nodes of known_
  std::unordered_map<const LazyNode*, LazyOp> known_;
};

}  // namespace strata
