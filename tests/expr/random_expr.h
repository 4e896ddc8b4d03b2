// Random expressions over bounded variables, and the bridge between trees and the algebra.
//
// A Case is variables and a Tree. `random_case(seed, options)` draws one; `build` makes the Expr through the public
// operators alone; `tree_of` turns an Expr back into a tree, so that the oracle evaluates what the algebra made.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "strata/expr/expr.h"
#include "strata/expr/node.h"
#include "tests/expr/tree.h"

namespace strata::oracle {

/// SplitMix64: small, seedable, the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  /// In [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool one_in(std::int64_t n) { return between(1, n) == 1; }
  template <class List>
  auto pick(const List& list) {
    return list[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(std::size(list)) - 1))];
  }

 private:
  std::uint64_t state_;
};

struct CaseVariable {
  std::string name;
  std::int64_t min, max;
};

struct Case {
  std::vector<CaseVariable> variables;
  Tree tree;

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const CaseVariable& v : variables) out.push_back(v.name);
    return out;
  }
};

struct RandomOptions {
  int most_variables = 4;
  int depth = 6;
  std::int64_t range = 41;
  std::int64_t divisor = 512;
  bool symbolic_divisors = true;
};

/// Draws trees whose values stay below 2^40, and whose divisors are never 0: constants of either sign and, if
/// asked for, positive variables, their products and negations. Constants come from a few factors a case, so that
/// they divide each other often; subtrees are shared now and then.
class RandomCase {
 public:
  RandomCase(std::uint64_t seed, const RandomOptions& options) : random_(seed), options_(options) {}

  Case draw() {
    draw_variables();
    draw_factors();
    const int depth = static_cast<int>(random_.between(1, options_.depth));
    const std::int32_t root = random_.one_in(4) ? condition(depth) : value(depth);
    // A node that was drawn early may be the root: cut what came after it.
    case_.tree.nodes.resize(static_cast<std::size_t>(root) + 1);
    return std::move(case_);
  }

 private:
  struct Span {
    std::int64_t low, high;
  };
  /// Drawn in braces, which fix the order of the draws: a seed means the same with every compiler.
  struct Operands {
    std::int32_t a, b;
  };
  static constexpr std::int64_t kMost = std::int64_t{1} << 40;

