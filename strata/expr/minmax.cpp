// min and max: n-ary, flattened, sorted, without arms that another arm dominates.
#include <algorithm>
#include <array>

#include "strata/expr/build.h"
#include "strata/expr/canonical_order.h"

namespace strata {
namespace {

constexpr std::size_t kPairwiseArms = 8;  // the most arms that are compared pairwise

Op dual_extremum(Op op) { return op == Op::Min ? Op::Max : Op::Min; }

// For Op::Min: the term g * min(S) with g > 0, or g * max(S) with g < 0, of l = rest + g * min(S). Such a term splits l
// into one arm for each member of S. Null when there is none, or more than one.
const Term* inner_extremum(Op op, LinearRef l) {
  const Term* found = nullptr;
  for (const Term& t : l.terms) {
    if (t.atom->op != (t.coefficient > 0 ? op : dual_extremum(op))) continue;
    if (found != nullptr) return nullptr;
    found = &t;
  }
  return found;
}

void push_flat(const Build& build, Op op, const Expr& arm, std::vector<Expr>& out) {
  const LinearView l(arm.node());
  const Term* inner = inner_extremum(op, l);
  if (inner == nullptr || inner->coefficient == kNegInf) return out.push_back(arm);
  const Expr rest = build.add(arm, 1, Expr::share(inner->atom), -inner->coefficient);
  for (const Node* s : inner->atom->sources()) {
    out.push_back(build.add(rest, 1, Expr::share(s), inner->coefficient));
  }
}

// True when `a` makes `b` redundant. For min: a <= b everywhere.
bool dominates(const Build& build, Op op, const Expr& a, const Expr& b) {
  if (b.op() == dual_extremum(op)) {  // absorption: min(x, max(x, y)) = x
    const auto s = b.node()->sources();
    if (std::find(s.begin(), s.end(), a.node()) != s.end()) return true;
  }
  if (op == Op::Min ? upper(a.node()) <= lower(b.node()) : lower(a.node()) >= upper(b.node())) return true;
  Linear gap;
  if (!combine(LinearView(b.node()), 1, LinearView(a.node()), -1, gap)) return false;
  const Range r = build.range(ref(gap));
  return op == Op::Min ? r.lo >= 0 : r.hi <= 0;
}

// The part that all arms share: equal terms, and an equal constant unless an arm is a constant.
Linear shared_part(std::span<const Expr> arms) {
  Linear common = copy(LinearView(arms[0].node()));
  bool constant = !common.terms.empty();
  for (const Expr& arm : arms.subspan(1)) {
    const LinearView l(arm.node());
    constant = constant && !l->terms.empty() && l->k0 == common.k0;
    std::size_t kept = 0;
    for (const Term& t : common.terms) {
      if (coefficient_of(l, t.atom) == t.coefficient) common.terms[kept++] = t;
    }
    common.terms.truncate(kept);
  }
  if (!constant) common.k0 = 0;
  return common;
}

// The factor that all arms share, 1 when there is none; negative when all coefficients of all arms are negative (the
// arms are then negated).
std::int64_t shared_factor(std::span<const Expr> arms) {
  std::int64_t g = 0;
  bool negative = true;
  for (const Expr& arm : arms) {
    const LinearView l(arm.node());
    g = gcd(g, gcd(l->k0, content(l)));
    negative = negative && l->k0 <= 0 && l->k0 != kNegInf &&
               std::all_of(l->terms.begin(), l->terms.end(),
                           [](const Term& t) { return t.coefficient < 0 && t.coefficient != kNegInf; });
  }
  return g == 0 ? 1 : negative ? -g : g;
}

Expr exactly_divided(const Build& build, const Expr& e, std::int64_t g) {
  Linear l = copy(LinearView(e.node()));
  l.k0 /= g;
  for (Term& t : l.terms) t.coefficient /= g;
  return build.sum(std::move(l));
}

// Joins two or more arms that are 0 or 1 into one condition: `and` for min, `or` for max.
bool merge_conditions(const Build& build, Op op, std::vector<Expr>& arms) {
  std::vector<Expr> conditions, others;
  for (const Expr& e : arms) (e.node()->is_boolean() ? conditions : others).push_back(e);
  if (conditions.size() < 2) return false;
  if (conditions.size() == 2) {
    if (op == Op::Min) {
      STRATA_FIRED(S20, {"p", conditions[0]}, {"q", conditions[1]});
    } else {
      STRATA_FIRED(S21, {"p", conditions[0]}, {"q", conditions[1]});
    }
  }
  arms = std::move(others);
  arms.push_back(build.junction(op == Op::Min ? Op::And : Op::Or, conditions));
  return true;
}

// Sorts the arms canonically, drops duplicates, and replaces arms with a single value by constants.
void sort_arms(std::vector<Expr>& arms) {
  for (Expr& e : arms) {
    if (e.node()->lo == e.node()->hi && !e.node()->has(kBound)) e = Expr(e.node()->lo);
  }
  sort_and_merge(arms);
}

// Drops dominated arms. A few arms are compared pairwise; among many, only the first one (the constant, if any) with
// the others.
std::vector<Expr> undominated(const Build& build, Op op, const std::vector<Expr>& arms) {
  std::vector<Expr> kept;
  const bool few = arms.size() <= kPairwiseArms;
  for (const Expr& e : arms) {
    const auto beats = [&](const Expr& by) {
      if (!dominates(build, op, by, e)) return false;
      if (op == Op::Min) {
        STRATA_FIRED(S1, {"x", by}, {"y", e});
      } else {
        STRATA_FIRED(S8, {"x", by}, {"y", e});
      }
      return true;
    };
    const auto last = few || kept.empty() ? kept.end() : kept.begin() + 1;
    if (std::any_of(kept.begin(), last, beats)) continue;
    if (few) std::erase_if(kept, [&](const Expr& k) { return dominates(build, op, e, k); });
    kept.push_back(e);
  }
  return kept;
}

}  // namespace

// Pulls out what all arms share, an addend or a factor.
std::optional<Expr> Build::pull_shared(Op op, std::vector<Expr>& arms) const {
  if (Linear common = shared_part(arms); common.k0 != 0 || !common.terms.empty()) {
    const Expr z = sum(std::move(common));
    for (Expr& e : arms) e = add(e, 1, z, -1);
    if (arms.size() == 2) {
      if (op == Op::Min) {
        STRATA_FIRED(S12, {"x", arms[0]}, {"y", arms[1]}, {"z", z});
      } else {
        STRATA_FIRED(S13, {"x", arms[0]}, {"y", arms[1]}, {"z", z});
      }
    }
    return add(z, 1, extremum(op, arms), 1);
  }
  if (const std::int64_t g = shared_factor(arms); g != 1) {
    for (Expr& e : arms) e = exactly_divided(*this, e, g);
    if (arms.size() == 2) {
      if (g > 0 && op == Op::Min) {
        STRATA_FIRED(S5, {"x", arms[0]}, {"y", arms[1]}, {"c", g});
      } else if (g > 0) {
        STRATA_FIRED(S10, {"x", arms[0]}, {"y", arms[1]}, {"c", g});
      } else if (op == Op::Min) {
        STRATA_FIRED(S6, {"x", arms[0]}, {"y", arms[1]}, {"c", -g});
      } else {
        STRATA_FIRED(S11, {"x", arms[0]}, {"y", arms[1]}, {"c", -g});
      }
    }
    return scale(extremum(g > 0 ? op : dual_extremum(op), arms), g);
  }
  return std::nullopt;
}

Expr Build::extremum(Op op, std::span<const Expr> given) const {
  STRATA_CHECK(!given.empty(), request, "[", to_string(op), "] needs at least one operand");
  std::vector<Expr> arms;
  for (const Expr& e : given) push_flat(*this, op, e, arms);
  sort_arms(arms);
  arms = undominated(*this, op, arms);
  if (arms.size() == 1) return arms[0];
  if (merge_conditions(*this, op, arms)) return extremum(op, arms);
  if (op == Op::Max && arms.size() == 2 && arms[0].is_constant() && arms[1].op() == Op::Min &&
      arms[1].node()->src(0)->is(Op::Const)) {  // a clamp is written min(high, max(low, x))
    const auto s = arms[1].node()->sources();
    std::vector<Expr> rest;
    for (const Node* n : s.subspan(1)) rest.push_back(Expr::share(n));
    const Expr high = Expr::share(s[0]), x = extremum(Op::Min, rest);
    STRATA_FIRED(S4, {"x", x}, {"a", high}, {"b", arms[0]});
    return extremum(Op::Min, std::array{high, extremum(Op::Max, std::array{arms[0], x})});
  }
  if (auto pulled = pull_shared(op, arms)) return *std::move(pulled);
  if (arms.size() > kMaxArity) {  // nest: the first arms become one operand
    std::vector<const Node*> head;
    for (std::size_t i = 0; i < kMaxArity; ++i) head.push_back(arms[i].node());
    const Expr inner = intern(op, head);
    STRATA_CHECK(arms.size() < 2 * kMaxArity, budget, "[", to_string(op), "] more than ", 2 * kMaxArity, " operands");
    std::vector<const Node*> tail{inner.node()};
    for (std::size_t i = kMaxArity; i < arms.size(); ++i) tail.push_back(arms[i].node());
    return intern(op, tail);
  }
  std::vector<const Node*> nodes;
  for (const Expr& e : arms) nodes.push_back(e.node());
  return intern(op, nodes);
}

}  // namespace strata
