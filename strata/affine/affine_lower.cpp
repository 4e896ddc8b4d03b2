// Lowers affine texts and canonical expressions to steps.
//
// In a text, each maximal tree of + - and products by constants becomes one sum; multipliers are passed from the root
// down. The value is therefore that of the text in mathematical integers, whatever the order of its operations.

#include <algorithm>
#include <numeric>

#include "strata/affine/affine_program.h"
#include "strata/base/check.h"
#include "strata/expr/evaluate.h"

namespace strata {

namespace {

constexpr std::uint32_t kNone = 0xffffffff;

bool chooses(Action action) { return action == Action::select || action == Action::if_else; }

class TextLowering {
 public:
  explicit TextLowering(const AffineText& text)
      : text_(text), destinations_(text.nodes.size()), values_(text.nodes.size(), kNone) {}

  AffineProgram run() {
    program_.inputs = static_cast<std::uint32_t>(text_.names.size());
    const auto root = static_cast<std::uint32_t>(text_.nodes.size() - 1);
    need(root);
    for (std::uint32_t n = root + 1; n-- > 0;)
      if (destinations_[n].reached) distribute(n);
    group_terms();
    for (std::uint32_t n = 0; n <= root; ++n)
      if (destinations_[n].reached) emit(n);
    program_.result = values_[root];
    return std::move(program_);
  }

 private:
  /// The destination of a node's value: the sum of `owner`, `multiplier` times; or (own) a value of its own.
  struct Destination {
    bool reached = false;
    bool own = false;
    std::uint32_t owner = kNone;
    std::int64_t multiplier = 1;
    std::int64_t k0 = 0;      // own sums: the constant
    std::uint32_t first = 0;  // own sums: terms_[first, last)
    std::uint32_t last = 0;
  };
  struct SumTerm {
    std::uint32_t owner;
    std::uint32_t node;
    std::int64_t coefficient;
  };

  const TextNode& node(std::uint32_t n) const { return text_.nodes[n]; }
  std::span<const std::uint32_t> children(const TextNode& t) const {
    return {text_.children.data() + t.first, t.count};
  }
  bool is_number(std::uint32_t n) const { return node(n).kind == TextKind::number; }
  bool is_linear(std::uint32_t n) const {
    const TextNode& t = node(n);
    if (t.kind != TextKind::action) return false;
    if (t.action == Action::mul) return is_number(children(t)[0]) || is_number(children(t)[1]);
    return t.action == Action::add || t.action == Action::sub || t.action == Action::neg;
  }
  /// True when an operand is a number that is stored inside the step: the last operand of most actions may be.
  bool is_immediate(const TextNode& t, std::size_t operand) const {
    return operand > 0 && operand + 1 == t.count && !chooses(t.action) && is_number(children(t)[operand]);
  }

  void need(std::uint32_t n) { destinations_[n].reached = destinations_[n].own = true; }

  // --- down: which sum a node belongs to ---