  void draw_variables() {
    constexpr std::array names = {"x", "y2", "y10", "z"};
    const auto count = static_cast<std::size_t>(random_.between(1, options_.most_variables));
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t size = random_.one_in(3) ? random_.between(1, options_.range) : random_.between(1, 9);
      std::int64_t low = 0;
      if (random_.one_in(4))
        low = random_.between(-options_.range, 5);
      else if (random_.one_in(3))
        low = random_.one_in(2) ? 1 : random_.between(1, 8);
      case_.variables.push_back({names[i], low, low + size - 1});
    }
  }
  void draw_factors() {
    constexpr std::array<std::int64_t, 12> pool = {2, 2, 3, 4, 4, 5, 6, 7, 8, 10, 16, 32};
    for (std::int64_t& factor : factors_) factor = random_.pick(pool);
  }

  std::int64_t positive_constant() {
    std::int64_t c = random_.pick(factors_);
    if (random_.one_in(3)) c *= random_.pick(factors_);
    if (random_.one_in(20)) c = random_.between(1, options_.divisor);
    return std::min(c, options_.divisor);
  }
  std::int64_t constant() {
    if (random_.one_in(3)) return random_.between(-4, 9);
    std::int64_t c = positive_constant();
    if (random_.one_in(4)) c += random_.between(-1, 1);
    return random_.one_in(4) ? -c : c;
  }

  std::int32_t note(std::int32_t node, Span span) {
    spans_.resize(case_.tree.nodes.size(), {0, 0});
    spans_[static_cast<std::size_t>(node)] = span;
    return node;
  }
  std::int32_t constant_leaf(std::int64_t c) { return note(case_.tree.leaf(TreeOp::Const, c), {c, c}); }
  std::int32_t variable_leaf() {
    const std::int64_t v = random_.between(0, static_cast<std::int64_t>(case_.variables.size()) - 1);
    const CaseVariable& variable = case_.variables[static_cast<std::size_t>(v)];
    return note(case_.tree.leaf(TreeOp::Var, v), {variable.min, variable.max});
  }
  Span span(std::int32_t node) const { return spans_[static_cast<std::size_t>(node)]; }

  static Span add(Span a, Span b) { return {a.low + b.low, a.high + b.high}; }
  static Span negate(Span a) { return {-a.high, -a.low}; }
  static Span multiply(Span a, Span b) {
    const auto ends = {sat_mul(a.low, b.low), sat_mul(a.low, b.high), sat_mul(a.high, b.low), sat_mul(a.high, b.high)};
    return {std::min(ends), std::max(ends)};
  }
  static Span widest(Span a) {
    const std::int64_t m = std::max(a.high, -a.low);
    return {-m, m};
  }
  static bool is_large(Span a) { return a.low < -kMost || a.high > kMost; }

  std::int32_t binary(TreeOp op, std::int32_t a, std::int32_t b, Span span) {
    if (is_large(span)) return a;
    return note(case_.tree.add(op, a, b), span);
  }

  std::int32_t value(int depth) {
    if (!case_.tree.nodes.empty() && random_.one_in(9)) {
      const auto shared = static_cast<std::int32_t>(random_.between(0, case_.tree.root()));
      if (span(shared).low != span(shared).high) return shared;
    }
    if (depth <= 0) return random_.one_in(8) ? constant_leaf(constant()) : variable_leaf();
    switch (random_.between(0, 15)) {
      case 0:
      case 1:
      case 2: return addition({value(depth - 1), value(depth - 1)});
      case 3: return addition({value(depth - 1), constant_leaf(constant())});
      case 4:
        if (random_.one_in(8)) return tile({value(depth - 2), value(depth - 2)});
        if (random_.one_in(2)) return mixture(value(depth - 2));
        return digits(value(depth - 1), depth);
      case 5:
      case 6: return product({value(depth - 1), constant_leaf(constant())});
      case 7: return product({value(depth - 1), value(depth - 2)});
      case 8:
      case 9:
      case 10: return division(TreeOp::Div, value(depth - 1));
      case 11:
      case 12: return division(TreeOp::Mod, value(depth - 1));
      case 13: return extremum({value(depth - 1), value(depth - 1)});
      case 14: return choice(depth);
      default: return random_.one_in(2) ? condition(depth) : negation(value(depth - 1));
    }
  }
  std::int32_t addition(Operands operands) {
    const auto [a, b] = operands;
    if (random_.one_in(3)) return binary(TreeOp::Sub, a, b, add(span(a), negate(span(b))));
    return binary(TreeOp::Add, a, b, add(span(a), span(b)));
  }
  std::int32_t negation(std::int32_t a) { return note(case_.tree.add(TreeOp::Neg, a), negate(span(a))); }
  std::int32_t product(Operands operands) {
    const auto [a, b] = operands;
    return binary(TreeOp::Mul, a, b, multiply(span(a), span(b)));
  }
  std::int32_t divisor() {
    if (options_.symbolic_divisors && random_.one_in(12)) {
      if (const std::int32_t n = size(); n >= 0) return symbolic_divisor(n);
    }
    const std::int64_t c = positive_constant();
    return constant_leaf(random_.one_in(6) ? -c : c);
  }
  /// A positive variable, or -1.
  std::int32_t size() {
    const std::int32_t v = variable_leaf();
    return span(v).low > 0 ? v : -1;
  }
  std::int32_t symbolic_divisor(std::int32_t n) {
    if (random_.one_in(4)) n = product({n, constant_leaf(positive_constant())});
    if (const std::int32_t m = random_.one_in(3) ? size() : -1; m >= 0) n = product({n, m});
    return random_.one_in(8) ? negation(n) : n;
  }
  /// (n*a + b%n) // (n*m), or %: the address of a tile of symbolic size, taken apart again.
  std::int32_t tile(Operands operands) {
    const auto [a, b] = operands;
    const std::int32_t n = size(), m = size();
    if (n < 0 || !options_.symbolic_divisors) return addition(operands);
    const std::int32_t within = random_.one_in(2) ? n : constant_leaf(random_.between(1, span(n).low));
    const std::int32_t rest = random_.one_in(4) ? b : divide(TreeOp::Mod, b, within);
    const std::int32_t high = product({n, a});
    const std::int32_t address = binary(TreeOp::Add, high, rest, add(span(high), span(rest)));
    const std::int32_t by = product({n, m >= 0 && random_.one_in(2) ? m : constant_leaf(random_.between(1, 4))});
    const TreeOp op = random_.one_in(2) ? TreeOp::Div : TreeOp::Mod;
    return divide(op, random_.one_in(4) ? high : address, by);
  }
  std::int32_t division(TreeOp op, std::int32_t a) { return divide(op, a, divisor()); }
  std::int32_t divide(TreeOp op, std::int32_t a, std::int32_t b) {
    return binary(op, a, b, op == TreeOp::Div ? widest(span(a)) : widest(span(b)));
  }
  /// x//c*c*s + x%c*s with two divisors that may differ: what recombination looks for.
  std::int32_t digits(std::int32_t a, int depth) {
    const std::int32_t d = divisor();
    const std::int32_t e = random_.one_in(3) ? divisor() : d;
    std::int32_t high = divide(TreeOp::Div, a, d);
    if (random_.one_in(3)) high = division(TreeOp::Mod, high);
    high = product({high, random_.one_in(4) && depth > 2 ? value(1) : e});
    const std::int32_t low = divide(TreeOp::Mod, a, e);
    return binary(TreeOp::Add, high, low, add(span(high), span(low)));
  }
  /// i*a + j*(a//c) + k*(a%e) with factors that nearly cancel.
  std::int32_t mixture(std::int32_t a) {
    const std::int32_t d = divisor();
    const std::int64_t c = case_.tree.nodes[static_cast<std::size_t>(d)].op == TreeOp::Const ? span(d).low : 2;
    const auto factor = [&] {
      const std::int64_t k = random_.between(-3, 3);
      return constant_leaf(random_.one_in(2) ? k * c : k);
    };
    const std::int32_t high = divide(TreeOp::Div, a, d);
    const std::int32_t low = divide(TreeOp::Mod, a, random_.one_in(3) ? divisor() : d);
    std::int32_t total = product({high, factor()});
    if (!random_.one_in(3)) total = addition({total, product({low, factor()})});
    return random_.one_in(3) ? total : addition({total, product({a, factor()})});
  }
  std::int32_t extremum(Operands operands) {
    const auto [a, b] = operands;
    const Span both{std::min(span(a).low, span(b).low), std::max(span(a).high, span(b).high)};
    const std::int32_t least = note(case_.tree.add(TreeOp::Min, a, b), both);
    if (random_.one_in(2)) return least;
    const std::int32_t most = note(case_.tree.add(TreeOp::Max, b, a), both);
    return random_.one_in(8) ? binary(TreeOp::Add, least, most, add(both, both)) : most;
  }
  std::int32_t choice(int depth) {
    const std::int32_t p = condition(depth - 1), a = value(depth - 1), b = value(depth - 1);
    const Span both{std::min(span(a).low, span(b).low), std::max(span(a).high, span(b).high)};
    return note(case_.tree.add(TreeOp::Select, p, a, b), both);
  }
  std::int32_t condition(int depth) {
    const std::int64_t kind = depth <= 1 ? 9 : random_.between(0, 9);
    if (kind <= 3) {
      const std::int32_t p = condition(depth - 1), q = condition(depth - 1);
      return note(case_.tree.add(kind <= 1 ? TreeOp::And : TreeOp::Or, p, q), {0, 1});
    }
    if (kind == 4) return note(case_.tree.add(TreeOp::Not, condition(depth - 1)), {0, 1});
    constexpr std::array ops = {TreeOp::Lt, TreeOp::Le, TreeOp::Gt, TreeOp::Ge, TreeOp::Eq, TreeOp::Ne};
    const std::int32_t a = depth > 1 && random_.one_in(4) ? mixture(value(depth - 2)) : value(depth - 1);
    const std::int32_t b = random_.one_in(2) ? constant_leaf(constant()) : value(depth - 2);
    return note(case_.tree.add(random_.pick(ops), a, b), {0, 1});
  }

  Random random_;
  RandomOptions options_;
  Case case_;
  std::array<std::int64_t, 3> factors_{};
  std::vector<Span> spans_;
};

