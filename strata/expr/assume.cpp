// Simplification under an assumption, e.g. of an index under its validity condition.
//
// Three means, all through the ordinary constructors. Variables that the assumption fixes or narrows are replaced by
// narrower stand-ins, and put back afterwards. Conditions that the assumption states become 1. The assumption's
// inequalities narrow the ranges of sums (Context).
#include "strata/expr/assume.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "strata/base/meter.h"
#include "strata/expr/build.h"
#include "strata/expr/evaluate.h"
#include "strata/expr/exact.h"
#include "strata/expr/render.h"
#include "strata/expr/substitute.h"

namespace strata {
namespace {

constexpr int kRounds = 4;  // rounds of interval propagation

std::vector<Expr> conjuncts(const Expr& p) {
  if (p.op() != Op::And) return {p};
  std::vector<Expr> out;
  for (const Node* s : p.node()->sources()) out.push_back(Expr::share(s));
  return out;
}

// The sums that are below 0 because of `p`: one for x < c, two for x == c.
std::vector<Linear> inequalities(const Expr& p) {
  const Node* n = p.node();
  std::vector<Linear> out;
  if (!n->is(Op::Lt) && !n->is(Op::Eq)) return out;
  const std::int64_t c = n->src(1)->value();
  for (const std::int64_t sign : {1, -1}) {
    if (sign < 0 && n->is(Op::Lt)) break;
    Linear l;
    const std::int64_t slack = n->is(Op::Eq) ? 1 : 0;  // x == c: x - c - 1 < 0 and -x + c - 1 < 0
    const LinearRef bound{c, {}}, one{slack, {}};
    if (combine(LinearView(n->src(0)), sign, bound, -sign, l) && add_scaled(l, one, -1)) out.push_back(std::move(l));
  }
  return out;
}

struct ByOrder {
  bool operator()(const Node* a, const Node* b) const { return compare_nodes(a, b) < 0; }
};
using Ranges = std::map<const Node*, Range, ByOrder>;

// The ranges of variables that follow from the inequalities, by interval propagation. Atoms other than variables are
// narrowed too, as opaque values.
class Narrowing {
 public:
  explicit Narrowing(std::span<const Linear> negative) {
    for (int round = 0; round < kRounds; ++round) {
      for (const Linear& l : negative) propagate(l);
    }
  }
  bool empty() const { return empty_; }
  const Ranges& ranges() const { return ranges_; }

 private:
  Range of(const Node* atom) const {
    const auto at = ranges_.find(atom);
    return at == ranges_.end() ? Range{lower(atom), upper(atom)} : at->second;
  }
  // The least value of a term; nothing when it has no bound in 64 bits.
  std::optional<std::int64_t> least(const Term& t) const {
    const Range r = of(t.atom);
    const std::int64_t end = t.coefficient > 0 ? r.lo : r.hi;
    std::int64_t out = 0;
    if (is_inf(end) || !try_mul(t.coefficient, end, out)) return std::nullopt;
    return out;
  }
  // Bounds each atom by the least values of the other terms: k0 + sum < 0 gives a*x < -(rest).
  void propagate(const Linear& l) {
    Meter::charge(1 + l.terms.size());
    Int128 total = l.k0;  // the sum of the least values that are known
    std::size_t open = 0;
    for (const Term& t : l.terms) {
      const auto own = least(t);
      total += own.value_or(0);
      open += own ? 0 : 1;
    }
    for (const Term& t : l.terms) {
      const auto own = least(t);
      const Int128 rest = total - own.value_or(0), most = -1 - rest;  // a*x <= most
      if (open > (own ? 0 : 1) || most <= kNegInf || most >= kPosInf) continue;
      const auto limit = static_cast<std::int64_t>(most);
      Range r = of(t.atom);
      if (t.coefficient > 0) r.hi = std::min(r.hi, floor_div(limit, t.coefficient));
      if (t.coefficient < 0 && t.coefficient != kNegInf) r.lo = std::max(r.lo, -floor_div(limit, -t.coefficient));
      empty_ |= r.lo > r.hi;
      ranges_[t.atom] = r;
    }
  }

