// Rebuild: a bottom-up rewrite of a LazyOp graph, for passes such as unbind() and the construction of kernels.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata::detail {

/// Rewrites graphs from the leaves up. Each node is rewritten once, also over several calls. No recursion: graphs may
/// be deep.
class Rebuild {
 public:
  /// Returns the replacement of `node`, given the replacements of its needed() sources, in order.
  using Make = std::function<LazyOp(const LazyOp& node, const std::vector<LazyOp>& sources)>;
  /// Asked first, before the sources of `node` are visited. A result replaces `node`, and the sources are not visited.
  using Replace = std::function<std::optional<LazyOp>(const LazyOp& node)>;

  explicit Rebuild(Make make, Replace replace = {}) : make_(std::move(make)), replace_(std::move(replace)) {}

  /// The replacement of `root`.
  LazyOp operator()(const LazyOp& root);

 private:
  Make make_;
  Replace replace_;
  std::unordered_map<const LazyNode*, LazyOp> made_;
};

}  // namespace strata::detail
