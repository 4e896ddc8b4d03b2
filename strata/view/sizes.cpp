// Sizes: signs of polynomials over bounded atoms, exact division, and assumptions.

#include "strata/view/sizes.h"

#include <algorithm>

#include "strata/base/check.h"
#include "strata/base/int_math.h"
#include "strata/expr/exact.h"
#include "strata/expr/node.h"

namespace strata {
namespace {

constexpr int kDefinitionDepth = 4;      // nesting of atoms inside atoms whose defining facts are used
constexpr int kFactSteps = 96;           // combinations with facts that one question may try
constexpr std::size_t kSizeProbes = 12;  // sample points that one question looks at
constexpr std::uint64_t kTable = 4096;   // points of the largest box that is enumerated
constexpr std::uint64_t kTableBudget = 200'000;

std::uint64_t mixed(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// The value of a variable at sample point `point`: mostly small, sometimes anywhere within the bounds.
std::int64_t sample_value(std::int64_t lo, std::int64_t hi, std::size_t point, std::uint64_t seed) {
  const std::uint64_t room = static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo);
  const std::uint64_t draw = mixed(seed * 64 + point);
  std::uint64_t step = draw % 9;
  if (point == 0) step = 5 + 2 * (seed % 7);  // large enough to show the general case
  if (point == 1) step = 0;
  if (point == 2) step = std::uint64_t{1} << 12;
  if (point > 32) step = draw % 97;
  if (point % 4 == 3) step = draw % std::max<std::uint64_t>(std::min<std::uint64_t>(room, 4096), 1);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(lo) + std::min(step, room));
}

// A sound lower bound of a polynomial whose atoms run from 0 to room(atom); nothing when no bound in 64 bits is known.
template <class Room>
std::optional<std::int64_t> least(const Polynomial& p, const Room& room) {
  std::int64_t out = p.constant();
  for (const Polynomial::Term& t : p.terms()) {
    if (t.coefficient > 0 || t.monomial.empty()) continue;
    std::int64_t most = t.coefficient;
    for (const std::uint32_t a : t.monomial)
      if (is_inf(room(a)) || !try_mul(most, room(a), most)) return std::nullopt;
    if (!try_add(out, most, out)) return std::nullopt;
  }
  return out;
}

}  // namespace

Answer is_nonnegative(const Expr& e) {
  const Node* n = e.node();
  if (!is_inf(n->lo) && n->lo >= 0) return Answer::yes;
  if (!is_inf(n->hi) && n->hi < 0) return Answer::no;
  try {
    Sizes sizes;
    const Polynomial p = sizes.polynomial(e);
    if (sizes.is_nonnegative(p)) return Answer::yes;
    return sizes.is_nonnegative(-p - 1) ? Answer::no : Answer::unknown;
  } catch (const Error&) {  // an intermediate value does not fit in 64 bits: nothing is shown
    return Answer::unknown;
  }
}

Answer is_zero(const Expr& e) {
  if (const std::optional<std::int64_t> number = e.constant()) return *number == 0 ? Answer::yes : Answer::no;
  try {
    const Facts f = e.facts();
    if (f.modulus > 1 && f.residue != 0) return Answer::no;
    Sizes sizes;
    const Polynomial p = sizes.polynomial(e);
    if (sizes.is_zero(p)) return Answer::yes;
    const bool off = sizes.is_nonnegative(p - 1) || sizes.is_nonnegative(-p - 1);
    return off ? Answer::no : Answer::unknown;
  } catch (const Error&) {  // an intermediate value does not fit in 64 bits: nothing is shown
    return Answer::unknown;
  }
}

std::optional<Expr> divide_exactly(const Expr& a, const Expr& b) {
  try {
    Sizes sizes;
    const Polynomial divisor = sizes.polynomial(b);
    if (divisor.is_zero()) return std::nullopt;
    const Division d = divide(sizes.polynomial(a), divisor);
    if (d.rest.is_zero()) return sizes.to_expr(d.quotient);
    const Facts f = b.facts();
    if (f.min <= 0 && f.max >= 0) return std::nullopt;
    const Expr rest = a % b;  // the algebra may know more than polynomials do
    return rest.is_constant() && rest.value() == 0 ? std::optional(a / b) : std::nullopt;
  } catch (const Error&) {  // a value does not fit in 64 bits
    return std::nullopt;
  }
}

// --- reading and writing ---

Polynomial Sizes::polynomial(const Expr& e) {
  const Node* n = e.node();
  if (n->is(Op::Const)) return n->value();
  if (!n->is(Op::Sum)) return of_product(e);
  Polynomial out = n->k0();
  for (const Term& t : n->terms()) out += Polynomial(t.coefficient) * of_product(Expr::share(t.atom));
  return out;
}