inline Case random_case(std::uint64_t seed, const RandomOptions& options = {}) {
  return RandomCase(seed, options).draw();
}

inline std::vector<Variable> make_variables(const Case& c) {
  std::vector<Variable> out;
  for (const CaseVariable& v : c.variables) out.emplace_back(v.name, v.min, v.max);
  return out;
}

/// How `build` orders the operands of commutative operators: all ways give the same node.
enum class Order : std::uint8_t { as_written, swapped };

inline Expr build_node(const TreeNode& n, const Expr& a, const Expr& b, const Expr& c, Order order) {
  const bool swap = order == Order::swapped;
  switch (n.op) {
    case TreeOp::Neg: return -a;
    case TreeOp::Not: return !a;
    case TreeOp::Add: return swap ? b + a : a + b;
    case TreeOp::Sub: return swap ? -b + a : a - b;
    case TreeOp::Mul: return swap ? b * a : a * b;
    case TreeOp::Div: return a / b;
    case TreeOp::Mod: return a % b;
    case TreeOp::Min: return swap ? min(b, a) : min(a, b);
    case TreeOp::Max: return swap ? max(b, a) : max(a, b);
    case TreeOp::Lt: return swap ? b > a : a < b;
    case TreeOp::Le: return swap ? b >= a : a <= b;
    case TreeOp::Gt: return swap ? b < a : a > b;
    case TreeOp::Ge: return swap ? b <= a : a >= b;
    case TreeOp::Eq: return swap ? b == a : a == b;
    case TreeOp::Ne: return swap ? b != a : a != b;
    case TreeOp::And: return swap ? b && a : a && b;
    case TreeOp::Or: return swap ? b || a : a || b;
    case TreeOp::Select: return select(a, b, c);
    case TreeOp::Const:
    case TreeOp::Var: break;
  }
  throw InternalError("not an operator");
}

