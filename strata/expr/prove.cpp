// Proofs and counterexamples: constants, bounds, a table or branch and bound over the box.

#include <algorithm>

#include "strata/expr/canonical_order.h"
#include "strata/expr/exact.h"
#include "strata/expr/search.h"

namespace strata {
namespace {

// Adds the variables of `roots` that are not in `found` with their smallest values: they do not matter.
Values complete(Values found, std::span<const Expr> roots) {
  for (const Expr& root : roots)
    for (const Variable& v : variables(root)) {
      const auto is_v = [&](const auto& entry) { return same(entry.first, v); };
      if (std::none_of(found.begin(), found.end(), is_v)) found.emplace_back(v, v.min());
    }
  sort_canonically(found);
  return found;
}

Values values_at(const Tape& tape, const std::vector<std::int64_t>& point) {
  Values values;
  for (std::size_t i = 0; i < point.size(); ++i) values.emplace_back(tape.variable_handle(i), point[i]);
  return values;
}

// Does a == b hold wherever valid != 0? A counterexample assigns every variable of `all`.
Proof compare_everywhere(const Expr& a, const Expr& b, const Expr& valid, std::span<const Expr> all) {
  std::vector<Expr> roots{a, b};
  if (!valid.is_constant()) roots.push_back(valid);
  const Tape tape(roots);
  if (tape.variables().size() > 64 && tape.size() > 65536) return {};
  Budget budget(exact_budget());
  const Difference found = find_difference(tape, budget);
  if (found.equal == Answer::unknown && valid.is_constant()) {
    const bool one_form = same(simplify_exact(a), simplify_exact(b));
    return {one_form ? Answer::yes : Answer::unknown, {}};
  }
  if (found.equal != Answer::no) return {found.equal, {}};
  return {Answer::no, complete(values_at(tape, found.point), all)};
}

bool nonzero(const Expr& e) {
  const Facts f = e.facts();
  return f.min > 0 || f.max < 0 || (f.modulus != 0 && f.residue != 0);
}
bool zero(const Expr& e) { return e.is_constant() && e.value() == 0; }

bool holds_by_rules(const Expr& condition, const Expr& assumption) {
  try {
    return nonzero(simplify_under(condition, assumption));
  } catch (const Error&) {  // a rule met a constant beyond 64 bits
    return false;
  }
}

// a - b; nothing when it does not fit in 64 bits.
std::optional<Expr> difference(const Expr& a, const Expr& b) {
  try {
    return a - b;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

Proof prove(const Expr& condition, const Expr& assumption) {
  const Expr all[] = {condition, assumption};
  if (zero(assumption) || nonzero(condition) || same(condition, assumption)) return {Answer::yes, {}};
  if (zero(condition) && nonzero(assumption)) return {Answer::no, complete({}, all)};
  if (holds_by_rules(condition, assumption)) return {Answer::yes, {}};
  const Expr valid = nonzero(assumption) ? Expr(1) : assumption;
  return compare_everywhere(condition != 0, 1, valid, all);
}

Proof prove_equal(const Expr& a, const Expr& b) {
  const Expr all[] = {a, b};
  if (same(a, b)) return {Answer::yes, {}};
  const std::optional<Expr> gap = difference(a, b);
  if (gap && zero(*gap)) return {Answer::yes, {}};
  if (gap && nonzero(*gap)) return {Answer::no, complete({}, all)};
  return gap ? compare_everywhere(*gap, 0, 1, all) : compare_everywhere(a, b, 1, all);
}

}  // namespace strata
