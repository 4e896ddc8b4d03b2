// Floor division and modulus by an expression, as in flattening and unflattening an index over symbolic sizes.
#include <array>

#include "strata/expr/build.h"
#include "strata/expr/exact.h"
#include "strata/expr/monomial.h"

namespace strata {
namespace {

// The atom that `l` consists of, else null.
const Node* as_atom(LinearRef l) {
  return l.terms.size() == 1 && l.terms[0].coefficient == 1 && l.k0 == 0 ? l.terms[0].atom : nullptr;
}

// x = n * quotient + rest, term by term. A term of `x` that the leading term of `n` divides is taken out, together with
// the whole of `n`, when this leaves fewer terms than before (or when `n` is a single term).
struct Split {
  Expr quotient = 0;
  Expr rest;
};

// The quotient of a term by the leading term of a divisor; false when it does not divide.
bool leading_quotient(const Term& t, const Term& lead, Expr& quotient) {
  if (lead.coefficient == -1 ? t.coefficient == kNegInf : t.coefficient % lead.coefficient != 0) return false;
  Expr q;
  if (!divide_monomial(t.atom, lead.atom, q)) return false;
  quotient = q * Expr(t.coefficient / lead.coefficient);
  return true;
}

Split split(const Build& build, const Expr& x, const Expr& n) {
  Split s{0, x};
  const LinearView by(n.node());
  if (by->terms.empty()) return s;
  const Term lead = by->terms.back();
  const bool exact = by->terms.size() == 1 && by->k0 == 0;
  for (bool moved = true; moved;) {
    moved = false;
    const LinearView left(s.rest.node());
    for (const Term& t : left->terms) {
      Expr q;
      if (!leading_quotient(t, lead, q)) continue;
      const Expr next = build.add(s.rest, 1, build.mul(q, n), -1);
      const LinearView after(next.node());
      const std::size_t cost = after->terms.size() + (after->k0 != 0), before = left->terms.size() + (left->k0 != 0);
      if (!exact && cost >= before) continue;
      s = {build.add(s.quotient, 1, q, 1), next};
      moved = true;
      break;
    }
  }
  return s;
}

// A factor (an atom) common to every term of `x` and to `n`.
bool common_factor(const Expr& x, const Expr& n, const Node*& factor) {
  const LinearView l(x.node()), m(n.node());
  if (l->k0 != 0 || m->k0 != 0 || m->terms.size() != 1 || l->terms.empty()) return false;
  for (const Node* f : factors(m->terms[0].atom)) {
    Expr q;
    bool all = true;
    for (const Term& t : l->terms) all = all && divide_monomial(t.atom, f, q);
    if (all) {
      factor = f;
      return true;
    }
  }
  return false;
}

Expr divided_by(const Build& build, const Expr& x, const Node* factor) {
  Expr out = 0;
  const LinearView l(x.node());
  for (const Term& t : l->terms) {
    Expr q;
    STRATA_ASSERT(divide_monomial(t.atom, factor, q), "a common factor divides every term");
    out = build.add(out, 1, q, t.coefficient);
  }
  return out;
}

}  // namespace

// 0 when 0 <= x < n is proven, -1 when -n <= x < 0 is; otherwise nothing.
static std::optional<std::int64_t> small_quotient(const Build& build, const Expr& x, const Expr& n) {
  if (const Node* atom = as_atom(LinearView(x.node()));
      atom != nullptr && atom->is(Op::Mod) && atom->src(1) == n.node())
    return 0;
  const Range r = build.range(x);
  if (r.lo >= 0 && build.range(build.add(n, 1, x, -1)).lo > 0) return 0;
  if (r.hi < 0 && build.range(build.add(n, 1, x, 1)).lo >= 0) return -1;
  return std::nullopt;
}

// True when `d` is negative everywhere, false when it is positive everywhere. Asks the exact step before raising an
// error.
static bool negative_divisor(const Build& build, const Expr& x, const Expr& d, std::string_view operation) {
  Range r = build.range(d);
  if (r.lo <= 0 && r.hi >= 0) {
    const Facts exact = exact_facts(d);
    r = {exact.min, exact.max};
  }
  STRATA_CHECK(r.lo > 0 || r.hi < 0, domain, "[", operation, "] the divisor ", d.render(), " of ", x.render(),
               " can be 0: its bounds are ", r.lo, "..", r.hi);
  return r.hi < 0;
}

Expr Build::div(const Expr& x, const Expr& d) const {
  if (const auto c = LinearView(d.node()); c->terms.empty()) return div(x, c->k0);
  if (negative_divisor(*this, x, d, "div")) {
    STRATA_FIRED(N3, {"x", x}, {"n", scale(d, -1)});
    return div_symbolic(scale(x, -1), scale(d, -1));
  }
  return div_symbolic(x, d);
}

Expr Build::mod(const Expr& x, const Expr& d) const {
  if (const auto c = LinearView(d.node()); c->terms.empty()) return mod(x, c->k0);
  if (negative_divisor(*this, x, d, "mod")) {
    STRATA_FIRED(N4, {"x", x}, {"n", scale(d, -1)});
    return scale(mod_symbolic(scale(x, -1), scale(d, -1)), -1);
  }
  return mod_symbolic(x, d);
}

Expr Build::div_symbolic(const Expr& x, const Expr& n) const {
  if (x.is_constant() && x.value() == 0) return 0;
  const RuleDepth depth;
  if (depth.exceeded()) return intern(Op::Div, std::array{x.node(), n.node()});
  if (const auto b = small_quotient(*this, x, n)) {
    STRATA_FIRED(Y16, {"y", x}, {"n", n}, {"b", *b});
    return *b;
  }
  if (const Split s = split(*this, x, n); !s.quotient.is_constant() || s.quotient.value() != 0) {
    STRATA_FIRED(Y1, {"n", n}, {"x", s.quotient}, {"y", s.rest});
    return add(s.quotient, 1, div_symbolic(s.rest, n), 1);
  }
  const LinearView l(x.node()), m(n.node());
  if (const Node* atom = as_atom(l)) {
    if (atom->is(Op::Div)) {
      STRATA_FIRED(Y4, {"x", shared(atom->src(0))}, {"n", shared(atom->src(1))}, {"m", n});
      return div(shared(atom->src(0)), mul(shared(atom->src(1)), n));
    }
    if (atom->is(Op::Mod)) {
      const Split by = split(*this, shared(atom->src(1)), n);
      if (by.rest.is_constant() && by.rest.value() == 0) {
        STRATA_FIRED(Y7, {"x", shared(atom->src(0))}, {"n", n}, {"m", by.quotient});
        return mod(div(shared(atom->src(0)), n), by.quotient);
      }
    }
  }
  const std::int64_t g = gcd(gcd(content(l), l->k0), gcd(content(m), m->k0));
  if (g > 1) {
    const Expr p = sum(divided(l, g)), q = sum(divided(m, g));
    STRATA_FIRED(Y10, {"n", g}, {"x", p}, {"m", q});
    return div(p, q);
  }
  const Node* factor = nullptr;
  if (common_factor(x, n, factor) && factor->lo > 0) {
    const Expr p = divided_by(*this, x, factor), q = divided_by(*this, n, factor);
    STRATA_FIRED(Y10, {"n", shared(factor)}, {"x", p}, {"m", q});
    return div(p, q);
  }
  if (m->terms.size() == 1 && m->k0 == 0) {  // Y11: one factor f of n with x = f*p + y, 0 <= y < f
    for (const Node* f : factors(m->terms[0].atom)) {
      const Split s = split(*this, x, shared(f));
      if (s.quotient.is_constant() || f->lo <= 0) continue;
      if (small_quotient(*this, s.rest, shared(f)) != std::int64_t{0}) continue;
      const Expr q = divided_by(*this, n, f);
      STRATA_FIRED(Y11, {"n", shared(f)}, {"x", s.quotient}, {"y", s.rest}, {"m", q});
      return div(s.quotient, q);
    }
  }
  return intern(Op::Div, std::array<const Node*, 2>{x.node(), n.node()});
}

Expr Build::mod_symbolic(const Expr& x, const Expr& n) const {
  const RuleDepth depth;
  if (depth.exceeded()) return intern(Op::Mod, std::array{x.node(), n.node()});
  if (const auto b = small_quotient(*this, x, n)) {
    STRATA_FIRED(Y15, {"y", x}, {"n", n}, {"b", *b});
    return add(x, 1, n, -*b);
  }
  if (const Split s = split(*this, x, n); !s.quotient.is_constant() || s.quotient.value() != 0) {
    STRATA_FIRED(Y13, {"n", n}, {"x", s.quotient}, {"y", s.rest});
    return mod_symbolic(s.rest, n);
  }
  if (x.is_constant() && x.value() == 0) return 0;
  const LinearView l(x.node()), m(n.node());
  if (const Node* atom = as_atom(l); atom != nullptr && atom->is(Op::Mod)) {
    const Split by = split(*this, shared(atom->src(1)), n);
    if (by.rest.is_constant() && by.rest.value() == 0) {
      STRATA_FIRED(Y14, {"x", shared(atom->src(0))}, {"n", n}, {"m", by.quotient});
      return mod(shared(atom->src(0)), n);
    }
  }
  const std::int64_t g = gcd(gcd(content(l), l->k0), gcd(content(m), m->k0));
  if (g > 1) {
    const Expr p = sum(divided(l, g)), q = sum(divided(m, g));
    STRATA_FIRED(Y6, {"n", g}, {"x", p}, {"m", q});
    return scale(mod(p, q), g);
  }
  const Node* factor = nullptr;
  if (common_factor(x, n, factor) && factor->lo > 0) {
    const Expr p = divided_by(*this, x, factor), q = divided_by(*this, n, factor);
    STRATA_FIRED(Y6, {"n", shared(factor)}, {"x", p}, {"m", q});
    return mul(mod(p, q), shared(factor));
  }
  if (m->terms.size() == 1 && m->k0 == 0) {
    for (const Node* f : factors(m->terms[0].atom)) {
      const Split s = split(*this, x, shared(f));
      if (s.quotient.is_constant() || f->lo <= 0) continue;
      if (small_quotient(*this, s.rest, shared(f)) != std::int64_t{0}) continue;
      const Expr q = divided_by(*this, n, f);
      STRATA_FIRED(Y12, {"n", shared(f)}, {"x", s.quotient}, {"y", s.rest}, {"m", q});
      return add(mul(mod(s.quotient, q), shared(f)), 1, s.rest, 1);
    }
  }
  return intern(Op::Mod, std::array<const Node*, 2>{x.node(), n.node()});
}

}  // namespace strata
