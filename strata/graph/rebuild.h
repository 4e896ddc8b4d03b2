// A graph made anew, from its leaves up.

#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "strata/graph/lazy_op.h"

namespace strata::detail {

/// Makes graphs anew, each node once over all its calls, and without recursion: graphs may be deep.
class Rebuild {
 public:
  /// What stands for a node, given what stands for the sources that it needs.
  using Make = std::function<LazyOp(const LazyOp& node, const std::vector<LazyOp>& sources)>;
  /// What stands for a node whose sources are not looked at, where there is such.
  using Replace = std::function<std::optional<LazyOp>(const LazyOp& node)>;

  explicit Rebuild(Make make, Replace replace = {})
      : make_(std::move(make)), replace_(std::move(replace)) {}

  LazyOp operator()(const LazyOp& root);

 private:
  Make make_;
  Replace replace_;
  std::unordered_map<const LazyNode*, LazyOp> made_;
};

}  // namespace strata::detail