/// The expression that `tree` says, through the public operators. @throws Error as they do
inline Expr build(const Tree& tree, const std::vector<Variable>& variables, Order order = Order::as_written) {
  std::vector<Expr> made;
  made.reserve(tree.nodes.size());
  for (const TreeNode& n : tree.nodes) {
    const auto src = [&](int i) -> const Expr& { return made[static_cast<std::size_t>(n.src[i < n.arity() ? i : 0])]; };
    if (n.op == TreeOp::Const) {
      made.emplace_back(n.value);
    } else if (n.op == TreeOp::Var) {
      made.push_back(variables[static_cast<std::size_t>(n.value)]);
    } else {
      made.push_back(build_node(n, src(0), src(1), src(2), order));
    }
  }
  return made.back();
}

/// Nodes below `e`, each once, sources first.
inline std::vector<const Node*> nodes_below(const Expr& e) {
  std::vector<const Node*> out;
  std::vector<std::pair<const Node*, bool>> stack = {{e.node(), false}};
  std::unordered_map<const Node*, bool> seen;
  while (!stack.empty()) {
    const auto [n, expanded] = stack.back();
    stack.pop_back();
    if (expanded) {
      out.push_back(n);
    } else if (seen.emplace(n, true).second) {
      stack.emplace_back(n, true);
      for_each_child(n, [&](const Node* child) { stack.emplace_back(child, false); });
    }
  }
  return out;
}

