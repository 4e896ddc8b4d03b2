// Products: constants scale a sum, sums distribute, other products are monomials with sorted factors.
#include <algorithm>
#include <array>

#include "strata/expr/build.h"
#include "strata/expr/monomial.h"

namespace strata {
namespace {

constexpr std::size_t kMaxProducts = 64;  // products of more terms stay factored

}  // namespace

std::span<const Node* const> factors(const Node* const& atom) {
  return atom->is(Op::Mul) ? atom->sources() : std::span<const Node* const>{&atom, 1};
}

Expr monomial(std::span<const Node* const> sorted) {
  if (sorted.empty()) return 1;
  return sorted.size() == 1 ? Expr::share(sorted[0]) : intern(Op::Mul, sorted);
}

bool divide_monomial(const Node* a, const Node* b, Expr& quotient) {
  const auto whole = factors(a), part = factors(b);
  SmallVec<const Node*, 8> left;
  std::size_t j = 0;
  for (const Node* f : whole) {
    if (j < part.size() && part[j] == f) {
      ++j;
    } else {
      left.push_back(f);
    }
  }
  if (j != part.size()) return false;
  quotient = monomial({left.data(), left.size()});
  return true;
}

namespace {

// The product of two atoms: factors merged in canonical order, conditions joined by `and`.
Expr atom_product(const Build& build, const Node* a, const Node* b) {
  SmallVec<const Node*, 8> merged;
  std::vector<Expr> conditions;
  const auto x = factors(a), y = factors(b);
  std::size_t i = 0, j = 0;
  while (i < x.size() || j < y.size()) {
    const bool left = j == y.size() || (i < x.size() && compare_nodes(x[i], y[j]) <= 0);
    const Node* f = left ? x[i++] : y[j++];
    if (f->is_boolean()) {
      conditions.push_back(Expr::share(f));
    } else {
      merged.push_back(f);
    }
  }
  STRATA_CHECK(merged.size() < kMaxArity, budget, "[mul] a product of ", merged.size(), " factors");
  if (conditions.empty()) return monomial({merged.data(), merged.size()});
  const Expr all = conditions.size() == 1 ? conditions[0] : build.junction(Op::And, conditions);
  if (conditions.size() > 1)
    STRATA_FIRED(A6, {"p", conditions[0]}, {"q", build.junction(Op::And, std::span(conditions).subspan(1))});
  if (merged.empty() || all.is_constant()) {
    const Expr rest = monomial({merged.data(), merged.size()});
    return all.is_constant() ? (all.value() == 0 ? Expr(0) : rest) : all;
  }
  const auto place = std::upper_bound(merged.begin(), merged.end(), all.node(),
                                      [](const Node* p, const Node* q) { return compare_nodes(p, q) < 0; });
  SmallVec<const Node*, 8> sorted;
  sorted.append(merged.begin(), static_cast<std::size_t>(place - merged.begin()));
  sorted.push_back(all.node());
  sorted.append(place, static_cast<std::size_t>(merged.end() - place));
  return monomial({sorted.data(), sorted.size()});
}

}  // namespace

Expr Build::mul(const Expr& a, const Expr& b) const {
  const LinearView x(a.node()), y(b.node());
  if (y->terms.empty()) return scale(a, y->k0);
  if (x->terms.empty()) return scale(b, x->k0);
  if (context_ == nullptr) {  // if the product of exactly these two factors exists, it is canonical
    const bool ordered = compare_nodes(a.node(), b.node()) <= 0;
    const std::array key{ordered ? a.node() : b.node(), ordered ? b.node() : a.node()};
    if (const Node* known = find_interned(Op::Mul, key)) return Expr::adopt(known);
  }
  if (x->terms.size() * y->terms.size() > kMaxProducts) {
    const bool ordered = compare_nodes(a.node(), b.node()) <= 0;
    return intern(Op::Mul, std::array{ordered ? a.node() : b.node(), ordered ? b.node() : a.node()});
  }
  Linear l;
  std::vector<Expr> held;
  const auto fits = [](bool ok) {
    STRATA_CHECK(ok, overflow, "[mul] a coefficient of the product does not fit in 64 bits");
  };
  for (const Term& s : x->terms) {
    for (const Term& t : y->terms) {
      std::int64_t c = 0;
      fits(try_mul(s.coefficient, t.coefficient, c));
      held.push_back(atom_product(*this, s.atom, t.atom));
      fits(add_scaled(l, LinearView(held.back().node()), c));
    }
  }
  fits(add_scaled(l, without_constant(x), y->k0) && add_scaled(l, y, x->k0));
  if (x->terms.size() > 1) STRATA_FIRED(A2, {"x", b}, {"y", Expr(x->k0)}, {"z", add(a, 1, Expr(x->k0), -1)});
  return sum(std::move(l));
}

}  // namespace strata
