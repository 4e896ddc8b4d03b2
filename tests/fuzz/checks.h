// What must hold of any expression: the checks of the differential fuzzer.
#pragma once

#include <optional>
#include <string>

#include "strata/expr/parse.h"
#include "strata/expr/render.h"
#include "tests/expr/random_expr.h"
#include "tests/expr/tree_text.h"

namespace strata::oracle {

struct Failure {
  std::string check;   ///< which check failed
  std::string detail;  ///< how
};

/// Runs all checks on one Case: the cheap ones always, those that build texts and tables when asked.
class Checker {
 public:
  struct Counts {
    std::size_t skipped = 0, thorough = 0, points = 0, proven = 0, refuted = 0, open = 0, tight = 0, complete = 0;
  };

  /// The first check that fails. `seed` chooses points and operands.
  std::optional<Failure> operator()(const Case& c, bool thorough, std::uint64_t seed) {
    failure_.reset();
    try {
      check(c, thorough, seed);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::overflow || error.kind() == ErrorKind::budget) {
        ++counts_.skipped;
      } else {
        fail(stage_, std::string("throws ") + error.what());
      }
    } catch (const std::exception& error) {
      fail(stage_, std::string("throws ") + error.what());
    }
    return failure_;
  }
  const Counts& counts() const { return counts_; }

 private:
  void check(const Case& c, bool thorough, std::uint64_t seed) {
    names_ = c.names();
    points_ = points_of(c.variables, thorough ? 4096 : 256, seed);
    wanted_ = evaluate_(c.tree, points_.columns, points_.count);
    counts_.points += points_.count;
    stage_ = "build";
    const std::vector<Variable> variables = make_variables(c);
    const Expr e = build(c.tree, variables);
    check_values("value", e);
    check_facts("facts", e.node()->lo, e.node()->hi, e.node()->modulus, e.node()->residue, e.node()->has(kTight));
    check_order(c, variables, e);
    check_rebuild(e);
    if (!thorough || failure_) return;
    ++counts_.thorough;
    check_texts(variables, e);
    check_exact(e);
    check_evaluate(variables, e);
    check_substitute(c, variables, e, seed);
    if (e.node()->is_boolean()) {
      check_prove(e);
      check_assumption(c, variables, e, seed);
    }
  }

  bool fail(const std::string& check, const std::string& detail) {
    if (!failure_) failure_ = Failure{check, detail};
    return false;
  }
  std::string at_point(std::size_t i) const {
    std::string out = "at";
    for (std::size_t v = 0; v < points_.columns.size(); ++v)
      out += " " + names_[v] + "=" + std::to_string(points_.columns[v][i]);
    return out;
  }
  void check_same(const std::string& check, const Expr& wanted, const Expr& got) {
    if (!same(wanted, got)) fail(check, wanted.render() + " became " + got.render());
  }
  void compare(const std::string& check, const Column& got, const std::string& text) {
    for (std::size_t i = 0; i < points_.count && !failure_; ++i) {
      if (wanted_.ok[i] == 0 || (got.ok[i] != 0 && got.values[i] == wanted_.values[i])) continue;
      fail(check, text + " is " + (got.ok[i] != 0 ? std::to_string(got.values[i]) : "undefined") + ", not " +
                      std::to_string(wanted_.values[i]) + " " + at_point(i));
    }
  }
  void check_values(const std::string& check, const Expr& e) {
    stage_ = check;
    const Tree tree = tree_of(e, names_);
    if (names_.size() != points_.columns.size()) {
      fail(check, "a variable appeared from nowhere");
      return;
    }
    compare(check, other_(tree, points_.columns, points_.count), e.render());
  }