Polynomial Sizes::of_product(const Expr& e) {
  if (e.op() != Op::Mul) return of_atom(e);
  Polynomial out = 1;
  for (const Node* factor : e.node()->sources()) out = out * of_atom(Expr::share(factor));
  return out;
}

// Writes a modulus as x - d * (x // d), so that x % d and x // d share one atom.
Polynomial Sizes::of_atom(const Expr& atom) {
  if (atom.op() == Op::Mod && depth_ < kDefinitionDepth) {
    ++depth_;
    const Expr x = Expr::share(atom.node()->src(0)), d = Expr::share(atom.node()->src(1));
    const Polynomial out = polynomial(x) - polynomial(d) * polynomial(x / d);
    --depth_;
    return out;
  }
  const std::uint32_t number = number_of(atom);
  const auto rewrite = rewrites_.find(number);
  return rewrite == rewrites_.end() ? Polynomial::atom(number) : rewrite->second;
}

std::uint32_t Sizes::number_of(const Expr& atom) {
  const auto known = numbers_.find(atom.node());
  if (known != numbers_.end()) return known->second;
  for (const Variable& v : variables(atom))
    if (!same(v, atom)) number_of(v);
  const Facts f = atom.facts();
  const auto number = static_cast<std::uint32_t>(atoms_.size());
  Atom a{atom, f.min, f.max, atom.is_variable(), {}};
  if (a.variable)
    for (std::size_t i = 0; i < kPoints; ++i) a.samples[i] = {Sample::valued, sample_value(a.lo, a.hi, i, number + 1)};
  atoms_.push_back(std::move(a));
  numbers_.emplace(atom.node(), number);
  if (!atom.is_variable()) add_definition(atom, number);
  return number;
}

// The value of an atom at a sample point, computed from the values of its variables.
std::optional<std::int64_t> Sizes::sample(std::uint32_t atom, std::size_t point) const {
  Sample& s = atoms_[atom].samples[point];
  if (s.state == Sample::open) {
    Values values;
    for (const Variable& v : variables(atoms_[atom].expr))
      values.emplace_back(v, atoms_[numbers_.at(v.node())].samples[point].value);
    try {
      s = {Sample::valued, evaluate(atoms_[atom].expr, values)};
    } catch (const Error&) {  // does not fit in 64 bits: this point says nothing about the atom
      s.state = Sample::none;
    }
  }
  return s.state == Sample::valued ? std::optional(s.value) : std::nullopt;
}

// Adds the facts that define an atom: 0 <= x - d * (x // d) <= d - 1 for a quotient, arm - min(...) >= 0 for a minimum.
void Sizes::add_definition(const Expr& atom, std::uint32_t number) {
  if (depth_ >= kDefinitionDepth) return;
  ++depth_;
  const Node* n = atom.node();
  const Polynomial self = Polynomial::atom(number);
  if (n->is(Op::Div)) {
    const Polynomial x = polynomial(Expr::share(n->src(0))), d = polynomial(Expr::share(n->src(1)));
    const Polynomial rest = x - d * self;
    facts_.push_back(rest);
    facts_.push_back(d - rest - 1);
  } else if (n->is(Op::Min) || n->is(Op::Max)) {
    for (const Node* arm : n->sources()) {
      const Polynomial gap = polynomial(Expr::share(arm)) - self;
      facts_.push_back(n->is(Op::Min) ? gap : -gap);
    }
  }
  --depth_;
}

Int Sizes::to_int(const Polynomial& p) const {
  if (p.is_constant()) return p.constant();
  Expr out = 0;
  for (const Polynomial::Term& t : p.terms()) {
    Expr product = t.coefficient;
    for (const std::uint32_t a : t.monomial) product *= atoms_[a].expr;
    out += product;
  }
  return out;
}

std::optional<std::int64_t> Sizes::at(const Polynomial& p, std::size_t point) const {
  if (dead_[point]) return std::nullopt;
  std::int64_t out = 0;
  for (const Polynomial::Term& t : p.terms()) {
    std::int64_t product = t.coefficient;
    for (const std::uint32_t a : t.monomial) {
      const std::optional<std::int64_t> value = sample(a, point);
      if (!value || !try_mul(product, *value, product)) return std::nullopt;
    }
    if (!try_add(out, product, out)) return std::nullopt;
  }
  return out;
}

// --- assumptions ---

