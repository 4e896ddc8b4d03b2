// Sums: merging of terms. digits.cpp recombines digits.
#include <algorithm>

#include "strata/expr/build.h"
#include "strata/expr/digits.h"

namespace strata {
namespace {

constexpr std::size_t kMaxRecombined = 128;  // the search for digits is quadratic in the number of terms

// True for a sum that is too wide to merge: it becomes an atom.
bool is_wide(LinearRef l) { return l.terms.size() >= kMaxArity; }

}  // namespace

std::int64_t content(LinearRef l) {
  std::int64_t g = 0;
  for (const Term& t : l.terms) g = gcd(g, t.coefficient);
  return g;
}

SmallVec<std::int64_t, 8> shared_factors(LinearRef l, std::int64_t c) {
  SmallVec<std::int64_t, 8> out;
  for (const Term& t : l.terms) {
    const std::int64_t g = gcd(t.coefficient, c);
    if (g != 1 && g != c && std::find(out.begin(), out.end(), g) == out.end()) out.push_back(g);
  }
  return out;
}

Linear divided(LinearRef l, std::int64_t g) {
  Linear out = copy(l);
  out.k0 = floor_div(l.k0, g);
  for (Term& t : out.terms) t.coefficient /= g;
  return out;
}

namespace {

// s*a + t*b for two nodes that are not sums: at most two terms, so no lists are merged.
Expr add_atoms(const Build& build, const Node* a, std::int64_t s, const Node* b, std::int64_t t) {
  Linear l;
  bool fits = true;
  std::int64_t part = 0;
  const auto add_one = [&](const Node* n, std::int64_t scale) {
    if (scale == 0) return;
    if (n->lo == n->hi && !n->has(kBound)) {
      fits = fits && try_mul(n->lo, scale, part) && try_add(l.k0, part, l.k0);
    } else {
      l.terms.push_back({scale, n});
    }
  };
  if (a == b) {
    fits = try_add(s, t, s);
    add_one(a, s);
  } else {
    add_one(a, s);
    add_one(b, t);
    if (l.terms.size() == 2 && compare_nodes(a, b) > 0) std::swap(l.terms[0], l.terms[1]);
  }
  STRATA_CHECK(fits, overflow, "[add] a coefficient of the sum does not fit in 64 bits");
  return build.sum(std::move(l));
}

}  // namespace

Expr Build::add(const Expr& a, std::int64_t s, const Expr& b, std::int64_t t) const {
  if (!a.node()->is(Op::Sum) && !b.node()->is(Op::Sum)) return add_atoms(*this, a.node(), s, b.node(), t);
  const LinearView x(a.node()), y(b.node());
  const Term whole_x{1, a.node()}, whole_y{1, b.node()};
  const LinearRef p = is_wide(x) ? LinearRef{0, {&whole_x, 1}} : LinearRef(x);
  const LinearRef q = is_wide(y) ? LinearRef{0, {&whole_y, 1}} : LinearRef(y);
  Linear l;
  STRATA_CHECK(combine(p, s, q, t, l), overflow, "[add] a coefficient of the sum does not fit in 64 bits");
  return sum(std::move(l));
}

// Nests a sum that is too wide: its first kMaxArity terms become one atom.
static Expr nested_sum(const Linear& l) {
  Linear head, tail;
  head.terms.append(l.terms.data(), kMaxArity);
  tail.k0 = l.k0;
  tail.terms.append(l.terms.data() + kMaxArity, l.terms.size() - kMaxArity);
  const Expr inner = intern_sum(head);
  const Term one{1, inner.node()};
  STRATA_CHECK(add_scaled(tail, LinearRef{0, {&one, 1}}, 1), overflow, "[add] a nested sum does not fit");
  return tail.terms.size() > kMaxArity ? nested_sum(tail) : intern_sum(tail);
}

Expr Build::sum(Linear&& l) const {
  if (l.terms.size() > kMaxArity) return nested_sum(l);
  const bool lone = l.terms.size() == 1 && l.terms[0].coefficient != 1 && l.terms[0].atom->is(Op::Div);
  if ((l.terms.size() < 2 && !lone) || l.terms.size() > kMaxRecombined) return intern_sum(l);
  constexpr auto bit = [](Op op) { return 1u << static_cast<unsigned>(op); };
  constexpr unsigned kInteresting = bit(Op::Div) | bit(Op::Mod) | bit(Op::Min) | bit(Op::Max);
  unsigned seen = 0;
  for (const Term *t = l.terms.data(), *end = t + l.terms.size(); t != end; ++t) seen |= bit(t->atom->op);
  if ((seen & kInteresting) == 0) return intern_sum(l);
  Digits digits(*this, l);
  while (digits.step()) {
  }
  if (l.terms.size() > kMaxArity) return nested_sum(l);
  return intern_sum(l);
}

}  // namespace strata
