// Comparisons. Each becomes `sum < constant`, `sum == constant` or `sum != constant`, where the gcd of the sum's
// coefficients is 1.
#include <array>

#include "strata/expr/build.h"

namespace strata {
namespace {

Expr difference(const Build& build, const Expr& a, const Expr& b) { return build.add(a, 1, b, -1); }

// -v. @throws Error (overflow) when it does not fit in 64 bits
std::int64_t checked_neg(std::int64_t v) {
  STRATA_CHECK(v != kNegInf, overflow, "[compare] a bound does not fit in 64 bits");
  return -v;
}

}  // namespace

Expr Build::lt(const Expr& a, const Expr& b) const {
  if (context_ == nullptr && b.is_constant()) {
    if (const Node* known = find_interned(Op::Lt, a.node(), b.value())) return Expr::adopt(known);
  }
  if (upper(a.node()) < lower(b.node())) {
    STRATA_FIRED(C13, {"x", a}, {"y", b});
    return 1;
  }
  if (lower(a.node()) >= upper(b.node()) && !is_inf(lower(a.node())) && !is_inf(upper(b.node()))) {
    STRATA_FIRED(C14, {"x", a}, {"y", b});
    return 0;
  }
  Linear l;
  STRATA_CHECK(combine(LinearView(a.node()), 1, LinearView(b.node()), -1, l), overflow,
               "[lt] a coefficient of the difference does not fit in 64 bits");
  STRATA_FIRED(C28, {"x", a}, {"y", b});
  const Expr d = sum(std::move(l));  // may recombine digits
  const Node* n = d.node();
  if (context_ == nullptr && n->is(Op::Sum) && n->k0() == 0) {
    if (const Node* known = find_interned(Op::Lt, n, 0)) return Expr::adopt(known);
  }
  return lt_zero(copy(LinearView(d.node())));
}

// For a > 0: a * min(x, y, ...) + k0 < 0 iff a*x + k0 < 0 or a*y + k0 < 0 or ... (`and` for max, or for a < 0). Applies
// when bounds decide every arm but one.
std::optional<Expr> Build::lt_extremum(const Node* atom, std::int64_t a, std::int64_t k0) const {
  const bool any = atom->is(Op::Min) == (a > 0);
  const Node* open = nullptr;
  for (const Node* s : atom->sources()) {
    Linear arm;
    if (!combine(LinearView(s), a, LinearRef{k0, {}}, 1, arm)) return std::nullopt;
    const Range r = range(ref(arm));
    if (r.hi < 0 || r.lo >= 0) {
      if ((r.hi < 0) == any) return Expr(any ? 1 : 0);
      continue;
    }
    if (open != nullptr) return std::nullopt;
    open = s;
  }
  if (open == nullptr) return Expr(any ? 0 : 1);
  if (atom->arity == 2 && k0 != kNegInf && a == 1) {
    const Expr other = shared(atom->src(atom->src(0) == open ? 1 : 0));
    if (atom->is(Op::Min)) {
      STRATA_FIRED(C37, {"x", shared(open)}, {"y", other}, {"z", -k0});
    } else {
      STRATA_FIRED(C38, {"x", shared(open)}, {"y", other}, {"z", -k0});
    }
  }
  const Expr arm = add(shared(open), a, Expr(k0), 1);
  return lt_zero(copy(LinearView(arm.node())));
}

namespace {

// Weights of nonnegative atoms do not matter in a comparison that only asks whether all atoms are 0.
//   C9: -(c*x + k*y) < 0 iff -(x + y) < 0;  C54: c*x + k*y < a iff x + y < 1, when 0 < a <= c, k
bool drop_weights(Linear& l) {
  bool above = l.k0 == 0, below = l.k0 < 0, weighted = l.k0 < -1;
  for (const Term& t : l.terms) {
    above = above && t.coefficient < 0;
    below = below && t.coefficient > -(l.k0 + 1);  // coefficient >= -k0
    weighted = weighted || (t.coefficient != 1 && t.coefficient != -1);
    if (lower(t.atom) < 0) return false;
  }
  if (!weighted || (!above && !below) || l.terms.size() < 2) return false;
  if (l.terms.size() == 2) {
    const Expr x = Expr::share(l.terms[0].atom), y = Expr::share(l.terms[1].atom);
    const std::int64_t c = l.terms[0].coefficient, k = l.terms[1].coefficient;
    if (above && c != kNegInf && k != kNegInf) STRATA_FIRED(C9, {"c", -c}, {"x", x}, {"k", -k}, {"y", y});
    if (below) STRATA_FIRED(C54, {"c", c}, {"x", x}, {"k", k}, {"y", y}, {"a", -l.k0});
  }
  for (Term& t : l.terms) t.coefficient = above ? -1 : 1;
  l.k0 = above ? 0 : -1;
  return true;
}

}  // namespace

// The condition l < 0 for a single term with coefficient 1 or -1.
std::optional<Expr> Build::lt_lone(LinearRef l) const {
  const Node* atom = l.terms[0].atom;
  const std::int64_t a = l.terms[0].coefficient;
  if (is_condition(atom) && l.k0 == (a == 1 ? -1 : 0)) {
    if (a == -1) {
      STRATA_FIRED(C35, {"p", shared(atom)});
      return shared(atom);
    }
    STRATA_FIRED(C34, {"p", shared(atom)});
    return negate(shared(atom));
  }
  if (atom->is(Op::Div) && atom->src(1)->is(Op::Const)) {
    const std::int64_t c = atom->src(1)->value();
    const Expr x = shared(atom->src(0));
    std::int64_t bound = 0;
    // C4: x//c + k0 < 0 iff x < -k0*c;  C5: -(x//c) + k0 < 0 iff x//c >= k0+1 iff x >= (k0+1)*c
    if (a == 1 && l.k0 != kNegInf && try_mul(-l.k0, c, bound)) {
      STRATA_FIRED(C4, {"x", x}, {"c", c}, {"a", -l.k0});
      return lt(x, bound);
    }
    if (a == -1 && l.k0 != kPosInf && try_mul(l.k0 + 1, c, bound) && bound != kNegInf) {
      STRATA_FIRED(C5, {"x", x}, {"c", c}, {"a", l.k0 + 1});
      return lt(Expr(bound - 1), x);
    }
  }
  return atom->is(Op::Min) || atom->is(Op::Max) ? lt_extremum(atom, a, l.k0) : std::nullopt;
}

// The condition l < 0.
Expr Build::lt_zero(Linear&& l) const {
  const Range r = range(ref(l));
  if (r.hi < 0) return 1;
  if (r.lo >= 0) return 0;
  if (l.terms.empty()) return l.k0 < 0 ? 1 : 0;
  if (const std::int64_t g = content(ref(l)); g > 1) {
    // C1: g*t + k0 < 0 iff t < -k0/g iff t < ceil(-k0/g) = -floor(k0/g), since t is an integer
    const Expr t = sum(divided(without_constant(ref(l)), g));
    if (l.k0 != kNegInf) STRATA_FIRED(C1, {"c", g}, {"x", t}, {"a", -l.k0});
    return lt_zero(divided(ref(l), g));
  }
  const RuleDepth depth;
  if (l.terms.size() == 1 && !depth.exceeded()) {
    if (auto decided = lt_lone(ref(l))) return *std::move(decided);
  }
  for (const std::int64_t g : shared_factors(ref(l), 0)) {  // drops a low part that cannot decide
    Linear q, low;
    if (g == 0 || !affine_quotient(ref(l), g, q) || !combine(ref(l), 1, ref(q), -g, low)) continue;
    STRATA_FIRED(C2, {"c", g}, {"x", sum(Linear(q))}, {"y", sum(std::move(low))}, {"a", 0});
    return lt_zero(std::move(q));
  }
  if (drop_weights(l)) return lt_zero(std::move(l));
  const std::int64_t k0 = std::exchange(l.k0, 0);
  const std::size_t width = l.terms.size();
  const Expr bound(checked_neg(k0)), x = sum(std::move(l));
  if (const LinearView again(x.node()); again->terms.size() != width) {  // digits recombined: start over
    Linear next = copy(again);
    STRATA_CHECK(try_add(next.k0, k0, next.k0), overflow, "[lt] a bound does not fit in 64 bits");
    return lt_zero(std::move(next));
  }
  return intern(Op::Lt, std::array{x.node(), bound.node()});
}

Expr Build::eq(const Expr& a, const Expr& b) const { return equality(Op::Eq, a, b); }
Expr Build::ne(const Expr& a, const Expr& b) const { return equality(Op::Ne, a, b); }

Expr Build::equality(Op op, const Expr& a, const Expr& b) const {
  const bool is_eq = op == Op::Eq;
  const Expr d = difference(*this, a, b);
  const LinearView l(d.node());
  const auto decided = [&](bool equal) {
    if (is_eq && equal) STRATA_FIRED(C15, {"x", a}, {"y", b});
    if (is_eq && !equal) STRATA_FIRED(C16, {"x", a}, {"y", b});
    if (!is_eq && equal) STRATA_FIRED(C48, {"x", a}, {"y", b});
    if (!is_eq && !equal) STRATA_FIRED(C49, {"x", a}, {"y", b});
    return Expr(equal == is_eq ? 1 : 0);
  };
  if (l->terms.empty()) return decided(l->k0 == 0);
  const Range r = range(l);
  if (r.lo > 0 || r.hi < 0) return decided(false);
  const Node* n = d.node();
  if (n->modulus > 1 && n->residue != 0) {  // d is never 0 modulo n->modulus
    if (is_eq) STRATA_FIRED(C17, {"x", d}, {"a", 0}, {"c", n->modulus});
    return decided(false);
  }
  const std::int64_t g = content(l);
  if (g > 1 && l->k0 % g != 0) return decided(false);
  const std::int64_t sign = l->terms[0].coefficient < 0 ? -1 : 1;
  Linear t = divided(l, g);
  if (sign < 0) {
    Linear flipped;
    STRATA_CHECK(combine(ref(t), -1, LinearRef{0, {}}, 0, flipped), overflow,
                 "[eq] a coefficient does not fit in 64 bits");
    t = std::move(flipped);
  }
  const std::int64_t value = checked_neg(t.k0);
  t.k0 = 0;
  const std::size_t width = t.terms.size();
  Expr x = sum(std::move(t));
  if (LinearView(x.node())->terms.size() != width) return equality(op, x, value);  // digits were recombined
  if (std::int64_t whole = 0; g > 1 && try_mul(value, g, whole)) {
    if (is_eq) {
      STRATA_FIRED(C18, {"c", g}, {"x", x}, {"a", whole});
    } else {
      STRATA_FIRED(C45, {"c", g}, {"x", x}, {"a", whole});
    }
  }
  if (x.node()->is_boolean() && (value == 0 || value == 1)) {
    const bool positive = (value == 1) == is_eq;  // p == 1, p != 0
    if (is_condition(x.node())) return positive ? x : negate(x);
    if (positive && x.is_variable()) return x;
  }
  const Expr v(value);
  return intern(op, std::array{x.node(), v.node()});
}

}  // namespace strata