bool Sizes::assume_nonnegative(const Polynomial& p) {
  if (p.is_constant()) return p.constant() >= 0;
  for (std::size_t i = 0; i < kPoints; ++i)
    if (const auto value = at(p, i); !value || *value < 0) dead_[i] = true;
  const Polynomial::Term& lead = p.terms()[0];
  const std::int64_t k = p.constant();
  if (lead.monomial.size() == 1 && p.terms().size() == (k == 0 ? 1U : 2U)) {  // c*a + k >= 0
    Atom& a = atoms_[lead.monomial[0]];
    const std::int64_t c = lead.coefficient;
    if (c == kNegInf || k == kNegInf) return true;
    if (c > 0) a.lo = std::max(a.lo, -floor_div(k, c));
    if (c < 0) a.hi = std::min(a.hi, floor_div(k, -c));
    return a.lo <= a.hi;
  }
  facts_.push_back(p);
  return factors_are_positive(p);
}

// p >= 0 with a negative constant means that the other terms sum to at least 1. Then no factor common to all of them is
// 0, so a common factor that is not negative is at least 1.
bool Sizes::factors_are_positive(const Polynomial& p) {
  if (p.constant() >= 0) return true;
  const auto terms = p.terms().first(p.terms().size() - 1);
  for (const std::uint32_t a : terms[0].monomial) {
    const bool common = std::all_of(terms.begin(), terms.end(), [&](const Polynomial::Term& t) {
      return std::find(t.monomial.begin(), t.monomial.end(), a) != t.monomial.end();
    });
    if (!common || atoms_[a].lo < 0) continue;
    atoms_[a].lo = std::max<std::int64_t>(atoms_[a].lo, 1);
    if (atoms_[a].lo > atoms_[a].hi) return false;
  }
  return true;
}

// Assumes p == 0: two inequalities; and if p is linear in a variable (coefficient 1 or -1) that occurs nowhere else in
// p, that variable is replaced by the other terms from here on.
bool Sizes::assume_zero(const Polynomial& p) {
  if (!assume_nonnegative(p) || !assume_nonnegative(-p)) return false;
  for (const Polynomial::Term& t : p.terms()) {
    if (t.monomial.size() != 1 || (t.coefficient != 1 && t.coefficient != -1)) continue;
    const std::uint32_t a = t.monomial[0];
    const Polynomial own = Polynomial::monomial(t.monomial, t.coefficient);
    const Polynomial others = t.coefficient > 0 ? own - p : p - own;
    const std::vector<std::uint32_t> rest = others.atoms();
    if (!atoms_[a].variable || std::find(rest.begin(), rest.end(), a) != rest.end()) continue;
    for (auto& [key, value] : rewrites_) value = value.substitute(a, others);
    for (Polynomial& f : facts_) f = f.substitute(a, others);
    rewrites_.emplace(a, others);
    const std::int64_t lo = atoms_[a].lo, hi = atoms_[a].hi;
    return (lo == kNegInf || assume_nonnegative(others - lo)) &&
           (hi == kPosInf || assume_nonnegative(Polynomial(hi) - others));
  }
  return true;
}

bool Sizes::assume(const Expr& condition) {
  if (const auto number = condition.constant()) return *number != 0;
  const Node* n = condition.node();
  assumed_.push_back(condition);
  if (n->is(Op::And)) {
    for (const Node* part : n->sources())
      if (!assume_relation(Expr::share(part))) return false;
    return true;
  }
  return assume_relation(condition);
}

bool Sizes::assume_relation(const Expr& condition) {
  const Node* n = condition.node();
  if (n->is(Op::Lt) || n->is(Op::Eq)) {
    const Polynomial p = polynomial(Expr::share(n->src(1))) - polynomial(Expr::share(n->src(0)));
    return n->is(Op::Lt) ? assume_nonnegative(p - 1) : assume_zero(p);
  }
  // A condition of another form: only sample points that satisfy it count.
  const Polynomial truth = polynomial(condition != 0);
  for (std::size_t i = 0; i < kPoints; ++i)
    if (at(truth, i) != std::optional<std::int64_t>(1)) dead_[i] = true;
  return true;
}

// --- signs ---

bool Sizes::is_nonnegative(const Polynomial& p) {
  if (p.is_constant()) return p.constant() >= 0;
  std::size_t probes = 0;
  for (std::size_t i = 0; i < kPoints && probes < kSizeProbes; ++i) {
    const std::optional<std::int64_t> value = at(p, i);
    if (value && *value < 0) return false;
    probes += value.has_value();
  }
  try {
    int steps = kFactSteps;
    return shown_by_bounds(p) || shown_by_facts(p, 2, steps) || shown_by_table(p);
  } catch (const Error&) {  // an intermediate value does not fit in 64 bits
    return false;
  }
}

