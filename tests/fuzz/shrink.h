// Making a failing Case smaller: subtrees give way to their children or to constants, constants and ranges shrink, as
// long as the failure stays.
#pragma once

#include <functional>

#include "tests/expr/random_expr.h"

namespace strata::oracle {

/// `c` with node `root` as the root; unreachable nodes and unused variables are gone.
inline Case rooted_at(const Case& c, std::int32_t root) {
  std::vector<std::uint8_t> live(c.tree.nodes.size(), 0);
  std::vector<std::int32_t> node_at(c.tree.nodes.size(), -1), variable_at(c.variables.size(), -1);
  live[static_cast<std::size_t>(root)] = 1;
  for (std::int32_t i = root; i >= 0; --i) {
    const TreeNode& n = c.tree.nodes[static_cast<std::size_t>(i)];
    if (live[static_cast<std::size_t>(i)] == 0) continue;
    for (int s = 0; s < n.arity(); ++s) live[static_cast<std::size_t>(n.src[s])] = 1;
  }
  Case out;
  for (std::int32_t i = 0; i <= root; ++i) {
    if (live[static_cast<std::size_t>(i)] == 0) continue;
    TreeNode n = c.tree.nodes[static_cast<std::size_t>(i)];
    for (int s = 0; s < n.arity(); ++s) n.src[s] = node_at[static_cast<std::size_t>(n.src[s])];
    if (n.op == TreeOp::Var) {
      std::int32_t& at = variable_at[static_cast<std::size_t>(n.value)];
      if (at < 0) {
        at = static_cast<std::int32_t>(out.variables.size());
        out.variables.push_back(c.variables[static_cast<std::size_t>(n.value)]);
      }
      n.value = at;
    }
    node_at[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(out.tree.nodes.size());
    out.tree.nodes.push_back(n);
  }
  return out;
}

/// True iff every divisor is known to exclude 0: made of nonzero constants and positive variables by `*` and unary `-`.
inline bool divisors_are_sound(const Case& c) {
  std::vector<std::uint8_t> nonzero;
  for (const TreeNode& n : c.tree.nodes) {
    const auto src = [&](int i) { return nonzero[static_cast<std::size_t>(n.src[i])] != 0; };
    const bool known = n.op == TreeOp::Const ? n.value != 0
                       : n.op == TreeOp::Var ? c.variables[static_cast<std::size_t>(n.value)].min > 0
                       : n.op == TreeOp::Neg ? src(0)
                                             : n.op == TreeOp::Mul && src(0) && src(1);
    nonzero.push_back(known);
    if ((n.op == TreeOp::Div || n.op == TreeOp::Mod) && !src(1)) return false;
  }
  return true;
}

/// Every Case that is one step smaller than `c`, largest steps first.
inline std::vector<Case> smaller(const Case& c) {
  std::vector<Case> out;
  const auto edited = [&](auto&& edit) {
    Case next = c;
    edit(next);
    out.push_back(rooted_at(next, next.tree.root()));
  };
  for (std::int32_t i = 0; i < c.tree.root(); ++i) out.push_back(rooted_at(c, i));
  for (std::size_t i = c.tree.nodes.size(); i-- > 0;) {
    const TreeNode& n = c.tree.nodes[i];
    for (int s = 0; s < n.arity(); ++s) {
      edited([&](Case& next) {
        for (TreeNode& user : next.tree.nodes)
          for (std::int32_t& src : user.src)
            if (src == static_cast<std::int32_t>(i)) src = n.src[s];
      });
    }
    std::vector<std::int64_t> constants = {0, 1};
    if (n.op == TreeOp::Const) {
      constants = {n.value / 2, n.value > 0 ? n.value - 1 : n.value + 1};
      if (n.value < 0) constants.push_back(-n.value);
      if (n.value == 0) constants.clear();
    }
    for (const std::int64_t constant : constants)
      edited([&](Case& next) { next.tree.nodes[i] = {TreeOp::Const, constant, {-1, -1, -1}}; });
  }
  for (std::size_t v = 0; v < c.variables.size(); ++v) {
    const auto [name, low, high] = c.variables[v];
    const auto bounds = [&](std::int64_t min, std::int64_t max) {
      edited([&](Case& next) { next.variables[v].min = min, next.variables[v].max = max; });
    };
    if (low != 0) bounds(0, high - low);
    if (low == high) continue;
    bounds(low, low + (high - low) / 2);
    bounds(low, high - 1);
    if (low < 0) bounds(low + 1, high);
  }
  return out;
}

/// The smallest Case that greedy steps reach with `fails` still true.
inline Case shrink(Case c, const std::function<bool(const Case&)>& fails) {
  c = rooted_at(c, c.tree.root());
  for (int step = 0; step < 400; ++step) {
    bool progress = false;
    for (Case& next : smaller(c)) {
      if (!divisors_are_sound(next) || !fails(next)) continue;
      c = std::move(next);
      progress = true;
      break;
    }
    if (!progress) break;
  }
  return c;
}

}  // namespace strata::oracle
