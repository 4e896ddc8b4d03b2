// Sums: merging terms, and putting digits together again.
#include <algorithm>

#include "strata/expr/build.h"
#include "strata/expr/monomial.h"

namespace strata {
namespace {

constexpr std::size_t kMaxRecombined = 128;  // the search for digits is quadratic in the number of terms

// The atom of a sum too wide to merge further.
bool is_wide(LinearRef l) { return l.terms.size() >= kMaxArity; }

// True iff every term of `part` stands in `l` with `scale` times its coefficient.
bool contains(LinearRef l, LinearRef part, std::int64_t scale) {
  return !part.terms.empty() && std::all_of(part.terms.begin(), part.terms.end(), [&](const Term& t) {
    std::int64_t wanted = 0;
    return try_mul(t.coefficient, scale, wanted) && coefficient_of(l, t.atom) == wanted;
  });
}

std::int64_t divisor(const Node* n) { return n->src(1)->is(Op::Const) ? n->src(1)->value() : 0; }

}  // namespace

std::int64_t content(LinearRef l) {
  std::int64_t g = 0;
  for (const Term& t : l.terms) g = gcd(g, t.coefficient);
  return g;
}

Linear divided(LinearRef l, std::int64_t g) {
  Linear out = copy(l);
  out.k0 = floor_div(l.k0, g);
  for (Term& t : out.terms) t.coefficient /= g;
  return out;
}

namespace {

// s*a + t*b for two nodes that are no sums: at most two terms, no merging of lists.
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
  if (!a.node()->is(Op::Sum) && !b.node()->is(Op::Sum))
    return add_atoms(*this, a.node(), s, b.node(), t);
  const LinearView x(a.node()), y(b.node());
  const Term whole_x{1, a.node()}, whole_y{1, b.node()};
  const LinearRef p = is_wide(x) ? LinearRef{0, {&whole_x, 1}} : LinearRef(x);
  const LinearRef q = is_wide(y) ? LinearRef{0, {&whole_y, 1}} : LinearRef(y);
  Linear l;
  STRATA_CHECK(combine(p, s, q, t, l), overflow,
               "[add] a coefficient of the sum does not fit in 64 bits");
  if (l.terms.size() > kMaxArity) {  // nest: the wider operand becomes one atom
    const bool nest_x = p.terms.size() >= q.terms.size();
    const LinearRef nested{0, {nest_x ? &whole_x : &whole_y, 1}};
    STRATA_CHECK(combine(nest_x ? nested : p, s, nest_x ? q : nested, t, l), overflow,
                 "[add] a coefficient of the sum does not fit in 64 bits");
  }
  return sum(std::move(l));
}

Expr Build::sum(Linear&& l) const {
  const bool lone = l.terms.size() == 1 && l.terms[0].coefficient != 1 && l.terms[0].atom->is(Op::Div);
  if ((l.terms.size() < 2 && !lone) || l.terms.size() > kMaxRecombined) return intern_sum(l);
  constexpr auto bit = [](Op op) { return 1u << static_cast<unsigned>(op); };
  constexpr unsigned kInteresting = bit(Op::Div) | bit(Op::Mod) | bit(Op::Min) | bit(Op::Max);
  unsigned seen = 0;
  for (const Term *t = l.terms.data(), *end = t + l.terms.size(); t != end; ++t)
    seen |= bit(t->atom->op);
  if ((seen & kInteresting) == 0) return intern_sum(l);
  std::vector<Expr> held;  // keeps what the rules made alive until the sum is interned
  while (recombine(l, held)) {
  }
  return intern_sum(l);
}

// One step of putting digits together; true when a rule fired.
bool Build::recombine(Linear& l, std::vector<Expr>& held) const {
  for (std::size_t i = 0; i < l.terms.size(); ++i) {
    const Term t = l.terms[i];
    const bool symbolic = (t.atom->is(Op::Mod) || t.atom->is(Op::Div)) && divisor(t.atom) == 0;
    const bool fired = symbolic              ? recombine_symbolic(l, t, held)
                       : t.atom->is(Op::Mod) ? recombine_mod(l, t, held)
                       : t.atom->is(Op::Div) ? recombine_div(l, t, held)
                       : t.atom->is(Op::Min) ? recombine_minmax(l, t)
                                             : false;
    if (fired) return true;
  }
  return false;
}

// t = a * (x % c): looks for the digits above it.
bool Build::recombine_mod(Linear& l, const Term& t, std::vector<Expr>& held) const {
  const Node *m = t.atom, *x = m->src(0);
  const std::int64_t c = divisor(m), a = t.coefficient;
  std::int64_t above = 0;
  const bool has_above = try_mul(a, c, above);
  const auto replace = [&](const Node* other, const Expr& by, std::int64_t scale) {
    held.push_back(by);
    Linear next = l;
    remove_term(next, m);
    if (other != nullptr) remove_term(next, other);
    if (!add_scaled(next, LinearView(by.node()), scale)) return false;
    l = std::move(next);
    return true;
  };
  // D13 may have turned the quotient over: -((c-1 - y)//c) is y//c.
  const auto turned = [&](const Node* d) {
    if (divisor(d) != c || !has_above || above == kNegInf || coefficient_of(ref(l), d) != -above)
      return false;
    const Expr y = add(Expr(c - 1), 1, Expr::share(d->src(0)), -1);
    if (mod(y, c).node() != m || !replace(d, y, a)) return false;
    STRATA_FIRED(D16, {"x", y}, {"c", c}, {"a", a});
    return true;
  };
  for (const Term& u : l.terms) {
    const Node* d = u.atom;
    if (!(d->is(Op::Div) || d->is(Op::Mod)) || d == m || divisor(d) == 0) continue;
    if (d->is(Op::Div) && turned(d)) return true;
    if (has_above && u.coefficient == above) {
      if (d->is(Op::Div)) {
        // D16: a*c*(y//c) + a*(x%c) = a*y, where x is y with its coefficients reduced mod c
        const bool top =
            divisor(d) == c && (d->src(0) == x || mod(Expr::share(d->src(0)), c).node() == m);
        if (top && replace(d, Expr::share(d->src(0)), a)) {
          STRATA_FIRED(D16, {"x", Expr::share(d->src(0))}, {"c", c}, {"a", a});
          return true;
        }
        // D33: x = z//l and d = z//(l*c)
        std::int64_t whole = 0;
        if (x->is(Op::Div) && divisor(x) != 0 && d->src(0) == x->src(0) &&
            try_mul(divisor(x), c, whole) && divisor(d) == whole && replace(d, Expr::share(x), a)) {
          STRATA_FIRED(D33, {"x", Expr::share(x->src(0))}, {"c", divisor(x)}, {"k", c}, {"a", a});
          return true;
        }
      } else {
        // D32: ((y//c)%k)*c + y%c = y%(c*k); when x = z//l the digit above is (z//(l*c))%k
        const Node* w = d->src(0);
        std::int64_t whole = 0, inner = 0;
        if (!w->is(Op::Div) || !try_mul(c, divisor(d), whole) || divisor(w) == 0) continue;
        const bool direct =
            divisor(w) == c && (w->src(0) == x || mod(Expr::share(w->src(0)), c).node() == m);
        const bool shifted = x->is(Op::Div) && divisor(x) != 0 && w->src(0) == x->src(0) &&
                             try_mul(divisor(x), c, inner) && divisor(w) == inner;
        if (!direct && !shifted) continue;
        const Expr y = Expr::share(direct ? w->src(0) : x);
        const std::int64_t k = divisor(d);
        if (replace(d, mod(y, whole), a)) {
          STRATA_FIRED(D32, {"x", y}, {"c", c}, {"k", k}, {"a", a});
          return true;
        }
      }
    }
    // M24: x%(c*k) - x%c = c*((x//c)%k)
    if (d->is(Op::Mod) && a != kNegInf && u.coefficient == -a && divisor(d) % c == 0 &&
        divisor(d) != c && (d->src(0) == x || mod(Expr::share(d->src(0)), c).node() == m)) {
      const Expr y = Expr::share(d->src(0));
      const std::int64_t k = divisor(d) / c;
      Expr digit = mod(div(y, c), k);
      std::int64_t scale = 0;
      if (try_mul(-a, c, scale) && replace(d, digit, scale)) {
        STRATA_FIRED(M24, {"x", y}, {"c", c}, {"k", k});
        return true;
      }
    }
  }
  // D40: x - x%c = c*(x//c), when all of x is there to be taken
  const LinearView inner(x);
  if (a != kNegInf && has_above && above != kNegInf && l.terms.size() > inner->terms.size() &&
      contains(ref(l), inner, -a)) {
    Linear next = l;
    const Expr quotient = div(Expr::share(x), c);
    held.push_back(quotient);
    remove_term(next, m);
    if (!add_scaled(next, inner, a) || !add_scaled(next, LinearView(quotient.node()), -above))
      return false;
    STRATA_FIRED(D40, {"x", Expr::share(x)}, {"c", c});
    l = std::move(next);
    return true;
  }
  return false;
}

// D20: a*c*(x//c) = a*(x - r) where x == r (mod c), by the congruence of x or by what is assumed.
bool Build::aligned(Linear& l, const Term& t, std::vector<Expr>& held) const {
  const Expr x = Expr::share(t.atom->src(0));
  const std::int64_t c = divisor(t.atom);
  if (t.coefficient % c != 0) return false;
  const Expr r = mod(x, c);
  if (!r.is_constant()) return false;
  const Expr whole = add(x, 1, r, -1);
  held.push_back(whole);
  Linear next = l;
  remove_term(next, t.atom);
  if (!add_scaled(next, LinearView(whole.node()), t.coefficient / c)) return false;
  STRATA_FIRED(D20, {"x", whole}, {"c", c});
  l = std::move(next);
  return true;
}

// t = a * ((w*x + y)//c) next to u*x with a | u: D41 takes u*x into the quotient, which then moves w by a multiple of c.
bool Build::absorb(Linear& l, const Term& t, std::vector<Expr>& held) const {
  const Node* source = t.atom->src(0);
  const std::int64_t c = divisor(t.atom);
  const LinearView inside(source);
  for (const Term& s : inside->terms) {
    const std::int64_t u = coefficient_of(ref(l), s.atom);
    std::int64_t shift = 0;
    if (u == 0 || u == kNegInf || u % t.coefficient != 0) continue;
    if (!try_mul(u / t.coefficient, c, shift)) continue;
    Linear moved, next = l;
    const Term step{shift, s.atom};
    if (!combine(inside, 1, LinearRef{0, {&step, 1}}, 1, moved)) continue;
    const Expr whole = div(sum(std::move(moved)), c);
    held.push_back(whole);
    remove_term(next, t.atom);
    remove_term(next, s.atom);
    if (!add_scaled(next, LinearView(whole.node()), t.coefficient)) continue;
    const Expr x = Expr::share(s.atom);
    STRATA_FIRED(D41, {"x", x}, {"y", add(Expr::share(source), 1, x, -s.coefficient)},
                 {"a", s.coefficient}, {"b", u / t.coefficient}, {"c", c});
    l = std::move(next);
    return true;
  }
  return false;
}

// t = -a*c * (x//c): looks for a*x (D34), or for a*(z//l) with x//c = (z//l)//k.
bool Build::recombine_div(Linear& l, const Term& t, std::vector<Expr>& held) const {
  const Node *d = t.atom, *x = d->src(0);
  const std::int64_t c = divisor(d);
  const auto take = [&](const Expr& y, std::int64_t k, std::int64_t coefficient) {
    if (coefficient % k != 0 || coefficient == kNegInf) return false;
    const std::int64_t a = -(coefficient / k);
    const LinearView whole(y.node());
    if (!contains(ref(l), whole, a)) return false;
    const Expr digit = mod(y, k);
    Linear next = l;
    remove_term(next, d);
    if (!add_scaled(next, whole, -a) || !add_scaled(next, LinearView(digit.node()), a))
      return false;
    STRATA_FIRED(D34, {"x", y}, {"c", k}, {"a", a});
    held.push_back(digit);
    l = std::move(next);
    return true;
  };
  if (take(Expr::share(x), c, t.coefficient)) return true;
  if (t.coefficient != kNegInf && take(add(Expr(c - 1), 1, Expr::share(x), -1), c, -t.coefficient))
    return true;
  if (absorb(l, t, held) || aligned(l, t, held)) return true;
  for (const Term& u : ref(l).terms) {
    const Node* z = u.atom;
    if (z == d || !z->is(Op::Div) || z->src(0) != x || divisor(z) == 0 || c % divisor(z) != 0)
      continue;
    if (take(Expr::share(z), c / divisor(z), t.coefficient)) return true;
  }
  return false;
}

// Y5: a*n*(x//n) + a*(x%n) = a*x for a symbolic n.
bool Build::recombine_symbolic(Linear& l, const Term& t, std::vector<Expr>& held) const {
  if (!t.atom->is(Op::Mod)) return false;
  const Expr x = Expr::share(t.atom->src(0)), n = Expr::share(t.atom->src(1));
  const Expr quotient = div(x, n);
  for (const Term& u : ref(l).terms) {  // Y8: ((x//n)%m)*n + x%n = x%(n*m)
    Expr digit;
    if (u.coefficient != t.coefficient || !divide_monomial(u.atom, n.node(), digit)) continue;
    if (digit.op() != Op::Mod || digit.node()->src(0) != quotient.node()) continue;
    const Expr m = Expr::share(digit.node()->src(1)), both = mod(x, mul(n, m));
    Linear joined = l;
    remove_term(joined, t.atom);
    remove_term(joined, u.atom);
    held.push_back(both);
    if (!add_scaled(joined, LinearView(both.node()), t.coefficient)) continue;
    STRATA_FIRED(Y8, {"x", x}, {"n", n}, {"m", m});
    l = std::move(joined);
    return true;
  }
  const Expr whole = mul(n, quotient);
  const LinearView part(whole.node());
  if (!contains(ref(l), part, t.coefficient)) return false;
  Linear next = l;
  remove_term(next, t.atom);
  if (t.coefficient == kNegInf || !add_scaled(next, part, -t.coefficient) ||
      !add_scaled(next, LinearView(x.node()), t.coefficient))
    return false;
  STRATA_FIRED(Y5, {"x", x}, {"n", n});
  held.push_back(x);
  l = std::move(next);
  return true;
}

// S7: min(x,y) + max(x,y) = x + y
bool Build::recombine_minmax(Linear& l, const Term& t) const {
  for (const Term& u : l.terms) {
    if (!u.atom->is(Op::Max) || u.coefficient != t.coefficient || t.atom->arity != 2 ||
        u.atom->arity != 2)
      continue;
    const Node *x = t.atom->src(0), *y = t.atom->src(1);
    if (x != u.atom->src(0) || y != u.atom->src(1)) continue;
    Linear next = l;
    remove_term(next, t.atom);
    remove_term(next, u.atom);
    if (!add_scaled(next, LinearView(x), t.coefficient) ||
        !add_scaled(next, LinearView(y), t.coefficient))
      continue;
    STRATA_FIRED(S7, {"x", Expr::share(x)}, {"y", Expr::share(y)});
    l = std::move(next);
    return true;
  }
  return false;
}

}  // namespace strata
