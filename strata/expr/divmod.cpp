// Floor division and modulus by a constant. The rules are tried in a fixed order; each names its row of rules.def.
#include <array>

#include "strata/expr/assume.h"
#include "strata/expr/build.h"

namespace strata {
namespace {

std::int64_t constant_divisor(const Node* n) { return n->src(1)->is(Op::Const) ? n->src(1)->value() : 0; }

Expr plain(Op op, const Expr& x, std::int64_t c) {
  const Expr d(c);
  return intern(op, std::array{x.node(), d.node()});
}

// The atom of `l` when it is the only term and has coefficient 1; else null.
const Node* lone_atom(LinearRef l) {
  return l.terms.size() == 1 && l.terms[0].coefficient == 1 ? l.terms[0].atom : nullptr;
}

// rest = l - g * q. @pre the difference fits in 64 bits, as it does when q is a quotient of l by g
bool remainder_of(LinearRef l, std::int64_t g, const Linear& q, Linear& rest) {
  return g != kNegInf && combine(l, 1, ref(q), -g, rest);
}

// True iff `q` and `rest` have no atom in common.
bool apart(const Linear& q, const Linear& rest) {
  for (const Term& t : q.terms) {
    if (coefficient_of(ref(rest), t.atom) != 0) return false;
  }
  return true;
}

// The smallest k' in [0, l.k0] with floor((l - k0 + k') / c) == floor(l / c), from the congruence of `l`.
std::int64_t least_constant(LinearRef l, const Node* n, std::int64_t c) {
  const std::int64_t g = gcd(n->modulus, c);
  if (l.k0 <= 0 || g <= 1) return l.k0;
  const std::int64_t s = floor_mod(floor_mod(n->residue, g) - floor_mod(l.k0, g), g);  // residue of l - k0
  std::int64_t block = 0;
  if (!try_add(s, l.k0, block)) return l.k0;
  block -= floor_mod(block, g) + s;
  return block < 0 ? 0 : block;
}

}  // namespace

Expr Build::div(const Expr& x, std::int64_t c) const {
  STRATA_CHECK(c != 0, domain, "[div] ", x.render(), " divided by 0");
  std::int64_t value = 0;
  if (x.is_constant()) {
    STRATA_CHECK(try_floor_div(x.value(), c, value), overflow, "[div] ", x.value(), " // -1 does not fit in 64 bits");
    return value;
  }
  if (c < 0) {
    STRATA_CHECK(c != kNegInf, overflow, "[div] the divisor ", c, " cannot be negated in 64 bits");
    STRATA_FIRED(N1, {"x", x}, {"c", -c});
    return div(scale(x, -1), -c);
  }
  if (c == 1) {
    STRATA_FIRED(D1, {"x", x});
    return x;
  }
  const Node* n = x.node();
  if (context_ == nullptr) {
    if (const Node* known = find_interned(Op::Div, n, c)) return Expr::adopt(known);
  }
  const Range r = range(x);
  if (!is_inf(r.lo) && !is_inf(r.hi) && floor_div(r.lo, c) == floor_div(r.hi, c)) {
    STRATA_FIRED(D10, {"y", x}, {"c", c}, {"b", floor_div(r.lo, c)});
    return floor_div(r.lo, c);
  }
  const RuleDepth depth;
  return depth.exceeded() ? plain(Op::Div, x, c) : div_sum(x, c);
}

std::optional<Build::AlignedPart> Build::aligned_part(const Expr& x, std::int64_t c) const {
  if (context_ == nullptr) return std::nullopt;
  const LinearView l(x.node());
  for (const Context::Aligned& f : context_->aligned()) {
    if (f.sum.terms.empty()) continue;
    const Term& lead = f.sum.terms[0];
    const std::int64_t here = coefficient_of(l, lead.atom);
    std::int64_t t = 0, reach = 0, residue = 0;
    if (here == 0 || lead.coefficient == -1 ? here == kNegInf : here % lead.coefficient != 0) continue;
    t = here / lead.coefficient;
    if (t == 0 || !try_mul(t, f.modulus, reach) || reach % c != 0 || !try_mul(t, f.residue, residue)) continue;
    Linear rest;
    if (t == kNegInf || !combine(l, 1, ref(f.sum), -t, rest) ||
        rest.terms.size() + f.sum.terms.size() != l->terms.size())
      continue;
    const Expr remainder = sum(std::move(rest));
    return AlignedPart{add(x, 1, remainder, -1), remainder, floor_mod(residue, c)};
  }
  return std::nullopt;
}

// The rules for a quotient; the first that applies gives the result.
Expr Build::div_sum(const Expr& x, std::int64_t c) const {
  static constexpr DivModRule kRules[] = {
      &Build::div_aligned,  &Build::div_carry,  &Build::div_lone_digit, &Build::div_lone_choice, &Build::div_content,
      &Build::div_multiple, &Build::div_affine, &Build::div_constant,   &Build::div_sign,
  };
  const LinearView l(x.node());
  for (const DivModRule rule : kRules) {
    if (auto answer = (this->*rule)(x, l, c)) return *std::move(answer);
  }
  return plain(Op::Div, x, c);
}

// Under an assumption that aligns a part: part = c*q + residue gives (part + rest)//c = part//c + (rest + residue)//c.
std::optional<Expr> Build::div_aligned(const Expr& x, LinearRef, std::int64_t c) const {
  const auto a = aligned_part(x, c);
  if (!a || same(a->rest, 0) || same(a->rest, floor_mod(-a->residue, c))) return std::nullopt;
  const Expr low = add(a->rest, 1, Expr(a->residue), 1);
  STRATA_FIRED(D21, {"x", low}, {"y", add(a->part, 1, Expr(a->residue), -1)}, {"c", c});
  return add(div(a->part, c), 1, div(low, c), 1);
}

// Under an assumption: the first term and the rest never carry, or always carry.
std::optional<Expr> Build::div_carry(const Expr& x, LinearRef l, std::int64_t c) const {
  if (context_ == nullptr || l.terms.size() < 2) return std::nullopt;
  const Expr first = sum(copy({0, l.terms.first(1)})), rest = add(x, 1, first, -1);
  const Range low = range(add(mod(first, c), 1, mod(rest, c), 1));
  if (low.hi < c) {
    STRATA_FIRED(D26, {"x", first}, {"y", rest}, {"c", c});
  } else if (low.lo >= c) {
    STRATA_FIRED(D27, {"x", first}, {"y", rest}, {"c", c});
  } else {
    return std::nullopt;
  }
  const Expr parts = add(div(first, c), 1, div(rest, c), 1);
  return add(parts, 1, Expr(low.hi < c ? 0 : 1), 1);
}

// The numerator is a single quotient or modulus.
std::optional<Expr> Build::div_lone_digit(const Expr&, LinearRef l, std::int64_t c) const {
  const Node* atom = lone_atom(l);
  if (atom == nullptr || !(atom->is(Op::Div) || atom->is(Op::Mod))) return std::nullopt;
  const std::int64_t d = constant_divisor(atom);
  const Expr y = shared(atom->src(0));
  std::int64_t whole = 0, shift = 0;
  if (atom->is(Op::Div) && d != 0 && try_mul(d, c, whole) && try_mul(l.k0, d, shift)) {
    STRATA_FIRED(D3, {"x", y}, {"c", d}, {"a", l.k0}, {"k", c});
    return div(add(y, 1, Expr(shift), 1), whole);
  }
  if (atom->is(Op::Mod) && d != 0 && l.k0 == 0 && d % c == 0) {
    STRATA_FIRED(D12, {"x", y}, {"c", c}, {"k", d / c});
    return mod(div(y, c), d / c);
  }
  return std::nullopt;
}

// The numerator is a single min or max of a constant and another arm.
std::optional<Expr> Build::div_lone_choice(const Expr&, LinearRef l, std::int64_t c) const {
  const Node* atom = lone_atom(l);
  if (atom == nullptr || !(atom->is(Op::Min) || atom->is(Op::Max)) || atom->arity != 2) return std::nullopt;
  if (!atom->src(0)->is(Op::Const) && !atom->src(1)->is(Op::Const)) return std::nullopt;
  const Expr a = add(shared(atom->src(0)), 1, Expr(l.k0), 1);
  const Expr b = add(shared(atom->src(1)), 1, Expr(l.k0), 1);
  if (atom->is(Op::Min)) {
    STRATA_FIRED(D23, {"x", a}, {"y", b}, {"c", c});
  } else {
    STRATA_FIRED(D24, {"x", a}, {"y", b}, {"c", c});
  }
  return extremum(atom->op, std::array{div(a, c), div(b, c)});
}

// All coefficients and c have a common factor.
std::optional<Expr> Build::div_content(const Expr&, LinearRef l, std::int64_t c) const {
  const std::int64_t g = gcd(content(l), c);
  if (g <= 1) return std::nullopt;
  const Expr part = sum(divided(without_constant(l), g));
  STRATA_FIRED(D9, {"x", part}, {"g", g}, {"a", l.k0}, {"c", c / g});
  return div(add(part, 1, Expr(floor_div(l.k0, g)), 1), c / g);
}

// Pulls out the terms that c divides, and the multiples of c in the constant.
std::optional<Expr> Build::div_multiple(const Expr&, LinearRef l, std::int64_t c) const {
  Linear out, rest;
  out.k0 = floor_div(l.k0, c);
  rest.k0 = floor_mod(l.k0, c);
  for (const Term& t : l.terms) {
    if (t.coefficient % c == 0) {
      out.terms.push_back({t.coefficient / c, t.atom});
    } else {
      rest.terms.push_back(t);
    }
  }
  if (out.k0 == 0 && out.terms.empty()) return std::nullopt;
  const Expr pulled = sum(std::move(out)), left = sum(std::move(rest));
  STRATA_FIRED(D4, {"c", c}, {"x", pulled}, {"y", left});
  return add(pulled, 1, div(left, c), 1);
}

// The floor lemma (affine_quotient), for c itself and then for the factors that c shares with single coefficients.
std::optional<Expr> Build::div_affine(const Expr& x, LinearRef l, std::int64_t c) const {
  Linear q, r;
  if (affine_quotient(l, c, q) && remainder_of(l, c, q, r)) {
    Expr quotient = sum(std::move(q));
    STRATA_FIRED(D11, {"a", c}, {"b", 1}, {"c", c}, {"d", 0}, {"x", quotient}, {"y", sum(std::move(r))});
    return quotient;
  }
  for (const std::int64_t g : shared_factors(l, c)) {
    if (!affine_quotient(l, g, q)) continue;
    const Expr quotient = sum(std::move(q));
    STRATA_FIRED(D7, {"x", 0}, {"y", x}, {"g", g}, {"c", c / g});
    return div(quotient, c / g);
  }
  return std::nullopt;
}

// Reduces the constant, when the congruence of the other terms allows it.
std::optional<Expr> Build::div_constant(const Expr& x, LinearRef l, std::int64_t c) const {
  const std::int64_t k = least_constant(l, x.node(), c);
  if (k >= l.k0) return std::nullopt;
  const Expr part = sum(copy(without_constant(l)));
  STRATA_FIRED(D39, {"x", part}, {"a", l.k0}, {"b", k}, {"c", c});
  return div(add(part, 1, Expr(k), 1), c);
}

// Makes the first coefficient positive: (-x)//c = -((x + c-1)//c).
std::optional<Expr> Build::div_sign(const Expr&, LinearRef l, std::int64_t c) const {
  Linear positive;
  if (l.terms[0].coefficient > 0 || !combine(l, -1, LinearRef{c - 1, {}}, 1, positive)) return std::nullopt;
  const Expr y = sum(std::move(positive));
  STRATA_FIRED(D13, {"x", add(y, 1, Expr(c - 1), -1)}, {"c", c});
  return scale(div(y, c), -1);
}

Expr Build::mod(const Expr& x, std::int64_t c) const {
  STRATA_CHECK(c != 0, domain, "[mod] ", x.render(), " modulo 0");
  if (x.is_constant()) return floor_mod(x.value(), c);
  if (c < 0) {
    STRATA_CHECK(c != kNegInf, overflow, "[mod] the divisor ", c, " cannot be negated in 64 bits");
    STRATA_FIRED(N2, {"x", x}, {"c", -c});
    return scale(mod(scale(x, -1), -c), -1);
  }
  if (c == 1) {
    STRATA_FIRED(M1, {"x", x});
    return 0;
  }
  const Node* n = x.node();
  if (context_ == nullptr) {
    if (const Node* known = find_interned(Op::Mod, n, c)) return Expr::adopt(known);
  }
  const Range r = range(x);
  if (!is_inf(r.lo) && !is_inf(r.hi) && floor_div(r.lo, c) == floor_div(r.hi, c)) {
    const std::int64_t b = floor_div(r.lo, c);
    std::int64_t shift = 0, k0 = 0;
    if (try_mul(b, -c, shift) && try_add(LinearView(n)->k0, shift, k0)) {
      STRATA_FIRED(M2, {"y", x}, {"c", c}, {"b", b});
      return add(x, 1, Expr(shift), 1);
    }
  }
  if (n->modulus > 0 && n->modulus % c == 0) {
    STRATA_FIRED(M10, {"x", x}, {"c", c}, {"k", n->modulus / c}, {"b", n->residue});
    return floor_mod(n->residue, c);
  }
  const RuleDepth depth;
  return depth.exceeded() ? plain(Op::Mod, x, c) : mod_sum(x, c);
}

// The rules for a modulus; the first that applies gives the result.
Expr Build::mod_sum(const Expr& x, std::int64_t c) const {
  static constexpr DivModRule kRules[] = {
      &Build::mod_aligned, &Build::mod_inner, &Build::mod_reduced, &Build::mod_content, &Build::mod_affine,
  };
  const LinearView l(x.node());
  for (const DivModRule rule : kRules) {
    if (auto answer = (this->*rule)(x, l, c)) return *std::move(answer);
  }
  return plain(Op::Mod, x, c);
}

std::optional<Expr> Build::mod_aligned(const Expr& x, LinearRef, std::int64_t c) const {
  const auto a = aligned_part(x, c);
  if (!a) return std::nullopt;
  const Expr low = add(a->rest, 1, Expr(a->residue), 1);
  STRATA_FIRED(M11, {"x", low}, {"y", add(a->part, 1, Expr(a->residue), -1)}, {"c", c});
  return mod(low, c);
}

// In a term a * (y%m) whose a*m is a multiple of c, the inner modulus is dropped: a*y.
std::optional<Expr> Build::mod_inner(const Expr&, LinearRef l, std::int64_t c) const {
  for (const Term& t : l.terms) {
    const std::int64_t m = t.atom->is(Op::Mod) ? constant_divisor(t.atom) : 0;
    const std::int64_t a = floor_mod(t.coefficient, c);
    std::int64_t reach = 0;
    if (m == 0 || a == 0 || !try_mul(a, m, reach) || reach % c != 0) continue;
    Linear others = copy(l), next;
    remove_term(others, t.atom);
    const Expr y = shared(t.atom->src(0)), rest = sum(std::move(others));
    if (!combine(LinearView(rest.node()), 1, LinearView(y.node()), a, next)) continue;
    STRATA_FIRED(M6, {"a", a}, {"x", y}, {"c", c}, {"k", reach / c}, {"y", rest});
    return mod(sum(std::move(next)), c);
  }
  return std::nullopt;
}

// Reduces coefficients and constant to [0, c).
std::optional<Expr> Build::mod_reduced(const Expr& x, LinearRef l, std::int64_t c) const {
  Linear reduced;
  reduced.k0 = floor_mod(l.k0, c);
  bool changed = reduced.k0 != l.k0;
  for (const Term& t : l.terms) {
    const std::int64_t a = floor_mod(t.coefficient, c);
    changed |= a != t.coefficient;
    if (a != 0) reduced.terms.push_back({a, t.atom});
  }
  if (!changed) return std::nullopt;
  const Expr less = sum(std::move(reduced));
  STRATA_FIRED(M11, {"x", less}, {"y", add(x, 1, less, -1)}, {"c", c});
  return mod(less, c);
}

std::optional<Expr> Build::mod_content(const Expr&, LinearRef l, std::int64_t c) const {
  const std::int64_t g = gcd(content(l), c);
  if (g <= 1) return std::nullopt;
  const Expr part = sum(divided(without_constant(l), g));
  STRATA_FIRED(M9, {"x", part}, {"g", g}, {"y", l.k0}, {"c", c / g});
  const Expr high = mod(add(part, 1, Expr(floor_div(l.k0, g)), 1), c / g);
  return add(high, g, Expr(floor_mod(l.k0, g)), 1);
}

// The floor lemma: the remainder is affine, or splits into digits at a factor that c shares with a coefficient.
std::optional<Expr> Build::mod_affine(const Expr&, LinearRef l, std::int64_t c) const {
  Linear q, r;
  if (affine_quotient(l, c, q) && remainder_of(l, c, q, r)) {
    Expr rest = sum(std::move(r));
    STRATA_FIRED(M12, {"a", c}, {"b", 1}, {"c", c}, {"d", 0}, {"x", sum(std::move(q))}, {"y", rest});
    return rest;
  }
  for (const std::int64_t g : shared_factors(l, c)) {
    if (!affine_quotient(l, g, q) || !remainder_of(l, g, q, r) || !apart(q, r)) continue;
    const Expr high = sum(std::move(q)), low = sum(std::move(r));
    STRATA_FIRED(M8, {"x", high}, {"y", low}, {"g", g}, {"c", c / g});
    return add(mod(high, c / g), g, low, 1);
  }
  return std::nullopt;
}

}  // namespace strata
