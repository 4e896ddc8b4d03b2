// LaTeX with as few brackets as the grammar needs. latex.cpp reads it back.
//
// A comparison used as a number is written in Iverson brackets, \left[x<2\right]. An equality is written \mathrel{=},
// so that the text contains a backslash: without one, a text is infix, where a plain `=` is a mistake.
#include <algorithm>

#include "strata/expr/printer.h"

namespace strata {

namespace {

/// How tightly a text binds, and how tightly its context requires it to bind.
enum Binding : std::uint8_t { kLoose, kOr, kAnd, kComparison, kSum, kProduct, kAtom };

Binding binding(const Node* n) {
  switch (n->op) {
    case Op::Const: return n->value() < 0 ? kSum : kAtom;
    case Op::Sum: {
      const bool product = n->k0() == 0 && n->terms().size() == 1 && n->terms()[0].coefficient > 1;
      return product ? kProduct : kSum;
    }
    case Op::Mul:
    case Op::Mod: return kProduct;
    case Op::Lt:
    case Op::Eq:
    case Op::Ne: return kComparison;
    case Op::And: return kAnd;
    case Op::Or: return kOr;
    case Op::Var:
    case Op::Div:
    case Op::Min:
    case Op::Max:
    case Op::Select: return kAtom;
  }
  throw InternalError("internal error: render met an unknown op");
}

class LatexPrinter : public Printer {
  bool turns_quotients() const override { return false; }
  void expand(const Node* n, Precedence precedence) override {
    if (binding(n) >= precedence) return bare(n);
    const bool iverson = is_condition(n) && precedence > kComparison;
    text(iverson ? "\\left[" : "\\left(");
    bare(n);
    text(iverson ? "\\right]" : "\\right)");
  }

  void bare(const Node* n) {
    switch (n->op) {
      case Op::Mul: return factors(n->sources());
      case Op::Lt: return list(n->sources(), "", "<", "", kSum);
      case Op::Eq: return list(n->sources(), "", "\\mathrel{=}", "", kSum);
      case Op::Ne: return list(n->sources(), "", "\\ne ", "", kSum);
      default: return Printer::expand(n, 0);
    }
  }
  /// A product inside a product is not bracketed, a remainder is: `-a \bmod c` would be another value, and `a+b \bmod
  /// c` would look like one.
  void factor(const Node* n) { node(n, n->is(Op::Mul) ? kProduct : kAtom); }
  void factors(std::span<const Node* const> sources) {
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (i != 0) text("\\cdot ");
      node(sources[i], kAtom);
    }
  }

  void variable(const Node* n) override {
    const std::string_view spelled = n->variable().name;
    if (spelled.size() == 1 && spelled != "_") return name(spelled);
    text("\\mathit{");
    for (std::size_t at = 0; at < spelled.size();) {
      const std::size_t score = std::min(spelled.find('_', at), spelled.size());
      if (score > at) name(spelled.substr(at, score - at));
      if (score < spelled.size()) text("\\_");
      at = score + 1;
    }
    text("}");
  }
  void sum(const Node* n) override {
    bool first = true;
    if (n->k0() != 0) {
      number(n->k0());
      first = false;
    }
    for (const Term& t : printed_terms(n)) {
      term(t, first);
      first = false;
    }
  }
  void term(const Term& t, bool first) {
    std::int64_t coefficient = t.coefficient;
    if (coefficient < 0 && coefficient != kNegInf) {
      text("-");
      coefficient = -coefficient;
    } else if (!first) {
      text("+");
    }
    if (coefficient == 1) return factor(t.atom);
    if (coefficient == kNegInf)
      text("\\left(-9223372036854775808\\right)");
    else
      number(coefficient);
    text("\\cdot ");
    factor(t.atom);
  }
  void quotient(const Node* n) override { list(n->sources(), "\\left\\lfloor\\frac{", "}{", "}\\right\\rfloor"); }
  void remainder(const Node* n) override { list(n->sources(), "", "\\bmod ", "", kAtom); }
  void extremum(const Node* n) override {
    list(n->sources(), n->is(Op::Min) ? "\\min\\left(" : "\\max\\left(", ", ", "\\right)");
  }
  void choice(const Node* n) override {
    text("\\begin{cases}");
    node(n->src(1));
    text(" & \\text{if }");
    node(n->src(0));
    text(" \\\\ ");
    node(n->src(2));
    text(" & \\text{otherwise}\\end{cases}");
  }
  void junction(const Node* n) override {
    const bool both = n->is(Op::And);
    list(n->sources(), "", both ? "\\land " : "\\lor ", "", both ? kComparison : kAnd);
  }
};

}  // namespace

std::string print_latex(const Node* root) { return LatexPrinter().print(root); }

}  // namespace strata