  Ranges ranges_;
  bool empty_ = false;
};

// Makes `forward` leave the symbolic divisors of `e` unchanged.
void keep_divisors(const Expr& e, Replacements& forward) {
  const std::array roots{e};
  for (const Node* n : postorder(roots)) {
    if ((n->is(Op::Div) || n->is(Op::Mod)) && !n->src(1)->is(Op::Const))
      forward.insert_or_assign(n->src(1), Expr::share(n->src(1)));
  }
}

// Are all divisors positive over the whole box, not only where an assumption holds?
bool divides_everywhere(const Expr& e) {
  const std::array roots{e};
  const std::vector<const Node*> nodes = postorder(roots);
  return std::all_of(nodes.begin(), nodes.end(), [](const Node* n) {
    if ((!n->is(Op::Div) && !n->is(Op::Mod)) || lower(n->src(1)) > 0) return true;
    return exact_facts(Expr::share(n->src(1))).min > 0;
  });
}

// Simplifies `e` once under the conjuncts `given`, through narrowed stand-ins.
Expr simplify_once(const Expr& e, std::span<const Expr> given) {
  std::vector<Linear> negative;
  Replacements forward;
  Substitution back;
  for (const Expr& p : given) {
    for (Linear& l : inequalities(p)) negative.push_back(std::move(l));
    forward.emplace(p.node(), 1);
  }
  const Narrowing narrowing(negative);
  if (narrowing.empty()) return e;
  std::vector<Expr> held;
  int stand_in = 0;
  for (const auto& [atom, range] : narrowing.ranges()) {
    if (range.lo == lower(atom) && range.hi == upper(atom)) continue;
    if (range.lo == range.hi) {
      forward.insert_or_assign(atom, Expr(range.lo));
      continue;
    }
    const bool variable = atom->is(Op::Var);
    if (variable && atom->variable().bound) continue;
    // No user can give a name with '#', so a stand-in is never confused with a variable.
    const std::string name = variable ? atom->variable().name : std::to_string(stand_in++);
    const Expr narrowed = intern_variable({name + "#", range.lo, range.hi});
    forward.insert_or_assign(atom, narrowed);
    back.emplace_back(narrowed, Expr::share(atom));
  }
  // The assumption, restated over the stand-ins of variables, narrows the ranges of sums and aligns them. (Stand-ins of
  // other atoms are left out: they would replace the sums that the assumption is about.)
  Replacements plain;
  for (const auto& [from, to] : forward) {
    if (from->is(Op::Var)) plain.emplace(from, to);
  }
  std::vector<Expr> restated;
  for (const Expr& p : given) restated.push_back(replace(p, plain));
  const Expr assumed = all_of(restated);
  const Context context(assumed);
  std::optional<RewriteTrace> marked;  // rules that fire below hold under the assumption
  if (RewriteTrace* outer = RewriteTrace::current(); outer != nullptr) {
    marked.emplace([outer, &assumed](const RewriteEvent& event) {
      RewriteEvent under = event;
      under.given = assumed;
      outer->record(under);
    });
  }
  const Build build(&context);
  try {
    const Expr out = substitute(replace(e, forward, build, true), back);
    if (divides_everywhere(out)) return out;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::domain) throw;
  }
  // A divisor that is nonzero only under the assumption cannot be written over the whole box: keep the divisors as they
  // are.
  keep_divisors(e, forward);
  const Expr out = substitute(replace(e, std::move(forward), build, true), back);
  return divides_everywhere(out) ? out : e;
}

}  // namespace

Context::Context(const Expr& assumption) {
  for (const Expr& p : conjuncts(assumption)) {
    held_.push_back(p);
    for (Linear& l : inequalities(p)) negative_.push_back(std::move(l));
    const Node* n = p.node();
    if (!n->is(Op::Eq) || !n->src(0)->is(Op::Mod) || !n->src(0)->src(1)->is(Op::Const)) continue;
    const Node* mod = n->src(0);
    aligned_.push_back({copy(LinearView(mod->src(0))), mod->src(1)->value(), n->src(1)->value()});
  }
}

Range Context::narrow(LinearRef l, Range known) const {
  for (const Linear& f : negative_) {
    for (const std::int64_t t : {1, -1}) {
      Linear rest;
      if (!combine(l, 1, ref(f), -t, rest)) continue;  // l = t*f + rest, f <= -1
      const Range r = interval(ref(rest));
      if (t > 0 && !is_inf(r.hi)) known.hi = std::min(known.hi, sat_sub(r.hi, 1));
      if (t < 0 && !is_inf(r.lo)) known.lo = std::max(known.lo, sat_add(r.lo, 1));
    }
  }
  return known;
}

Range Build::range(LinearRef l) const {
  const Range known = interval(l);
  return context_ == nullptr ? known : context_->narrow(l, known);
}

Expr simplify_under(const Expr& e, const Expr& assumption, Effort effort) {
  const Expr p = Build().truth(assumption);
  if (p.is_constant()) return simplify(e, effort);
  const std::vector<Expr> given = conjuncts(p);
  Expr out = e;
  for (int round = 0; round < 2; ++round) out = simplify_once(out, given);
  if (effort == Effort::rules) return out;
  // The assumption may also hide a simplification that holds on the whole box: take the shorter result.
  const Expr under = simplify_exact(simplify_exact_under(out, p)), plain = simplify_exact(e);
  return count_nodes(under) <= count_nodes(plain) ? under : plain;
}

}  // namespace strata
