// Bounds and congruence of a node, from those of its sources. Always sound; kTight and kDense are set where proven.
#include <algorithm>
#include <array>
#include <numeric>

#include "strata/expr/linear.h"

namespace strata {
namespace {

void set_flag(Node& n, NodeFlag flag, bool on = true) {
  if (on) n.flags = static_cast<std::uint8_t>(n.flags | flag);
}

struct Congruence {
  std::int64_t modulus, residue;
};

Congruence normal(std::int64_t modulus, std::int64_t residue) {
  return {modulus, modulus == 0 ? residue : floor_mod(residue, modulus)};
}

// The strongest congruence that holds for the values of both.
Congruence join(Congruence a, Congruence b) {
  std::int64_t gap = 0;
  if (!try_sub(a.residue, b.residue, gap)) return {1, 0};
  return normal(gcd(gcd(a.modulus, b.modulus), gap), a.residue);
}
Congruence congruence_of(const Node* n) { return {n->modulus, n->residue}; }

// The congruence of r + c*s for r in a, s in b; weaker (at worst modulus 1) when a product does not fit in 64 bits.
Congruence add_multiple(Congruence a, std::int64_t c, Congruence b) {
  if (a.modulus == 1) return a;
  if ((c == 1 || c == -1) && b.modulus == 1) return {1, 0};
  std::int64_t step = 0, shift = 0, residue = 0;
  if (!try_mul(c, b.modulus, step) || !try_mul(c, b.residue, shift) || !try_add(a.residue, shift, residue))
    return normal(gcd(a.modulus, gcd(c, 0)), floor_mod(a.residue, std::max<std::int64_t>(gcd(c, 0), 1)));
  return normal(gcd(a.modulus, step), residue);
}

Congruence multiply(Congruence a, Congruence b) {
  std::int64_t mm = 0, mr = 0, rm = 0, rr = 0;
  if (!try_mul(a.modulus, b.modulus, mm) || !try_mul(a.modulus, b.residue, mr) || !try_mul(a.residue, b.modulus, rm) ||
      !try_mul(a.residue, b.residue, rr))
    return {1, 0};
  return normal(gcd(gcd(mm, mr), rm), rr);
}

void set_congruence(Node& n, Congruence c) {
  n.modulus = c.modulus;
  n.residue = c.residue;
}

// Moves the bounds inwards to the nearest values that satisfy the congruence.
void tighten(Node& n) {
  if (n.modulus <= 1) return;
  if (!is_inf(n.lo)) n.lo = clamp_lower(Int128{n.lo} + floor_mod(n.residue - floor_mod(n.lo, n.modulus), n.modulus));
  if (!is_inf(n.hi)) n.hi = clamp_upper(Int128{n.hi} - floor_mod(floor_mod(n.hi, n.modulus) - n.residue, n.modulus));
}

// True iff the terms (dense, on disjoint variables) together take every integer of their range: sorted by magnitude,
// each coefficient is at most 1 + the range that the smaller ones span.
bool fills_range(std::span<const Term> terms) {
  constexpr std::size_t kMost = 8;
  if (terms.size() > kMost) return false;
  std::array<Term, kMost> sorted;  // by insertion: a handful of terms
  for (std::size_t i = 0; i < terms.size(); ++i) {
    std::size_t j = i;
    for (; j > 0 && magnitude(sorted[j - 1].coefficient) > magnitude(terms[i].coefficient); --j)
      sorted[j] = sorted[j - 1];
    sorted[j] = terms[i];
  }
  Int128 reach = 0;
  for (const Term& t : std::span(sorted).first(terms.size())) {
    const Int128 step = static_cast<Int128>(magnitude(t.coefficient));
    if (step > reach + 1) return false;
    reach += step * (Int128{t.atom->hi} - t.atom->lo);
    if (reach > kPosInf) return false;
  }
  return true;
}

void sum_facts(Node& n) {
  const WideRange r = wide_interval({n.k0(), n.terms()});
  bool tight = r.lo_known && r.hi_known, dense = true, linear = true;
  Congruence c{0, n.k0()};
  std::uint64_t seen = 0;
  for (const Term& t : n.terms()) {
    const Node* a = t.atom;
    tight &= a->has(kTight) && (seen & a->variables) == 0;
    dense &= a->has(kDense);
    linear &= a->is(Op::Var);
    seen |= a->variables;
    c = add_multiple(c, t.coefficient, congruence_of(a));
    set_flag(n, kDivMod, a->is(Op::Div) || a->is(Op::Mod));
    set_flag(n, kBound, a->has(kBound));
  }
  n.lo = r.lo_known ? clamp_lower(r.lo) : kNegInf;
  n.hi = r.hi_known ? clamp_upper(r.hi) : kPosInf;
  set_congruence(n, c);
  tighten(n);
  set_flag(n, kLinear, linear);
  tight = tight && n.lo == r.lo && n.hi == r.hi;
  set_flag(n, kTight, tight);
  set_flag(n, kDense, tight && dense && fills_range(n.terms()));
}

// A larger divisor moves the quotient towards 0 (or -1), so the extremes lie at corners.
Int128 quotient_bound(Int128 x, std::int64_t small, std::int64_t large, bool lowest) {
  const bool towards_zero = lowest == (x >= 0);  // the larger divisor gives the extreme
  if (towards_zero && is_inf(large)) return lowest ? 0 : -1;
  const Int128 d = towards_zero ? large : small;
  return x / d - (x % d < 0);
}

void div_facts(Node& n) {
  const Node *x = n.src(0), *d = n.src(1);
  const WideRange r = wide_interval(LinearView(x));
  const std::int64_t small = std::max<std::int64_t>(lower(d), 1), large = std::max(upper(d), small);
  n.lo = r.lo_known ? clamp_lower(quotient_bound(r.lo, small, large, true)) : kNegInf;
  n.hi = r.hi_known ? clamp_upper(quotient_bound(r.hi, small, large, false)) : kPosInf;
  if (x->lo >= 0) n.lo = std::max<std::int64_t>(n.lo, 0);
  set_congruence(n, {1, 0});
  if (d->is(Op::Const)) {
    set_flag(n, kTight, x->has(kTight));
    set_flag(n, kDense, x->has(kDense));
  }
}

void mod_facts(Node& n) {
  const Node *x = n.src(0), *d = n.src(1);
  const std::int64_t c = upper(d);
  n.lo = 0;
  n.hi = is_inf(c) ? kPosInf : c - 1;
  if (lower(x) >= 0) n.hi = std::min(n.hi, upper(x));
  set_congruence(n, {1, 0});
  if (!d->is(Op::Const)) return;
  const std::int64_t m = gcd(x->modulus, c);
  set_congruence(n, normal(m, x->residue));
  tighten(n);
  if (!x->has(kDense)) return;
  // A dense source that crosses a multiple of c takes both c-1 and 0; if it has at least c values, it takes every
  // residue.
  const bool crosses = floor_div(x->lo, c) != floor_div(x->hi, c);
  set_flag(n, kTight, crosses);
  set_flag(n, kDense, crosses && Int128{x->hi} - x->lo + 1 >= c);
}

// The range of a factor, or of its square.
std::array<Int128, 2> factor_range(const Node* a, bool squared) {
  if (!squared) return {a->lo, a->hi};
  const Int128 p = Int128{a->lo} * a->lo, q = Int128{a->hi} * a->hi;
  return {a->lo <= 0 && a->hi >= 0 ? 0 : std::min(p, q), std::max(p, q)};
}

// For a product beyond 64 bits only the sign is known.
void sign_facts(Node& n) {
  const auto sources = n.sources();
  const bool nonnegative = std::all_of(sources.begin(), sources.end(), [](const Node* s) { return s->lo >= 0; });
  n.lo = nonnegative ? 0 : kNegInf;
  n.hi = kPosInf;
  set_congruence(n, {1, 0});
}

void mul_facts(Node& n) {
  Int128 lo = 1, hi = 1;
  bool tight = true;
  std::uint64_t seen = 0;
  Congruence c{0, 1};
  const auto sources = n.sources();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Node* a = sources[i];
    if (is_inf(a->lo) || is_inf(a->hi)) return sign_facts(n);
    const bool squared = i + 1 < sources.size() && sources[i + 1] == a;
    const auto [l, h] = factor_range(a, squared);
    if (h >= kPosInf) return sign_facts(n);  // 128 bits hold a product of two 64-bit values only
    const std::array<Int128, 4> corners{lo * l, lo * h, hi * l, hi * h};
    lo = *std::min_element(corners.begin(), corners.end());
    hi = *std::max_element(corners.begin(), corners.end());
    if (lo <= kNegInf || hi >= kPosInf) return sign_facts(n);
    tight &= !squared && a->has(kTight) && (seen & a->variables) == 0;
    seen |= a->variables;
    c = multiply(c, congruence_of(a));
    if (squared) {
      c = multiply(c, congruence_of(a));
      ++i;
    }
  }
  n.lo = std::int64_t(lo);
  n.hi = std::int64_t(hi);
  set_congruence(n, c);
  tighten(n);
  set_flag(n, kTight, tight);
}

void choice_facts(Node& n, std::span<const Node* const> arms) {
  n.lo = lower(arms[0]);
  n.hi = upper(arms[0]);
  Congruence c = congruence_of(arms[0]);
  for (const Node* a : arms.subspan(1)) {
    n.lo = n.op == Op::Max ? std::max(n.lo, lower(a)) : std::min(n.lo, lower(a));
    n.hi = n.op == Op::Min ? std::min(n.hi, upper(a)) : std::max(n.hi, upper(a));
    c = join(c, congruence_of(a));
  }
  set_congruence(n, c);
}

bool independent_and(NodeFlag flag, std::span<const Node* const> sources) {
  std::uint64_t seen = 0;
  for (const Node* s : sources) {
    if (!s->has(flag) || (seen & s->variables) != 0) return false;
    seen |= s->variables;
  }
  return true;
}

void condition_facts(Node& n) {
  n.lo = 0;
  n.hi = 1;
  set_congruence(n, {1, 0});
  const Node* x = n.src(0);
  bool both = false;
  switch (n.op) {
    case Op::Lt: both = x->has(kTight) && x->lo < n.src(1)->lo && n.src(1)->lo <= x->hi; break;
    case Op::Eq:
    case Op::Ne: both = x->has(kDense) && x->lo < x->hi && x->lo <= n.src(1)->lo && n.src(1)->lo <= x->hi; break;
    default: both = independent_and(kTight, n.sources());
  }
  set_flag(n, kTight, both);
  set_flag(n, kDense, both);
}

}  // namespace

