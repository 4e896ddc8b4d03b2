// Exact bounds and congruence: by a table, by independent parts of a sum, or by branch and bound.

#include <algorithm>
#include <map>
#include <numeric>

#include "strata/expr/exact.h"
#include "strata/expr/linear.h"
#include "strata/expr/search.h"

namespace strata {
namespace {

constexpr std::uint64_t kDefaultBudget = std::uint64_t{1} << 27;
constexpr std::uint64_t kSmallBox = 16384;  // boxes of up to this many points are always enumerated

thread_local std::uint64_t budget_units = kDefaultBudget;

Facts of_constant(std::int64_t value) { return {value, value, 0, value, true}; }

Facts of_table(const Extremes& x) { return {x.min, x.max, x.modulus, x.residue, true}; }

// True when a few points prove the facts tight: both bounds are attained, and the modulus cannot be larger.
bool probes_settle(const Tape& tape, const Facts& f) {
  const Box box = tape.box();
  if (box.size() > 64 || tape.size() > 4096) return false;
  const auto columns = probe_columns(box, 512);
  const auto values = run_columns(tape, columns, columns.empty() ? 1 : columns[0].size());
  if (values.empty()) return false;
  const auto& v = values[tape.root(0)];
  std::int64_t g = 0;
  for (const std::int64_t x : v) {
    std::int64_t d = 0;
    g = try_sub(x, v[0], d) ? gcd(g, d) : 1;
  }
  const auto [least, most] = std::minmax_element(v.begin(), v.end());
  return *least == f.min && *most == f.max && g == f.modulus;
}

// Bounds by branch and bound, where a table is too large. The congruence stays that of the rules.
Facts searched(const Tape& tape, Facts f, Budget& budget) {
  if (tape.variables().size() > 64) return f;
  Budget first(budget.left() / 2);
  const Bound low = smallest(tape, first);
  budget.take(budget.left() / 2 - first.left());
  const Bound high = largest(tape, budget);
  f.min = std::max(f.min, low.value);
  f.max = std::min(f.max, high.value);
  f.exact = (low.exact || f.exact) && (high.exact || f.exact);
  return f;
}

Facts of_connected(const Expr& e, Budget& budget) {
  const Facts rules = e.facts();
  if (e.is_constant()) return of_constant(e.value());
  const Tape tape(e);
  const std::uint64_t points = volume(tape.box());
  if (points > kSmallBox && rules.exact) return rules;
  if (points > kSmallBox && probes_settle(tape, rules)) {
    Facts settled = rules;
    settled.exact = true;
    return settled;
  }
  if (points <= kSmallBox || budget.take(tape, points)) {
    if (const auto table = table_extremes(tape)) return of_table(*table);
    return rules;
  }
  return searched(tape, rules, budget);
}

// Splits a sum into groups of terms that share no variable; each group is a sum.
std::vector<Expr> independent_parts(const Expr& e) {
  const auto terms = e.node()->terms();
  std::vector<std::size_t> group(terms.size());
  std::iota(group.begin(), group.end(), std::size_t{0});
  const auto find = [&](std::size_t i) {
    while (group[i] != i) i = group[i] = group[group[i]];
    return i;
  };
  std::unordered_map<const Node*, std::size_t> owner;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const Expr atom = Expr::share(terms[i].atom);
    for (const Variable& v : variables(atom)) {
      const auto [at, fresh] = owner.try_emplace(v.node(), i);
      if (!fresh) group[find(i)] = find(at->second);
    }
  }
  std::map<std::size_t, std::vector<Expr>> parts;
  for (std::size_t i = 0; i < terms.size(); ++i)
    parts[find(i)].push_back(Expr::share(terms[i].atom) * terms[i].coefficient);
  std::vector<Expr> sums;
  for (const auto& [root, part] : parts) sums.push_back(sum(part));
  return sums;
}

Facts add(const Facts& a, const Facts& b) {
  Facts f;
  f.min = sat_add(a.min, b.min);
  f.max = sat_add(a.max, b.max);
  f.exact = a.exact && b.exact && !is_inf(f.min) && !is_inf(f.max);
  f.modulus = gcd(a.modulus, b.modulus);
  const __int128 residue = static_cast<__int128>(a.residue) + b.residue;
  f.residue = f.modulus == 0 ? f.min : static_cast<std::int64_t>((residue % f.modulus + f.modulus) % f.modulus);
  return f;
}

}  // namespace

std::uint64_t exact_budget() { return budget_units; }
ExactBudget::ExactBudget(std::uint64_t units) : outer_(budget_units) { budget_units = units; }
ExactBudget::~ExactBudget() { budget_units = outer_; }

Facts exact_facts(const Expr& e) {
  const Node* n = e.node();
  Budget budget(exact_budget());
  if (n->is(Op::Sum) && n->terms().size() > 1) {
    const std::vector<Expr> parts = independent_parts(e);
    if (parts.size() > 1) {
      Facts total = of_constant(n->k0());
      for (const Expr& part : parts) total = add(total, of_connected(part, budget));
      // A sum of bounds beyond 64 bits may say less than the rules know.
      return is_inf(total.min) || is_inf(total.max) ? e.facts() : total;
    }
  }
  return of_connected(e, budget);
}

}  // namespace strata