  void check_facts(const std::string& check, std::int64_t lo, std::int64_t hi, std::int64_t modulus,
                   std::int64_t residue, bool exact) {
    stage_ = check;
    std::int64_t low = kPosInf, high = kNegInf;
    for (std::size_t i = 0; i < points_.count && !failure_; ++i) {
      const std::int64_t v = wanted_.values[i];
      low = std::min(low, v), high = std::max(high, v);
      if (wanted_.ok[i] == 0) return;
      if (v < lo || v > hi)
        fail(check, "bounds [" + std::to_string(lo) + ", " + std::to_string(hi) + "] exclude " + std::to_string(v) +
                        " " + at_point(i));
      if (modulus == 0 ? v != residue : floor_mod(v, modulus) != residue)
        fail(check, std::to_string(v) + " is not " + std::to_string(residue) + " mod " + std::to_string(modulus) + " " +
                        at_point(i));
    }
    if (points_.complete && !failure_) {
      ++counts_.complete;
      counts_.tight += lo == low && hi == high;
      if (exact && (lo != low || hi != high))
        fail(check, "bounds [" + std::to_string(lo) + ", " + std::to_string(hi) + "] claim to be attained, but are [" +
                        std::to_string(low) + ", " + std::to_string(high) + "]");
    }
  }

  void check_order(const Case& c, const std::vector<Variable>& variables, const Expr& e) {
    stage_ = "order";
    check_same("order", e, build(c.tree, variables, Order::swapped));
  }

  static Expr rebuilt(const Node* n, const std::unordered_map<const Node*, Expr>& made) {
    if (n->is(Op::Const) || n->is(Op::Var)) return Expr::share(n);
    if (n->is(Op::Sum)) {
      std::vector<Expr> terms = {n->k0()};
      for (const Term& t : n->terms()) terms.push_back(t.coefficient * made.at(t.atom));
      return sum(terms);
    }
    std::vector<Expr> sources;
    for (const Node* s : n->sources()) sources.push_back(made.at(s));
    if (n->is(Op::And)) return all_of(sources);
    if (n->is(Op::Select)) return select(sources[0], sources[1], sources[2]);
    Expr out = sources[0];
    for (std::size_t i = 1; i < sources.size(); ++i)
      out = build_node({tree_op(n->op), 0, {-1, -1, -1}}, out, sources[i], 0, Order::as_written);
    return out;
  }
  /// Building an expression from its own sources changes nothing: the canonical form is a fixed point.
  void check_rebuild(const Expr& e) {
    stage_ = "idempotent";
    std::unordered_map<const Node*, Expr> made;
    for (const Node* n : nodes_below(e)) {
      const Expr again = rebuilt(n, made);
      if (again.node() != n) {
        check_same("idempotent", Expr::share(n), again);
        return;
      }
      made.emplace(n, again);
    }
  }

  void check_texts(const std::vector<Variable>& variables, const Expr& e) {
    for (const Notation notation : {Notation::spec, Notation::python, Notation::latex}) {
      stage_ = "parse";
      const std::string text = render(e, notation);
      const Expr parsed = parse(text, variables);
      if (!same(parsed, e)) fail("parse", text + " reads as " + parsed.render());
    }
    stage_ = "c text";
    const std::string text = render(e, Notation::c);
    const Tree tree = parse_c_tree(text, names_);
    compare("c text", other_(tree, points_.columns, points_.count, Rounding::truncate), text);
  }

  void check_exact(const Expr& e) {
    stage_ = "simplify exact";
    const Expr simple = simplify(e, Effort::exact);
    check_values("simplify exact", simple);
    stage_ = "simplify exact, again";
    check_same("simplify exact, again", simple, simplify(simple, Effort::exact));
    check_same("simplify rules", e, simplify(e, Effort::rules));
    stage_ = "facts exact";
    const Facts facts = e.facts(Effort::exact);
    check_facts("facts exact", facts.min, facts.max, facts.modulus, facts.residue, facts.exact);
    if (points_.complete && !failure_) check_tight(facts);
  }
  void check_tight(const Facts& facts) {
    std::int64_t low = kPosInf, high = kNegInf, step = 0;
    for (const std::int64_t v : wanted_.values) {
      low = std::min(low, v), high = std::max(high, v);
      step = gcd(step, v - wanted_.values[0]);
    }
    if (facts.min != low || facts.max != high || !facts.exact)
      fail("facts exact", "bounds [" + std::to_string(facts.min) + ", " + std::to_string(facts.max) + "] are not [" +
                              std::to_string(low) + ", " + std::to_string(high) + "]");
    if (facts.modulus != step)
      fail("facts exact", "modulus " + std::to_string(facts.modulus) + " is not " + std::to_string(step));
  }

