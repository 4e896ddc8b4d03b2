// Seldom choices: what only the first choices of WHEREs need that UOpGraph::mark_seldom() marks. linearize() puts that
// into an IF, so that it is computed only where a lane asks for it; what several choices need is in the IF of each.
// Internal to codegen/.
#pragma once

#include <cstddef>
#include <span>
#include <unordered_map>
#include <vector>

#include "strata/ir/uop.h"

namespace strata {

class SeldomChoices {
 public:
  SeldomChoices() = default;
  /// @param nodes sources before their users
  /// @param blocks by node: the loop in which the node stands. A choice has only nodes of its WHERE's own loop
  SeldomChoices(std::span<const UOp> nodes, const std::unordered_map<UOp, std::size_t>& number,
                std::span<const std::size_t> blocks);

  /// Whether only first choices need node k.
  bool is_inside(std::size_t k) const { return !inside_.empty() && inside_[k]; }
  /// What the nodes inside of WHERE k's first choice need that is outside of all choices; empty where k is inside
  /// itself.
  std::span<const std::size_t> needs(std::size_t k) const;

 private:
  std::vector<bool> inside_;                     ///< by node; empty where no node is marked
  std::vector<std::vector<std::size_t>> needs_;  ///< by node
};

}  // namespace strata
