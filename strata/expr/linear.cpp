// Sums under construction: merging of sorted terms, bounds in 128 bits, and the floor lemma.
#include "strata/expr/linear.h"

#include <algorithm>

#include "strata/base/meter.h"

namespace strata {
namespace {

bool scaled_sum(std::int64_t a, std::int64_t s, std::int64_t b, std::int64_t t, std::int64_t& out) {
  return !__builtin_mul_overflow(b, t, &b) && !__builtin_mul_overflow(a, s, &a) && try_add(a, b, out);
}

}  // namespace

bool combine(LinearRef a, std::int64_t s, LinearRef b, std::int64_t t, Linear& out) {
  if (!scaled_sum(a.k0, s, b.k0, t, out.k0)) return false;
  out.terms.clear();
  const Term *p = a.terms.data(), *const p_end = p + a.terms.size();
  const Term *q = b.terms.data(), *const q_end = q + b.terms.size();
  const std::size_t most = a.terms.size() + b.terms.size();
  Meter::charge(1 + most / 2);
  out.terms.reserve(most);
  Term* end = out.terms.data();
  bool fits = true;
  while (p != p_end && q != q_end) {
    const int order = p->atom == q->atom                 ? 0
                      : p->atom->order != q->atom->order ? (p->atom->order < q->atom->order ? -1 : 1)
                                                         : compare_nodes(p->atom, q->atom);
    std::int64_t c = 0;
    if (order == 0) {
      fits &= scaled_sum(p->coefficient, s, q->coefficient, t, c);
    } else {
      fits &= order < 0 ? try_mul(p->coefficient, s, c) : try_mul(q->coefficient, t, c);
    }
    *end = {c, order <= 0 ? p->atom : q->atom};
    end += c != 0;
    p += order <= 0;
    q += order >= 0;
  }
  for (; p != p_end; ++p) {
    fits &= try_mul(p->coefficient, s, end->coefficient);
    end->atom = p->atom;
    end += end->coefficient != 0;
  }
  for (; q != q_end; ++q) {
    fits &= try_mul(q->coefficient, t, end->coefficient);
    end->atom = q->atom;
    end += end->coefficient != 0;
  }
  out.terms.truncate(static_cast<std::size_t>(end - out.terms.data()));
  return fits;
}

bool add_scaled(Linear& a, LinearRef b, std::int64_t t) {
  Linear out;
  if (!combine(ref(a), 1, b, t, out)) return false;
  a = std::move(out);
  return true;
}

std::int64_t coefficient_of(LinearRef l, const Node* atom) {
  Meter::charge(1 + l.terms.size() / 16);
  for (const Term& t : l.terms) {
    if (t.atom == atom) return t.coefficient;
  }
  return 0;
}

void remove_term(Linear& l, const Node* atom) {
  Meter::charge(1 + l.terms.size() / 16);
  for (std::size_t i = 0; i < l.terms.size(); ++i) {
    if (l.terms[i].atom == atom) return l.terms.erase_at(i);
  }
}

WideRange wide_interval(LinearRef l) {
  constexpr Int128 kFar = Int128{1} << 120;  // 1,024 products may exceed 127 bits: beyond kFar a bound is unknown
  Meter::charge(1 + l.terms.size() / 4);
  WideRange r{l.k0, l.k0, true, true};
  for (const Term& t : l.terms) {
    const Node* a = t.atom;
    const bool declared = a->is(Op::Var);  // bounds are known even at INT64_MIN and INT64_MAX
    const Int128 down = Int128{t.coefficient} * (t.coefficient > 0 ? a->lo : a->hi);
    const Int128 up = Int128{t.coefficient} * (t.coefficient > 0 ? a->hi : a->lo);
    const bool low_open = !declared && a->lo == kNegInf, high_open = !declared && a->hi == kPosInf;
    r.lo += down;
    r.hi += up;
    r.lo_known = r.lo_known && !(t.coefficient > 0 ? low_open : high_open) && r.lo > -kFar && r.lo < kFar;
    r.hi_known = r.hi_known && !(t.coefficient > 0 ? high_open : low_open) && r.hi > -kFar && r.hi < kFar;
    if (!r.lo_known) r.lo = 0;
    if (!r.hi_known) r.hi = 0;
  }
  return r;
}

std::int64_t clamp_lower(Int128 v) { return v <= kNegInf ? kNegInf : v >= kPosInf ? kPosInf - 1 : std::int64_t(v); }
std::int64_t clamp_upper(Int128 v) { return v >= kPosInf ? kPosInf : v <= kNegInf ? kNegInf + 1 : std::int64_t(v); }

Range interval(LinearRef l) {
  const WideRange r = wide_interval(l);
  return {r.lo_known ? clamp_lower(r.lo) : kNegInf, r.hi_known ? clamp_upper(r.hi) : kPosInf};
}

bool affine_quotient(LinearRef l, std::int64_t c, Linear& quotient) {
  // At the corner of all lower bounds the value is `base` = q0*c + p0; a step along atom j moves the quotient by x_j.
  Meter::charge(1 + l.terms.size() / 2);
  Int128 base = l.k0;
  for (const Term& t : l.terms) {
    const std::int64_t lo = lower(t.atom);
    if (is_inf(lo) || is_inf(upper(t.atom))) {
      if (t.coefficient % c != 0) return false;  // an unbounded atom must be divided exactly
      continue;
    }
    base += Int128{t.coefficient} * lo;
    if (base > (Int128{1} << 100) || base < -(Int128{1} << 100)) return false;
  }
  const Int128 q0 = base / c - (base % c < 0), p0 = base - q0 * c;
  Int128 least = p0, most = p0, constant = q0;
  quotient.terms.clear();
  for (const Term& t : l.terms) {
    const std::int64_t lo = lower(t.atom), hi = upper(t.atom);
    if (is_inf(lo) || is_inf(hi)) {
      quotient.terms.push_back({t.coefficient / c, t.atom});
      continue;
    }
    const Int128 step = p0 + t.coefficient, x = step / c - (step % c < 0), r = t.coefficient - x * c;
    const Int128 travel = r * (Int128{hi} - lo);
    (travel < 0 ? least : most) += travel;
    if (least < 0 || most >= c) return false;
    if (x == 0) continue;
    constant -= x * lo;
    quotient.terms.push_back({std::int64_t(x), t.atom});
  }
  if (constant <= kNegInf || constant >= kPosInf) return false;
  quotient.k0 = std::int64_t(constant);
  return true;
}

}  // namespace strata