  Values values_at(const std::vector<Variable>& variables, std::size_t i) const {
    Values out;
    for (std::size_t v = 0; v < variables.size(); ++v) out.emplace_back(variables[v], points_.columns[v][i]);
    return out;
  }
  void check_evaluate(const std::vector<Variable>& variables, const Expr& e) {
    stage_ = "evaluate";
    for (std::size_t i = 0; i < points_.count; i += 1 + points_.count / 4) {
      if (wanted_.ok[i] == 0) continue;
      const std::int64_t got = evaluate(e, values_at(variables, i));
      if (got != wanted_.values[i])
        fail("evaluate", std::to_string(got) + " is not " + std::to_string(wanted_.values[i]) + " " + at_point(i));
    }
  }

  static bool has_symbolic_divisor(const Tree& tree) {
    return std::any_of(tree.nodes.begin(), tree.nodes.end(), [&](const TreeNode& n) {
      return (n.op == TreeOp::Div || n.op == TreeOp::Mod) &&
             tree.nodes[static_cast<std::size_t>(n.src[1])].op != TreeOp::Const;
    });
  }
  /// A variable replaced by a constant, or by the variable that runs backwards (where no divisor could become one whose
  /// bounds hold 0).
  void check_substitute(const Case& c, const std::vector<Variable>& variables, const Expr& e, std::uint64_t seed) {
    if (variables.empty()) return;
    stage_ = "substitute";
    Random random(seed);
    const auto v = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(variables.size()) - 1));
    const CaseVariable& range = c.variables[v];
    const bool backwards = random.one_in(2) && !has_symbolic_divisor(c.tree);
    const std::int64_t value = random.between(range.min, range.max);
    const Expr with = backwards ? range.min + range.max - variables[v] : Expr(value);
    const Expr replaced = substitute(e, {{variables[v], with}});
    Points moved = points_;
    for (std::int64_t& x : moved.columns[v]) x = backwards ? range.min + range.max - x : value;
    const Column saved = wanted_;
    wanted_ = evaluate_(c.tree, moved.columns, moved.count);
    check_values("substitute", replaced);
    wanted_ = saved;
  }

  void check_prove(const Expr& e) {
    stage_ = "prove";
    const Proof proof = prove(e);
    counts_.proven += proof.answer == Answer::yes;
    counts_.refuted += proof.answer == Answer::no;
    counts_.open += proof.answer == Answer::unknown;
    bool holds = true;
    for (std::size_t i = 0; i < points_.count; ++i) holds &= wanted_.ok[i] == 0 || wanted_.values[i] != 0;
    if (proof.answer == Answer::yes && !holds) fail("prove", "proves a condition that is false somewhere");
    if (proof.answer == Answer::no && holds && points_.complete) fail("prove", "refutes a condition that holds");
    if (proof.answer == Answer::unknown && points_.complete) fail("prove", "gives no answer on a small box");
    if (proof.answer == Answer::no && evaluate(e, proof.counterexample) != 0)
      fail("prove", "gives a counterexample where the condition holds");
  }

  /// Under an assumption, an inner node of the tree keeps its value wherever the assumption holds.
  void check_assumption(const Case& c, const std::vector<Variable>& variables, const Expr& assumption,
                        std::uint64_t seed) {
    stage_ = "simplify under";
    Random random(seed);
    Tree inner = c.tree;
    inner.nodes.resize(static_cast<std::size_t>(random.between(1, c.tree.root() + 1)));
    const Expr e = build(inner, variables);
    const Effort effort = random.one_in(2) ? Effort::rules : Effort::exact;
    const Expr simple = simplify_under(e, assumption, effort);
    Column wanted = evaluate_(inner, points_.columns, points_.count);
    for (std::size_t i = 0; i < points_.count; ++i) wanted.ok[i] &= wanted_.values[i] != 0;
    std::swap(wanted, wanted_);
    check_values("simplify under", simple);
    std::swap(wanted, wanted_);
  }

  std::optional<Failure> failure_;
  std::string stage_;
  std::vector<std::string> names_;
  Points points_;
  Column wanted_;
  TreeEvaluator evaluate_, other_;
  Counts counts_;
};

}  // namespace strata::oracle
