// How good the simplified forms are: random nests against what a full table says of them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "strata/base/check.h"
#include "strata/expr/render.h"
#include "tests/expr/random_expr.h"
#include "tests/expr/tree_text.h"

namespace strata::oracle {

/// What is true of a Case on its whole box.
struct Truth {
  std::int64_t min = 0, max = 0, modulus = 0, residue = 0;
  bool affine = false;
  std::vector<bool> depends;        ///< by variable
  std::vector<std::int64_t> table;  ///< values in row-major order, the last variable fastest
};

inline std::vector<std::uint64_t> strides_of(const Case& c) {
  std::vector<std::uint64_t> strides(c.variables.size(), 1);
  for (std::size_t v = strides.size(); v-- > 1;)
    strides[v - 1] = strides[v] * static_cast<std::uint64_t>(c.variables[v].max - c.variables[v].min + 1);
  return strides;
}

inline std::uint64_t volume_of(const Case& c) {
  std::uint64_t volume = 1;
  for (const CaseVariable& v : c.variables) volume *= static_cast<std::uint64_t>(v.max - v.min + 1);
  return volume;
}

/// Columns of `count` points from `first` on, in row-major order.
inline std::vector<std::vector<std::int64_t>> columns_of(const Case& c, std::uint64_t first, std::size_t count) {
  const auto strides = strides_of(c);
  std::vector<std::vector<std::int64_t>> columns(c.variables.size(), std::vector<std::int64_t>(count));
  for (std::size_t v = 0; v < columns.size(); ++v) {
    const auto size = static_cast<std::uint64_t>(c.variables[v].max - c.variables[v].min + 1);
    for (std::size_t i = 0; i < count; ++i)
      columns[v][i] = c.variables[v].min + static_cast<std::int64_t>((first + i) / strides[v] % size);
  }
  return columns;
}

/// The values of `tree` on the whole box of `c`; nothing when one leaves 64 bits.
inline std::optional<std::vector<std::int64_t>> table_of(const Case& c, const Tree& tree) {
  TreeEvaluator evaluate;
  std::vector<std::int64_t> table;
  const std::uint64_t volume = volume_of(c);
  for (std::uint64_t first = 0; first < volume; first += 1024) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(1024, volume - first));
    const Column& got = evaluate(tree, columns_of(c, first, count), count);
    if (std::find(got.ok.begin(), got.ok.end(), 0) != got.ok.end()) return std::nullopt;
    table.insert(table.end(), got.values.begin(), got.values.end());
  }
  return table;
}

inline std::optional<Truth> truth_of(const Case& c) {
  auto table = table_of(c, c.tree);
  if (!table) return std::nullopt;
  Truth t;
  t.table = std::move(*table);
  const auto [least, most] = std::minmax_element(t.table.begin(), t.table.end());
  t.min = *least;
  t.max = *most;
  for (const std::int64_t x : t.table) t.modulus = gcd(t.modulus, x - t.table[0]);
  t.residue = t.modulus == 0 ? t.min : floor_mod(t.min, t.modulus);
  const auto strides = strides_of(c);
  std::vector<std::int64_t> slopes;
  for (std::size_t v = 0; v < strides.size(); ++v) {
    const bool moves = c.variables[v].max > c.variables[v].min;
    slopes.push_back(moves ? t.table[strides[v]] - t.table[0] : 0);
    const auto size = static_cast<std::uint64_t>(c.variables[v].max - c.variables[v].min + 1);
    bool depends = false;
    for (std::uint64_t i = 0; i < t.table.size() && !depends; ++i)
      depends = t.table[i] != t.table[i - i / strides[v] % size * strides[v]];
    t.depends.push_back(depends);
  }
  t.affine = true;
  for (std::uint64_t i = 0; i < t.table.size() && t.affine; ++i) {
    std::int64_t value = t.table[0];
    for (std::size_t v = 0; v < strides.size(); ++v) {
      const auto size = static_cast<std::uint64_t>(c.variables[v].max - c.variables[v].min + 1);
      value += slopes[v] * static_cast<std::int64_t>(i / strides[v] % size);
    }
    t.affine = value == t.table[i];
  }
  return t;
}