inline TreeOp tree_op(Op op) {
  switch (op) {
    case Op::Mul: return TreeOp::Mul;
    case Op::Div: return TreeOp::Div;
    case Op::Mod: return TreeOp::Mod;
    case Op::Min: return TreeOp::Min;
    case Op::Max: return TreeOp::Max;
    case Op::Select: return TreeOp::Select;
    case Op::Lt: return TreeOp::Lt;
    case Op::Eq: return TreeOp::Eq;
    case Op::Ne: return TreeOp::Ne;
    case Op::And: return TreeOp::And;
    case Op::Or: return TreeOp::Or;
    case Op::Const:
    case Op::Sum:
    case Op::Var: break;
  }
  throw InternalError("not an operator of two or three operands");
}

/// The tree of an Expr, read off its nodes; variables not in `names` are appended to it.
inline Tree tree_of(const Expr& e, std::vector<std::string>& names) {
  Tree tree;
  std::unordered_map<const Node*, std::int32_t> at;
  for (const Node* n : nodes_below(e)) {
    std::int32_t made = -1;
    if (n->is(Op::Const)) {
      made = tree.leaf(TreeOp::Const, n->value());
    } else if (n->is(Op::Var)) {
      const auto found = std::find(names.begin(), names.end(), n->variable().name);
      made = tree.leaf(TreeOp::Var, found - names.begin());
      if (found == names.end()) names.push_back(n->variable().name);
    } else if (n->is(Op::Sum)) {
      made = tree.leaf(TreeOp::Const, n->k0());
      for (const Term& t : n->terms()) {
        std::int32_t term = at.at(t.atom);
        if (t.coefficient != 1) term = tree.add(TreeOp::Mul, tree.leaf(TreeOp::Const, t.coefficient), term);
        made = tree.add(TreeOp::Add, made, term);
      }
    } else if (n->is(Op::Select)) {
      made = tree.add(TreeOp::Select, at.at(n->src(0)), at.at(n->src(1)), at.at(n->src(2)));
    } else {
      made = at.at(n->src(0));
      for (const Node* s : n->sources().subspan(1)) made = tree.add(tree_op(n->op), made, at.at(s));
    }
    at[n] = made;
  }
  // The evaluator takes the last node for the root.
  if (at.at(e.node()) != tree.root()) throw InternalError("the root of an expression must come last");
  return tree;
}

/// Points of a box in columns: all of them where there are at most `most`, else corners and random ones.
struct Points {
  std::vector<std::vector<std::int64_t>> columns;
  std::size_t count = 0;
  bool complete = false;
};

inline Points points_of(const std::vector<CaseVariable>& box, std::size_t most, std::uint64_t seed) {
  Points out;
  std::uint64_t volume = 1;
  for (const CaseVariable& v : box) {
    const auto size = static_cast<std::uint64_t>(v.max) - static_cast<std::uint64_t>(v.min) + 1;
    volume = size == 0 || volume > (std::uint64_t{1} << 32) || size > (std::uint64_t{1} << 31) ? std::uint64_t{1} << 62
                                                                                               : volume * size;
  }
  out.complete = volume <= most;
  out.count = out.complete ? static_cast<std::size_t>(volume) : most;
  Random random(seed);
  std::uint64_t block = 1;
  for (std::size_t v = 0; v < box.size(); ++v) {
    std::vector<std::int64_t> column(out.count);
    const auto size = static_cast<std::uint64_t>(box[v].max) - static_cast<std::uint64_t>(box[v].min) + 1;
    for (std::size_t i = 0; i < out.count; ++i) {
      std::uint64_t step = 0;
      if (out.complete) {
        step = (i / block) % size;
      } else if (i < (std::size_t{1} << std::min<std::size_t>(box.size(), 4))) {
        step = (i >> std::min<std::size_t>(v, 4) & 1) != 0 ? size - 1 : 0;
      } else {
        step = size == 0 ? random.next() : random.next() % size;
      }
      column[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(box[v].min) + step);
    }
    if (out.complete) block *= size;
    out.columns.push_back(std::move(column));
  }
  return out;
}

}  // namespace strata::oracle