  void distribute(std::uint32_t n) {
    const TextNode& t = node(n);
    if (t.kind != TextKind::action) return;
    if (is_linear(n)) return distribute_linear(n, t);
    for (std::size_t i = 0; i < t.count; ++i)
      if (!is_immediate(t, i)) need(children(t)[i]);
  }
  /// Passes the multiplier of a linear node on to its children. A node whose multiplier overflows becomes a value of
  /// its own.
  void distribute_linear(std::uint32_t n, const TextNode& t) {
    Destination& destination = destinations_[n];
    std::int64_t m[2] = {0, 0};
    if (!destination.own && !multipliers(t, destination.multiplier, m)) {
      terms_.push_back({destination.owner, n, destination.multiplier});
      destination.own = true;
    }
    const std::uint32_t owner = destination.own ? n : destination.owner;
    if (destination.own) STRATA_ASSERT(multipliers(t, 1, m), "a multiplier of 1 overflows");
    const bool scales = t.action == Action::mul;
    for (std::size_t i = 0; i < t.count; ++i)
      if (const std::uint32_t child = children(t)[i]; !scales || !is_number(child)) contribute(child, owner, m[i]);
  }
  /// The multipliers of the children of a linear node with multiplier m; false when one does not fit in 64 bits.
  bool multipliers(const TextNode& t, std::int64_t m, std::int64_t (&out)[2]) const {
    out[0] = m;
    if (t.action == Action::neg) return try_sub(0, m, out[0]);
    if (t.action == Action::sub) return try_sub(0, m, out[1]);
    if (t.action == Action::add) {
      out[1] = m;
      return true;
    }
    const std::size_t scaled = is_number(children(t)[0]) ? 1 : 0;
    return try_mul(m, node(children(t)[1 - scaled]).value, out[scaled]);
  }
  /// Adds m * child to the sum of `owner`: a linear child passes m on, a number goes into k0, any other child is a
  /// term.
  void contribute(std::uint32_t child, std::uint32_t owner, std::int64_t m) {
    Destination& destination = destinations_[child];
    const TextNode& t = node(child);
    destination.reached = true;
    if (is_linear(child)) {
      destination.owner = owner;
      destination.multiplier = m;
      return;
    }
    std::int64_t part = 0;
    std::int64_t& k0 = destinations_[owner].k0;
    if (t.kind == TextKind::number && try_mul(m, t.value, part) && try_add(k0, part, part)) {
      k0 = part;
      destination.reached = false;
      return;
    }
    destination.own = true;
    if (m != 0 || t.kind == TextKind::action) terms_.push_back({owner, child, m});
  }

  // --- gathering: terms grouped by owner, each name once ---

  void group_terms() {
    std::sort(terms_.begin(), terms_.end(), [this](const SumTerm& a, const SumTerm& b) {
      if (a.owner != b.owner) return a.owner < b.owner;
      const bool a_name = node(a.node).kind == TextKind::name, b_name = node(b.node).kind == TextKind::name;
      if (a_name != b_name) return a_name;
      if (a_name && node(a.node).value != node(b.node).value) return node(a.node).value < node(b.node).value;
      return a.node < b.node;
    });
    std::vector<SumTerm> merged;
    for (const SumTerm& term : terms_) {
      if (!merged.empty() && same_name(merged.back(), term) &&
          try_add(merged.back().coefficient, term.coefficient, merged.back().coefficient))
        continue;
      merged.push_back(term);
    }
    std::erase_if(merged, [this](const SumTerm& term) {
      return term.coefficient == 0 && node(term.node).kind == TextKind::name;
    });
    terms_ = std::move(merged);
    for (std::uint32_t i = 0; i < terms_.size(); ++i) {
      Destination& owner = destinations_[terms_[i].owner];
      if (owner.last == 0) owner.first = i;
      owner.last = i + 1;
    }
  }
  bool same_name(const SumTerm& a, const SumTerm& b) const {
    return a.owner == b.owner && node(a.node).kind == TextKind::name && node(b.node).kind == TextKind::name &&
           node(a.node).value == node(b.node).value;
  }

  // --- up: steps ---

