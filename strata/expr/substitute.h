// Building a node again over other sources. Internal to expr/.
#pragma once

#include <span>
#include <unordered_map>

#include "strata/expr/build.h"
#include "strata/expr/expr.h"
#include "strata/expr/node.h"

namespace strata {

/// The node `n` with its children (in for_each_child order) replaced, in canonical form. Constants and variables have
/// no children and come back as they are.
Expr rebuild(const Node* n, std::span<const Expr> children);

using Replacements = std::unordered_map<const Node*, Expr>;

/// `root` with the nodes in `done` replaced. Rebuilds what lies above a replaced node (everything, when `all`), each node
/// once; nodes below a replaced one are not visited.
Expr replace(const Expr& root, Replacements done, const Build& build = Build(), bool all = false);

}  // namespace strata