void compute_facts(Node& n) {
  switch (n.op) {
    case Op::Const: return;
    case Op::Var: {
      const VariableInfo& v = n.variable();
      n.lo = v.min;
      n.hi = v.max;
      set_congruence(n, v.min == v.max ? Congruence{0, v.min} : Congruence{1, 0});
      set_flag(n, kLinear);
      set_flag(n, kBound, v.bound);
      set_flag(n, kTight, !is_inf(n.lo) && !is_inf(n.hi));
      set_flag(n, kDense, n.has(kTight));
      return;
    }
    case Op::Sum: return sum_facts(n);
    case Op::Mul: mul_facts(n); break;
    case Op::Div: div_facts(n); break;
    case Op::Mod: mod_facts(n); break;
    case Op::Min:
    case Op::Max:
      choice_facts(n, n.sources());
      set_flag(n, kTight, independent_and(kTight, n.sources()));
      break;
    case Op::Select:
      choice_facts(n, n.sources().subspan(1));
      set_flag(n, kTight, independent_and(kTight, n.sources()));
      break;
    case Op::Lt:
    case Op::Eq:
    case Op::Ne:
    case Op::And:
    case Op::Or: condition_facts(n); break;
  }
  for (const Node* s : n.sources()) set_flag(n, kBound, s->has(kBound));
  set_flag(n, kDivMod, n.is(Op::Div) || n.is(Op::Mod));
}

}  // namespace strata