/// Counts over a population.
struct Quality {
  std::size_t cases = 0, bounds_exact = 0, constants = 0, constants_missed = 0, affine = 0, affine_missed = 0;
  std::size_t dead_names = 0, dead_names_left = 0, wrong = 0, unsound = 0, unstable = 0, operators = 0;
  double seconds = 0, slowest = 0;
  std::uint64_t slowest_seed = 0;
  std::vector<std::string> complaints;  ///< what was missed, one line a case

  double percent(std::size_t part, std::size_t whole) const {
    return whole == 0 ? 100.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  }
  double bounds_percent() const { return percent(bounds_exact, cases); }
  double constants_percent() const { return percent(constants - constants_missed, constants); }
  double affine_percent() const { return percent(affine - affine_missed, affine); }
  double names_percent() const { return percent(dead_names - dead_names_left, dead_names); }
  double mean_operators() const {
    return static_cast<double>(operators) / static_cast<double>(std::max<std::size_t>(cases, 1));
  }
};

/// Operators of the specification's text.
inline std::size_t operators_of(const Expr& e) {
  std::unordered_map<const Node*, std::size_t> counts;
  for (const Node* n : nodes_below(e)) {
    std::size_t count = 0;
    if (n->is(Op::Sum)) {
      count = n->terms().size() - (n->k0() == 0 ? 1 : 0);
      for (const Term& t : n->terms()) count += t.coefficient != 1 ? 1 : 0;
    } else if (n->is(Op::Mul) || n->is(Op::And) || n->is(Op::Or)) {
      count = n->sources().size() - 1;
    } else if (!n->is(Op::Const) && !n->is(Op::Var)) {
      count = 1;
    }
    for_each_child(n, [&](const Node* child) { count += counts.at(child); });
    counts[n] = count;
  }
  return counts.at(e.node());
}

/// Simplifies the Case of `seed` and adds what is found to `q`. Values are compared on the whole box.
inline void judge(std::uint64_t seed, const RandomOptions& options, Effort effort, Quality& q) {
  const Case c = random_case(seed, options);
  const auto truth = truth_of(c);
  if (!truth) return;
  const std::vector<Variable> variables = make_variables(c);
  const auto start = std::chrono::steady_clock::now();
  const Expr built = build(c.tree, variables);
  const Expr e = simplify(built, effort);
  const Facts facts = e.facts(effort);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ++q.cases;
  q.seconds += seconds;
  if (seconds > q.slowest) {
    q.slowest = seconds;
    q.slowest_seed = seed;
  }
  const auto complain = [&](std::size_t& counter, const std::string& what) {
    ++counter;
    q.complaints.push_back(
        strata::detail::message("seed ", seed, ": ", what, ": ", text_of(c.tree, c.names()), " -> ", e.render()));
  };
  auto names = c.names();
  const auto table = table_of(c, tree_of(e, names));
  if (!table || *table != truth->table) complain(q.wrong, "WRONG VALUE");
  if (facts.min > truth->min || facts.max < truth->max ||
      (facts.modulus != 0 && floor_mod(truth->residue - facts.residue, facts.modulus) != 0))
    complain(q.unsound, "UNSOUND");
  if (!same(simplify(e, effort), e)) complain(q.unstable, "NOT IDEMPOTENT");
  if (facts.min == truth->min && facts.max == truth->max)
    ++q.bounds_exact;
  else
    q.complaints.push_back("seed " + std::to_string(seed) + ": loose bounds: " + e.render());
  const bool constant = truth->min == truth->max;
  q.constants += constant;
  if (constant && !e.is_constant()) complain(q.constants_missed, "constant missed");
  q.affine += truth->affine;
  if (truth->affine && !affine_form(e)) complain(q.affine_missed, "affine missed");
  const auto left = strata::variables(e);
  for (std::size_t v = 0; v < variables.size(); ++v) {
    if (truth->depends[v]) continue;
    ++q.dead_names;
    const bool there = std::any_of(left.begin(), left.end(), [&](const Variable& x) { return same(x, variables[v]); });
    if (there) complain(q.dead_names_left, "name left");
  }
  q.operators += operators_of(e);
}

}  // namespace strata::oracle
