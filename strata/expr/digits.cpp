// Recombination of digits.
//
// NOTE: a rule compares terms as they are, and builds an expression only after it has matched. An expression built for
// a comparison would itself search for digits in its parts, and so on: exponential in the depth.
#include "strata/expr/digits.h"

#include <algorithm>

#include "strata/expr/monomial.h"

namespace strata {
namespace {

// True for a quotient (or modulus) by a constant.
bool is_constant_digit(const Node* n, Op op) { return n->is(op) && n->src(1)->is(Op::Const); }
// The divisor of such a digit.
std::int64_t divisor(const Node* digit) {
  const std::int64_t c = digit->src(1)->value();
  STRATA_ASSERT(c > 0, "a digit with the divisor ", c);
  return c;
}

// True iff `l` contains every term of `part` with `scale` times its coefficient.
bool contains(LinearRef l, LinearRef part, std::int64_t scale) {
  return !part.terms.empty() && part.terms.size() <= l.terms.size() &&
         std::all_of(part.terms.begin(), part.terms.end(), [&](const Term& t) {
           std::int64_t wanted = 0;
           return try_mul(t.coefficient, scale, wanted) && coefficient_of(l, t.atom) == wanted;
         });
}

// True iff `x` is `y` with coefficients reduced modulo c, which is how y % c stores its source.
bool congruent(LinearRef y, LinearRef x, std::int64_t c) {
  std::size_t i = 0;
  for (const Term& t : y.terms) {
    const std::int64_t r = floor_mod(t.coefficient, c);
    if (r == 0) continue;
    if (i == x.terms.size() || x.terms[i].atom != t.atom || x.terms[i].coefficient != r) return false;
    ++i;
  }
  return i == x.terms.size() && floor_mod(y.k0, c) == x.k0;
}
bool congruent(const Node* y, const Node* x, std::int64_t c) {
  return y == x || congruent(LinearView(y), LinearView(x), c);
}

}  // namespace

bool Digits::step() {
  for (std::size_t i = 0; i < l_.terms.size(); ++i) {
    const Term t = l_.terms[i];
    const Node* n = t.atom;
    if (t.coefficient == kNegInf) continue;
    if (is_constant_digit(n, Op::Mod) && join(t)) return true;
    if (is_constant_digit(n, Op::Div) && (residue_difference(t) || absorb(t) || aligned(t))) return true;
    if (n->is(Op::Mod) && !is_constant_digit(n, Op::Mod) && join_symbolic(t)) return true;
    if (n->is(Op::Min) && join_extrema(t)) return true;
  }
  return false;
}

bool Digits::replace(const Node* a, const Node* b, const Expr& by, std::int64_t scale) {
  Linear next = l_;
  remove_term(next, a);
  if (b != nullptr) remove_term(next, b);
  if (!add_scaled(next, LinearView(by.node()), scale)) return false;
  held_.push_back(by);
  l_ = std::move(next);
  return true;
}

// Joins low = a * (x%c) with any other term.
bool Digits::join(const Term& low) {
  for (std::size_t i = 0; i < l_.terms.size(); ++i) {
    const Term high = l_.terms[i];
    if (high.atom == low.atom) continue;
    if (is_constant_digit(high.atom, Op::Div) && join_quotient(low, high)) return true;
    if (is_constant_digit(high.atom, Op::Mod) && (join_digit(low, high) || digit_difference(low, high))) return true;
  }
  return multiple_difference(low);
}

bool Digits::join_quotient(const Term& low, const Term& high) {
  const Node *x = low.atom->src(0), *y = high.atom->src(0);
  const std::int64_t c = divisor(low.atom), a = low.coefficient;
  std::int64_t above = 0, whole = 0;
  if (!try_mul(a, c, above) || above == kNegInf) return false;
  // D16: a*c*(y//c) + a*(x%c) = a*y, where x is y with its coefficients reduced
  if (high.coefficient == above && divisor(high.atom) == c && congruent(y, x, c) &&
      replace(low.atom, high.atom, shared(y), a)) {
    STRATA_FIRED(D16, {"x", shared(y)}, {"c", c}, {"a", a});
    return true;
  }
  // the same rule where D13 has negated the quotient: y//c = -((c-1 - y)//c)
  Linear turned;
  if (high.coefficient == -above && divisor(high.atom) == c &&
      combine(LinearView(y), -1, LinearRef{c - 1, {}}, 1, turned) && congruent(ref(turned), LinearView(x), c)) {
    const Expr z = build_.sum(std::move(turned));
    STRATA_FIRED(D16, {"x", z}, {"c", c}, {"a", a});
    return replace(low.atom, high.atom, z, a);
  }
  // D33: x = z//l and y//d = z//(l*c)
  if (high.coefficient == above && is_constant_digit(x, Op::Div) && y == x->src(0) && try_mul(divisor(x), c, whole) &&
      divisor(high.atom) == whole && replace(low.atom, high.atom, shared(x), a)) {
    STRATA_FIRED(D33, {"x", shared(y)}, {"c", divisor(x)}, {"k", c}, {"a", a});
    return true;
  }
  return false;
}

// D32: a*c*((y//c)%k) + a*(y%c) = a*(y%(c*k)). For x = z//l the upper digit is (z//(l*c))%k.
bool Digits::join_digit(const Term& low, const Term& high) {
  const Node *x = low.atom->src(0), *w = high.atom->src(0);
  const std::int64_t c = divisor(low.atom), a = low.coefficient, k = divisor(high.atom);
  std::int64_t above = 0, whole = 0, inner = 0;
  if (!try_mul(a, c, above) || high.coefficient != above || !is_constant_digit(w, Op::Div) || !try_mul(c, k, whole))
    return false;
  const bool direct = divisor(w) == c && congruent(w->src(0), x, c);
  const bool shifted =
      is_constant_digit(x, Op::Div) && w->src(0) == x->src(0) && try_mul(divisor(x), c, inner) && divisor(w) == inner;
  if (!direct && !shifted) return false;
  const Expr y = shared(direct ? w->src(0) : x);
  if (!replace(low.atom, high.atom, build_.mod(y, whole), a)) return false;
  STRATA_FIRED(D32, {"x", y}, {"c", c}, {"k", k}, {"a", a});
  return true;
}

// M24: x%(c*k) - x%c = c*((x//c)%k)
bool Digits::digit_difference(const Term& low, const Term& whole) {
  const std::int64_t c = divisor(low.atom), d = divisor(whole.atom);
  std::int64_t scale = 0;
  if (whole.coefficient != -low.coefficient || d == c || d % c != 0 || !try_mul(whole.coefficient, c, scale))
    return false;
  if (!congruent(whole.atom->src(0), low.atom->src(0), c)) return false;
  const Expr y = shared(whole.atom->src(0));
  if (!replace(low.atom, whole.atom, build_.mod(build_.div(y, c), d / c), scale)) return false;
  STRATA_FIRED(M24, {"x", y}, {"c", c}, {"k", d / c});
  return true;
}

// D40: x - x%c = c*(x//c), if the sum contains all of x.
bool Digits::multiple_difference(const Term& low) {
  const Expr x = shared(low.atom->src(0));
  const std::int64_t c = divisor(low.atom), a = low.coefficient;
  std::int64_t above = 0;
  const LinearView inner(x.node());
  if (!try_mul(a, c, above) || above == kNegInf || !contains(ref(l_), inner, -a)) return false;
  const Expr quotient = build_.div(x, c);
  Linear next = l_;
  remove_term(next, low.atom);
  if (!add_scaled(next, inner, a) || !add_scaled(next, LinearView(quotient.node()), -above)) return false;
  STRATA_FIRED(D40, {"x", x}, {"c", c});
  held_.push_back(quotient);
  l_ = std::move(next);
  return true;
}

// D34: a*x - a*c*(x//c) = a*(x%c), where x is the source of the quotient, or x = z//l is itself a quotient in the sum.
bool Digits::residue_difference(const Term& quotient) {
  const Node* x = quotient.atom->src(0);
  const std::int64_t c = divisor(quotient.atom);
  if (take_multiple(quotient, shared(x), c)) return true;
  for (std::size_t i = 0; i < l_.terms.size(); ++i) {
    const Node* z = l_.terms[i].atom;
    if (z == quotient.atom || !is_constant_digit(z, Op::Div) || z->src(0) != x || c % divisor(z) != 0) continue;
    if (take_multiple(quotient, shared(z), c / divisor(z))) return true;
  }
  return false;
}

bool Digits::take_multiple(const Term& quotient, const Expr& x, std::int64_t c) {
  if (quotient.coefficient % c != 0) return false;
  const std::int64_t a = -(quotient.coefficient / c);
  const LinearView whole(x.node());
  if (!contains(ref(l_), whole, a)) return false;
  const Expr digit = build_.mod(x, c);
  Linear next = l_;
  remove_term(next, quotient.atom);
  if (!add_scaled(next, whole, -a) || !add_scaled(next, LinearView(digit.node()), a)) return false;
  STRATA_FIRED(D34, {"x", x}, {"c", c}, {"a", a});
  held_.push_back(digit);
  l_ = std::move(next);
  return true;
}

// D41: moves a term u*x next to a*((w*x + y)//c), with a | u, into the quotient; this changes w by a multiple of c.
bool Digits::absorb(const Term& quotient) {
  const Expr source = shared(quotient.atom->src(0));
  const std::int64_t c = divisor(quotient.atom), a = quotient.coefficient;
  const LinearView inside(source.node());
  for (const Term& s : inside->terms) {
    const std::int64_t u = coefficient_of(ref(l_), s.atom);
    std::int64_t shift = 0;
    if (u == 0 || u == kNegInf || s.coefficient == kNegInf || u % a != 0 || !try_mul(u / a, c, shift)) continue;
    Linear moved;
    const Term step{shift, s.atom};
    if (!combine(inside, 1, LinearRef{0, {&step, 1}}, 1, moved)) continue;
    const Expr x = shared(s.atom), whole = build_.div(build_.sum(std::move(moved)), c);
    if (!replace(quotient.atom, s.atom, whole, a)) continue;
    STRATA_FIRED(D41, {"x", x}, {"y", build_.add(source, 1, x, -s.coefficient)}, {"a", s.coefficient}, {"b", u / a},
                 {"c", c});
    return true;
  }
  return false;
}

// D20: a*c*(x//c) = a*(x - r) where x == r (mod c), by the congruence of x or by an assumption.
bool Digits::aligned(const Term& quotient) {
  const Expr x = shared(quotient.atom->src(0));
  const Node* n = x.node();
  const std::int64_t c = divisor(quotient.atom);
  if (quotient.coefficient % c != 0) return false;
  std::int64_t r = 0;
  if (n->modulus > 0 && n->modulus % c == 0) {
    r = floor_mod(n->residue, c);
  } else if (const auto part = build_.aligned_part(x, c); part && part->rest.is_constant()) {
    r = floor_mod(floor_mod(part->rest.value(), c) - (c - part->residue), c);
  } else {
    return false;
  }
  const Expr whole = build_.add(x, 1, Expr(r), -1);
  if (!replace(quotient.atom, nullptr, whole, quotient.coefficient / c)) return false;
  STRATA_FIRED(D20, {"x", whole}, {"c", c});
  return true;
}

// Joins low = a * (x%n) for a symbolic n.
bool Digits::join_symbolic(const Term& low) {
  const auto holds_digit = [](const Term& u) {
    const auto is = [](const Node* f) { return f->is(Op::Div) || f->is(Op::Mod); };
    return u.atom->is(Op::Mul) && std::any_of(u.atom->sources().begin(), u.atom->sources().end(), is);
  };
  if (std::none_of(l_.terms.begin(), l_.terms.end(), holds_digit)) return false;
  const Expr x = shared(low.atom->src(0)), n = shared(low.atom->src(1)), quotient = build_.div(x, n);
  if (join_symbolic_digit(low, quotient)) return true;
  const Expr whole = build_.mul(n, quotient);  // Y5: a*n*(x//n) + a*(x%n) = a*x
  const LinearView part(whole.node());
  if (!contains(ref(l_), part, low.coefficient)) return false;
  Linear next = l_;
  remove_term(next, low.atom);
  if (!add_scaled(next, part, -low.coefficient) || !add_scaled(next, LinearView(x.node()), low.coefficient))
    return false;
  STRATA_FIRED(Y5, {"x", x}, {"n", n});
  held_.push_back(x);
  l_ = std::move(next);
  return true;
}

// Y8: ((x//n)%m)*n + x%n = x%(n*m)
bool Digits::join_symbolic_digit(const Term& low, const Expr& quotient) {
  const Expr x = shared(low.atom->src(0)), n = shared(low.atom->src(1));
  for (std::size_t i = 0; i < l_.terms.size(); ++i) {
    const Term u = l_.terms[i];
    Expr digit;
    if (u.coefficient != low.coefficient || !divide_monomial(u.atom, n.node(), digit)) continue;
    if (digit.op() != Op::Mod || digit.node()->src(0) != quotient.node()) continue;
    const Expr m = shared(digit.node()->src(1));
    if (!replace(low.atom, u.atom, build_.mod(x, build_.mul(n, m)), low.coefficient)) continue;
    STRATA_FIRED(Y8, {"x", x}, {"n", n}, {"m", m});
    return true;
  }
  return false;
}

// S7: min(x,y) + max(x,y) = x + y
bool Digits::join_extrema(const Term& low) {
  for (std::size_t i = 0; i < l_.terms.size(); ++i) {
    const Term u = l_.terms[i];
    if (!u.atom->is(Op::Max) || u.coefficient != low.coefficient || low.atom->arity != 2 || u.atom->arity != 2)
      continue;
    if (!std::equal(low.atom->sources().begin(), low.atom->sources().end(), u.atom->sources().begin())) continue;
    const Expr x = shared(low.atom->src(0)), y = shared(low.atom->src(1));
    if (!replace(low.atom, u.atom, build_.add(x, 1, y, 1), low.coefficient)) continue;
    STRATA_FIRED(S7, {"x", x}, {"y", y});
    return true;
  }
  return false;
}

}  // namespace strata