  void emit(std::uint32_t n) {
    const TextNode& t = node(n);
    if (!destinations_[n].own) return;
    if (t.kind == TextKind::name) {
      values_[n] = static_cast<std::uint32_t>(t.value);
      return;
    }
    if (t.kind == TextKind::number) return finish(n, begin(Action::add, t), t.value);
    if (is_linear(n)) return emit_sum(n, t);
    AffineStep step = begin(t.action, t);
    std::int64_t constant = 0;
    if (t.action == Action::logical_not) {
      step.action = Action::eq;
      step.immediate = true;
    }
    for (std::size_t i = 0; i < t.count; ++i) {
      if (is_immediate(t, i)) {
        step.immediate = true;
        constant = node(children(t)[i]).value;
      } else {
        program_.operands.push_back({1, values_[children(t)[i]]});
      }
    }
    if (t.action == Action::if_else) {
      step.action = Action::select;
      std::swap(program_.operands[step.first], program_.operands[step.first + 1]);
    }
    finish(n, step, constant);
  }
  void emit_sum(std::uint32_t n, const TextNode& t) {
    const Destination& destination = destinations_[n];
    if (destination.last == destination.first + 1 && destination.k0 == 0 &&
        terms_[destination.first].coefficient == 1) {
      values_[n] = values_[terms_[destination.first].node];
      return;
    }
    AffineStep step = begin(Action::add, t);
    for (std::uint32_t i = destination.first; i < destination.last; ++i)
      program_.operands.push_back({terms_[i].coefficient, values_[terms_[i].node]});
    finish(n, step, destination.k0);
  }
  AffineStep begin(Action action, const TextNode& t) const {
    AffineStep step;
    step.action = action;
    step.column = t.column;
    step.first = static_cast<std::uint32_t>(program_.operands.size());
    return step;
  }
  void finish(std::uint32_t n, AffineStep step, std::int64_t constant) {
    step.count = static_cast<std::uint32_t>(program_.operands.size()) - step.first;
    step.constant = constant;
    values_[n] = program_.inputs + static_cast<std::uint32_t>(program_.steps.size());
    program_.steps.push_back(step);
  }

  const AffineText& text_;
  std::vector<Destination> destinations_;
  std::vector<std::uint32_t> values_;
  std::vector<SumTerm> terms_;
  AffineProgram program_;
};

class ExprLowering {
 public:
  explicit ExprLowering(std::span<const Expr> inputs) {
    program_.inputs = static_cast<std::uint32_t>(inputs.size());
    for (std::uint32_t i = 0; i < inputs.size(); ++i) values_.emplace(inputs[i].node(), i);
  }
  AffineProgram run(const Expr& e) {
    for (const Node* n : postorder({&e, 1}))
      if (!n->is(Op::Const) && !n->is(Op::Var)) emit(n);
    program_.result = value(e.node());
    return std::move(program_);
  }

 private:
  static Action action_of(Op op) {
    switch (op) {
      case Op::Mul: return Action::mul;
      case Op::Div: return Action::div;
      case Op::Mod: return Action::mod;
      case Op::Min: return Action::min;
      case Op::Max: return Action::max;
      case Op::Select: return Action::select;
      case Op::Lt: return Action::lt;
      case Op::Eq: return Action::eq;
      case Op::Ne: return Action::ne;
      case Op::And: return Action::logical_and;
      case Op::Or: return Action::logical_or;
      case Op::Sum:
      case Op::Const:
      case Op::Var: break;
    }
    return Action::add;
  }
  /// The value of an operand node; a constant becomes a step here.
  std::uint32_t value(const Node* n) {
    if (const auto at = values_.find(n); at != values_.end()) return at->second;
    STRATA_ASSERT(n->is(Op::Const), "a variable of a canonical form is not an input");
    AffineStep step;
    step.constant = n->value();
    push(n, step);
    return values_.at(n);
  }
  void emit(const Node* n) {
    AffineStep step;
    step.action = action_of(n->op);
    std::vector<AffineOperand> operands;
    if (n->is(Op::Sum)) {
      step.constant = n->k0();
      for (const Term& term : n->terms()) operands.push_back({term.coefficient, value(term.atom)});
    } else {
      const auto sources = n->sources();
      for (std::size_t i = 0; i < sources.size(); ++i) {
        const bool last = i > 0 && i + 1 == sources.size();
        if (last && sources[i]->is(Op::Const) && !n->is(Op::Select) && !n->is(Op::Mul)) {
          step.immediate = true;
          step.constant = sources[i]->value();
        } else {
          operands.push_back({1, value(sources[i])});
        }
      }
    }
    step.first = static_cast<std::uint32_t>(program_.operands.size());
    step.count = static_cast<std::uint32_t>(operands.size());
    program_.operands.insert(program_.operands.end(), operands.begin(), operands.end());
    push(n, step);
  }
  void push(const Node* n, AffineStep step) {
    step.bounded = n->lo != kNegInf && n->hi != kPosInf;
    step.lo = n->lo;
    step.hi = n->hi;
    values_.emplace(n, program_.inputs + static_cast<std::uint32_t>(program_.steps.size()));
    program_.steps.push_back(step);
  }

