// Users come behind their sources, so one walk from the last node to the first finds the nodes of choices.
#include "strata/codegen/seldom.h"

#include <algorithm>
#include <utility>

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
  needs_.resize(nodes.size());
  std::vector<std::size_t> seen_by(nodes.size(), nodes.size()), open;
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    if (!nodes[k].is_seldom() || inside_[k]) continue;
    open.push_back(number.at(nodes[k].src(1)));
    while (!open.empty()) {
      const std::size_t n = open.back();
      open.pop_back();
      if (std::exchange(seen_by[n], k) == k) continue;
      if (!inside_[n]) {
        needs_[k].push_back(n);
        continue;
      }
      for (const UOp s : nodes[n].src()) open.push_back(number.at(s));
    }
  }
}

std::span<const std::size_t> SeldomChoices::needs(std::size_t k) const {
  return needs_.empty() ? std::span<const std::size_t>() : std::span<const std::size_t>(needs_[k]);
}

}  // namespace strata
