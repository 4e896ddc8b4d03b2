// Tape: expressions as straight-line code, and its run at one point with overflow detected.

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "strata/base/meter.h"
#include "strata/base/walk.h"
#include "strata/expr/evaluate.h"

namespace strata {

namespace {
// Meter units: for a node that a walk visits, and for each operand that is looked up.
constexpr std::uint64_t kVisitUnits = 10, kLookUnits = 4;
}  // namespace

std::vector<const Node*> postorder(std::span<const Expr> roots) {
  std::vector<const Node*> order;
  std::unordered_set<const Node*> seen;
  const auto enter = [&](const Node* n) {
    if (!seen.insert(n).second) return false;
    Meter::charge(kVisitUnits + kLookUnits * n->arity);
    return true;
  };
  for (const Expr& root : roots)
    detail::walk(root.node(), enter, child_from_end, [&](const Node* n) { order.push_back(n); });
  return order;
}

std::uint64_t Interval::extent() const {
  const std::uint64_t span = static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo);
  return span == UINT64_MAX ? span : span + 1;
}

std::uint64_t volume(const Box& box) {
  std::uint64_t points = 1;
  for (const Interval& r : box)
    if (__builtin_mul_overflow(points, r.extent(), &points)) return UINT64_MAX;
  return points;
}

Tape::Tape(std::span<const Expr> roots) : keep_(roots.begin(), roots.end()), nodes_(postorder(roots)) {
  Meter::charge(kVisitUnits * nodes_.size());
  std::unordered_map<const Node*, std::uint32_t> slot;
  slot.reserve(nodes_.size());
  first_.reserve(nodes_.size() + 1);
  for (const Node* n : nodes_) {
    const auto here = static_cast<std::uint32_t>(slot.size());
    slot.emplace(n, here);
    Meter::charge(kLookUnits * n->arity);
    first_.push_back(static_cast<std::uint32_t>(operands_.size()));
    for_each_child(n, [&](const Node* child) { operands_.push_back(slot.at(child)); });
    if (n->is(Op::Var)) variables_.push_back(here);
  }
  first_.push_back(static_cast<std::uint32_t>(operands_.size()));
  for (const Expr& root : roots) root_slots_.push_back(slot.at(root.node()));
  std::sort(variables_.begin(), variables_.end(),
            [&](std::uint32_t a, std::uint32_t b) { return compare_nodes(nodes_[a], nodes_[b]) < 0; });
  width_ = find_width();
}

Variable Tape::variable_handle(std::size_t i) const { return Variable::from(Expr::share(nodes_[variables_[i]])); }

Box Tape::box() const {
  Box box;
  box.reserve(variables_.size());
  for (std::size_t i = 0; i < variables_.size(); ++i) box.push_back({variable(i).min, variable(i).max});
  return box;
}

Width Tape::find_width() const {
  // The largest magnitude of any intermediate value, partial sums and partial products included.
  double largest = 0;
  const auto reach = [](const Node* n) {
    return std::max(std::fabs(static_cast<double>(n->lo)), std::fabs(static_cast<double>(n->hi)));
  };
  for (const Node* n : nodes_) {
    double here = reach(n);
    if (n->is(Op::Sum)) {
      double total = std::fabs(static_cast<double>(n->k0()));
      for (const Term& t : n->terms()) total += std::fabs(static_cast<double>(t.coefficient)) * reach(t.atom);
      here = std::max(here, total);
    } else if (n->is(Op::Mul)) {
      double product = 1;
      for (const Node* s : n->sources()) product *= std::max(1.0, reach(s));
      here = std::max(here, product);
    }
    largest = std::max(largest, here);
  }
  if (largest < 0x1p46) return Width::real;
  return largest < 0x1p61 ? Width::wide : Width::checked;
}

namespace {

// k0 + sum of products, exact however large the partial sums are: low and high words are summed separately.
bool exact_sum(const Node* n, std::span<const std::uint32_t> operands, const std::int64_t* values, std::int64_t& out) {
  unsigned __int128 low = static_cast<std::uint64_t>(n->k0());
  __int128 high = n->k0() < 0 ? -1 : 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const __int128 product = static_cast<__int128>(n->terms()[i].coefficient) * values[operands[i]];
    low += static_cast<std::uint64_t>(product);
    high += static_cast<std::int64_t>(product >> 64);
  }
  high += static_cast<std::int64_t>(low >> 64);
  out = static_cast<std::int64_t>(static_cast<std::uint64_t>(low));
  return high == (out < 0 ? -1 : 0);
}

bool exact_product(std::span<const std::uint32_t> operands, const std::int64_t* values, std::int64_t& out) {
  out = 1;
  for (const std::uint32_t s : operands)
    if (values[s] == 0) {
      out = 0;
      return true;
    }
  for (const std::uint32_t s : operands)
    if (!try_mul(out, values[s], out)) return false;
  return true;
}

}  // namespace

std::size_t Tape::run(std::span<const std::int64_t> point, std::vector<std::int64_t>& values) const {
  Meter::charge(1 + nodes_.size() / 4);
  values.resize(nodes_.size());
  for (std::size_t i = 0; i < variables_.size(); ++i) values[variables_[i]] = point[i];
  std::int64_t* v = values.data();
  for (std::size_t slot = 0; slot < nodes_.size(); ++slot) {
    const Node* n = nodes_[slot];
    const auto in = operands(slot);
    switch (n->op) {
      case Op::Const: v[slot] = n->value(); break;
      case Op::Var: break;
      case Op::Sum:
        if (!exact_sum(n, in, v, v[slot])) return slot;
        break;
      case Op::Mul:
        if (!exact_product(in, v, v[slot])) return slot;
        break;
      case Op::Div:
        if (v[in[1]] == 0 || !try_floor_div(v[in[0]], v[in[1]], v[slot])) return slot;
        break;
      case Op::Mod:
        if (v[in[1]] == 0) return slot;
        v[slot] = floor_mod(v[in[0]], v[in[1]]);
        break;
      case Op::Min:
        v[slot] = v[in[0]];
        for (const std::uint32_t s : in) v[slot] = std::min(v[slot], v[s]);
        break;
      case Op::Max:
        v[slot] = v[in[0]];
        for (const std::uint32_t s : in) v[slot] = std::max(v[slot], v[s]);
        break;
      case Op::Select: v[slot] = v[in[0]] != 0 ? v[in[1]] : v[in[2]]; break;
      case Op::Lt: v[slot] = v[in[0]] < v[in[1]]; break;
      case Op::Eq: v[slot] = v[in[0]] == v[in[1]]; break;
      case Op::Ne: v[slot] = v[in[0]] != v[in[1]]; break;
      case Op::And: v[slot] = std::all_of(in.begin(), in.end(), [&](std::uint32_t s) { return v[s] != 0; }); break;
      case Op::Or: v[slot] = std::any_of(in.begin(), in.end(), [&](std::uint32_t s) { return v[s] != 0; }); break;
    }
  }
  return nodes_.size();
}

}  // namespace strata