  std::unordered_map<const Node*, std::uint32_t> values_;
  AffineProgram program_;
};

/// One step, evaluated with the operators of Expr.
Expr apply_step(Action action, const std::vector<Expr>& x) {
  if (action == Action::select) return select(x[0], x[1], x[2]);
  Expr out = x[0];
  if (x.size() == 1 && (action == Action::logical_and || action == Action::logical_or)) return out != 0;
  for (std::size_t i = 1; i < x.size(); ++i) {
    switch (action) {
      case Action::mul: out = out * x[i]; break;
      case Action::div: out = out / x[i]; break;
      case Action::mod: out = out % x[i]; break;
      case Action::ceil_div: out = ceildiv(out, x[i]); break;
      case Action::min: out = min(out, x[i]); break;
      case Action::max: out = max(out, x[i]); break;
      case Action::lt: out = out < x[i]; break;
      case Action::le: out = out <= x[i]; break;
      case Action::gt: out = out > x[i]; break;
      case Action::ge: out = out >= x[i]; break;
      case Action::eq: out = out == x[i]; break;
      case Action::ne: out = out != x[i]; break;
      case Action::logical_and: out = out && x[i]; break;
      case Action::logical_or: out = out || x[i]; break;
      default: STRATA_ASSERT(false, "the action of an affine step is not known");
    }
  }
  return out;
}

}  // namespace

AffineProgram lower_text(const AffineText& text) { return TextLowering(text).run(); }

AffineProgram lower_expr(const Expr& e, std::span<const Expr> inputs) { return ExprLowering(inputs).run(e); }

Expr build_expr(const AffineProgram& program, std::span<const Expr> inputs) {
  std::vector<Expr> values(inputs.begin(), inputs.end());
  for (const AffineStep& step : program.steps) {
    std::vector<Expr> x;
    try {
      if (step.action == Action::add) {
        for (const AffineOperand& o : program.of(step)) x.push_back(o.coefficient * values[o.value]);
        x.push_back(step.constant);
        values.push_back(sum(x));
      } else {
        for (const AffineOperand& o : program.of(step)) x.push_back(values[o.value]);
        if (step.immediate) x.push_back(step.constant);
        values.push_back(apply_step(step.action, x));
      }
    } catch (const Error& e) {
      throw Error(e.kind(), e.what(), step.column);
    }
  }
  return values[program.result];
}

void allocate_registers(AffineProgram& program) {
  std::vector<std::uint32_t> readers(program.inputs + program.steps.size(), 0);
  for (const AffineOperand& o : program.operands) ++readers[o.value];
  ++readers[program.result];
  std::vector<std::uint32_t> place(readers.size());
  std::iota(place.data(), place.data() + program.inputs, 0U);
  std::vector<std::uint32_t> free;
  program.registers = program.inputs;
  for (std::size_t k = 0; k < program.steps.size(); ++k) {
    AffineStep& step = program.steps[k];
    // The target register is chosen before operands are freed: a step never writes a register that it reads.
    step.target = free.empty() ? program.registers++ : free.back();
    if (!free.empty()) free.pop_back();
    place[program.inputs + k] = step.target;
    for (std::uint32_t i = step.first; i < step.first + step.count; ++i) {
      std::uint32_t& value = program.operands[i].value;
      const std::uint32_t reg = place[value];
      if (--readers[value] == 0 && value >= program.inputs) free.push_back(reg);
      value = reg;
    }
  }
  program.result = place[program.result];
}

}  // namespace strata