// `p` over atoms that start at 0. An atom with an upper bound alone is replaced by that bound minus a new atom.
Polynomial Sizes::shifted(const Polynomial& p) const {
  Polynomial out = p;
  for (const std::uint32_t a : p.atoms()) {
    const Atom& atom = atoms_[a];
    if (!is_inf(atom.lo) && atom.lo != 0) out = out.substitute(a, Polynomial::atom(a) + atom.lo);
    if (is_inf(atom.lo) && !is_inf(atom.hi)) out = out.substitute(a, Polynomial(atom.hi) - Polynomial::atom(a));
  }
  return out;
}

// Where p only rises or only falls along an atom, the atom is fixed to the end at which p is least.
bool Sizes::shown_by_bounds(const Polynomial& p) const {
  for (const std::uint32_t a : p.atoms())
    if (is_inf(atoms_[a].lo) && is_inf(atoms_[a].hi)) return false;
  const auto room = [&](std::uint32_t a) {
    std::int64_t out = kPosInf;
    const Atom& atom = atoms_[a];
    return is_inf(atom.lo) || is_inf(atom.hi) || !try_sub(atom.hi, atom.lo, out) ? kPosInf : out;
  };
  Polynomial left = shifted(p);
  for (bool moved = true; moved;) {
    const std::optional<std::int64_t> low = least(left, room);
    if (low && *low >= 0) return true;
    if (left.constant() < 0) return false;  // left.constant() is the value where every atom is 0
    moved = false;
    for (const std::uint32_t a : left.atoms()) {
      const Polynomial step = left.substitute(a, Polynomial::atom(a) + 1) - left;
      const std::optional<std::int64_t> rise = least(step, room), fall = least(-step, room);
      if (rise && *rise >= 0) {
        left = left.substitute(a, 0);
      } else if (fall && *fall >= 0 && !is_inf(room(a))) {
        left = left.substitute(a, room(a));
      } else {
        continue;
      }
      moved = true;
      break;
    }
  }
  return false;
}

// Looks for p == k * m * f + (a nonnegative polynomial) with a fact f >= 0, where k * m * f cancels a negative term of
// p.
bool Sizes::shown_by_facts(const Polynomial& p, int depth, int& steps) const {
  if (depth == 0) return false;
  for (const Polynomial& f : facts_) {
    for (const Polynomial::Term& t : p.terms()) {
      for (const Polynomial::Term& u : f.terms()) {
        Monomial m;
        if (t.coefficient >= 0 || u.coefficient >= 0 || u.coefficient == kNegInf || t.coefficient == kNegInf ||
            !divide(t.monomial, u.monomial, m))
          continue;
        if (std::any_of(m.begin(), m.end(), [&](std::uint32_t a) { return atoms_[a].lo < 0; })) continue;
        if (steps-- <= 0) return false;
        const std::int64_t k = -floor_div(t.coefficient, -u.coefficient);
        const Polynomial left = p - Polynomial::monomial(m, k) * f;
        if (shown_by_bounds(left) || shown_by_facts(left, depth - 1, steps)) return true;
      }
    }
  }
  return false;
}

// Asks the exact step, over the narrowed bounds. Every variable is renamed, because two variables may share a name.
bool Sizes::shown_by_table(const Polynomial& p) const {
  std::vector<Expr> given = assumed_;
  for (const Polynomial& f : facts_) given.push_back(to_expr(f) >= 0);
  const Expr claim = to_expr(p) >= 0, assumption = all_of(given);
  std::uint64_t points = 1;
  Substitution map;
  std::vector<Variable> names = variables(claim);
  for (const Variable& v : variables(assumption))
    if (std::none_of(names.begin(), names.end(), [&](const Variable& w) { return same(v, w); })) names.push_back(v);
  for (const Variable& v : names) {
    const auto known = numbers_.find(v.node());
    const std::int64_t lo = known == numbers_.end() ? v.min() : atoms_[known->second].lo;
    const std::int64_t hi = known == numbers_.end() ? v.max() : atoms_[known->second].hi;
    const std::uint64_t extent = static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo);
    if (extent >= kTable) return false;
    points *= extent + 1;
    if (points > kTable) return false;
    map.emplace_back(v, Variable(detail::message("size", map.size()), lo, hi));
  }
  const ExactBudget budget(kTableBudget);
  return prove(substitute(claim, map), substitute(assumption, map)).answer == Answer::yes;
}

}  // namespace strata
