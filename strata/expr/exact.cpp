// simplify and facts: by the rules alone, or by passes of the exact step until a pass finds nothing.

#include "strata/expr/exact.h"

#include "strata/expr/exact_pass.h"

namespace strata {
namespace {

constexpr std::size_t kMaxExactVariables = 64;
constexpr int kMaxPasses = 64;
constexpr int kMaxExhausted = 4;

// Runs passes until one does not make the expression cheaper. Every pass has the same budget, so the last pass, which
// changed nothing, would change nothing again: the result is a fixed point. When kMaxPasses passes, or kMaxExhausted
// passes that used up their budget, reach no fixed point, the original expression is returned; it is one, too.
Expr simplify_where(const Expr& e, const Expr& valid) {
  if (e.is_constant()) return e;
  if (valid.is_constant() && valid.value() == 0) return 0;
  Expr best = e;
  int exhausted = 0;
  for (int i = 0; i < kMaxPasses && exhausted < kMaxExhausted; ++i) {
    const Tape tape(std::vector<Expr>{best, valid});
    if (tape.variables().size() > kMaxExactVariables) return best;
    Costs costs(tape);
    Budget budget(exact_budget());
    const Expr next = ExactPass(best, valid, budget).run();
    if (!(costs.cost(next) < costs.cost(best))) return best;
    best = next;
    exhausted += budget.left() == 0 ? 1 : 0;
  }
  return e;
}

}  // namespace

Expr simplify_exact(const Expr& e) { return simplify_where(e, 1); }

Expr simplify_exact_under(const Expr& e, const Expr& assumption) { return simplify_where(e, assumption); }

Expr simplify(const Expr& e, Effort effort) { return effort == Effort::exact ? simplify_exact(e) : e; }

Facts Expr::facts(Effort effort) const {
  if (effort == Effort::exact) return exact_facts(*this);
  Facts f{node_->lo, node_->hi, node_->modulus, node_->residue, node_->has(kTight)};
  if (f.exact || f.modulus == 0) return f;
  const Tape tape(*this);
  const MonotoneBounds found = monotone_bounds(tape, tape.box());
  f.min = found.bounds.lo;
  f.max = found.bounds.hi;
  f.exact = found.exact;
  return f;
}

}  // namespace strata
