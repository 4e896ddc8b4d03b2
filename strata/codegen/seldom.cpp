// Users come behind their sources, so one walk from the last node to the first finds the nodes of choices.
#include "strata/codegen/seldom.h"

#include <algorithm>
#include <unordered_set>

#include "strata/base/walk.h"

namespace strata {
namespace {

/// Whether `u` only computes, so that it may be left out.
bool is_pure(UOp u) {
  switch (u.op()) {
    case UOps::ALU:
    case UOps::CAST:
    case UOps::BITCAST:
    case UOps::CONST:
    case UOps::VECTORIZE:
    case UOps::GEP: return true;
    default: return false;
  }
}

}  // namespace

SeldomChoices::SeldomChoices(std::span<const UOp> nodes, const std::unordered_map<UOp, std::size_t>& number,
                             std::span<const std::size_t> blocks) {
  const auto is_seldom = [](UOp u) { return u.is_seldom(); };
  if (std::none_of(nodes.begin(), nodes.end(), is_seldom)) return;
  inside_.assign(nodes.size(), true);
  for (std::size_t k = nodes.size(); k-- > 0;) {
    const UOp u = nodes[k];
    // Nodes without users are stores.
    if (!is_pure(u)) inside_[k] = false;
    for (std::size_t s = 0; s < u.src().size(); ++s) {
      const std::size_t source = number.at(u.src(s));
      const bool is_of_choice = inside_[k] || (u.is_seldom() && s == 1);
      if (!is_of_choice || blocks[source] != blocks[k]) inside_[source] = false;
    }
  }
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    if (!nodes[k].is_seldom() || inside_[k] || !inside_[number.at(nodes[k].src(1))]) continue;
    std::vector<UOp>& needs = needs_[k];
    std::unordered_set<UOp> seen;
    detail::walk(
        nodes[k].src(1), [&](UOp u) { return seen.insert(u).second; },
        [&](UOp u, std::size_t s) { return is_inside(number.at(u)) && s < u.src().size() ? u.src(s) : UOp(); },
        [&](UOp u) {
          if (!is_inside(number.at(u))) needs.push_back(u);
        });
  }
}

std::span<const UOp> SeldomChoices::needs(std::size_t k) const {
  const auto found = needs_.find(k);
  return found == needs_.end() ? std::span<const UOp>() : std::span<const UOp>(found->second);
}

}  // namespace strata
