// Rebuilding nodes over other sources: the base of substitution, simplification and expansion. Internal to expr/.
#pragma once

#include <span>
#include <unordered_map>

#include "strata/expr/build.h"
#include "strata/expr/expr.h"
#include "strata/expr/node.h"

namespace strata {

/// The node `n` with its children replaced by `children` (in for_each_child order), in canonical form. Constants and
/// variables have no children and are returned as they are.
Expr rebuild(const Node* n, std::span<const Expr> children);

using Replacements = std::unordered_map<const Node*, Expr>;

/// `root` with the nodes in `done` replaced by their values there. Every node above a replaced node is rebuilt once
/// (every node, when `all`); nodes below a replaced node are not visited.
Expr replace(const Expr& root, Replacements done, const Build& build = Build(), bool all = false);

}  // namespace strata
