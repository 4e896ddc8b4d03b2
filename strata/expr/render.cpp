// Printer for the specification's and Python's notation, and count_nodes.
#include "strata/expr/render.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "strata/base/meter.h"
#include "strata/expr/printer.h"

namespace strata {

namespace {
// Meter units: for a piece of text, for a counted node, and for each of its children.
constexpr std::uint64_t kPieceUnits = 2, kNodeUnits = 8, kChildUnits = 4;
}  // namespace

std::vector<Term> printed_terms(std::span<const Term> terms) {
  Meter::charge(terms.size() / 2);
  std::vector<std::size_t> order(terms.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const std::uint64_t left = magnitude(terms[a].coefficient), right = magnitude(terms[b].coefficient);
    return left != right ? left > right : a < b;
  });
  std::vector<Term> out;
  out.reserve(terms.size());
  for (std::size_t i : order) out.push_back(terms[i]);
  return out;
}

void Printer::check_size(const Node* root, std::size_t size, bool& counted) {
  // In the shortest notation three nodes, (x*-1), take two bytes, -x; so the text has at least count / 2 bytes.
  const bool hopeless = size > kWorthCounting && !counted && count_nodes(Expr::share(root)) / 2 > kMaxText;
  counted = size > kWorthCounting;
  STRATA_CHECK(!hopeless && size <= kMaxText, budget, "[render] the text is longer than ", kMaxText, " bytes");
}

std::string Printer::print(const Node* root) {
  std::string out;
  bool counted = false;
  node(root);
  while (!pieces_.empty()) {
    Meter::charge(kPieceUnits);
    const Piece piece = pieces_.back();
    pieces_.pop_back();
    const std::size_t mark = pieces_.size();
    switch (piece.kind) {
      case Kind::text: out += piece.text; break;
      case Kind::number: out += std::to_string(piece.number); break;
      case Kind::node: expand(piece.node, piece.precedence); break;
      case Kind::tail: expand_tail(piece.node, static_cast<std::size_t>(piece.number)); break;
    }
    std::reverse(pieces_.begin() + static_cast<std::ptrdiff_t>(mark), pieces_.end());
    check_size(root, out.size(), counted);
  }
  return out;
}

void Printer::list(std::span<const Node* const> sources, std::string_view open, std::string_view between,
                   std::string_view close, Precedence precedence) {
  text(open);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (i != 0) text(between);
    node(sources[i], precedence);
  }
  text(close);
}

void Printer::expand(const Node* n, Precedence) {
  switch (n->op) {
    case Op::Const: return constant(n->value());
    case Op::Var: return variable(n);
    case Op::Sum: return sum(n);
    case Op::Mul:
      for (std::size_t i = 1; i < n->arity; ++i) text("(");
      for (std::size_t i = 0; i < n->arity; ++i) {
        if (i != 0) text("*");
        operand(n->src(i), n);
        if (i != 0) text(")");
      }
      return;
    case Op::Div: return quotient(n);
    case Op::Mod: return remainder(n);
    case Op::Min:
    case Op::Max: return extremum(n);
    case Op::Select: return choice(n);
    case Op::Lt: return list(n->sources(), "(", "<", ")");
    case Op::Eq: return list(n->sources(), "(", "==", ")");
    case Op::Ne: return list(n->sources(), "(", "!=", ")");
    case Op::And:
    case Op::Or: return junction(n);
  }
  throw InternalError("internal error: render met an unknown op");
}

void Printer::expand_tail(const Node*, std::size_t) {
  throw InternalError("internal error: this notation has no tails");
}

void Printer::operand(const Node* n, const Node*) { node(n); }

namespace {

// Numerators are stored with a positive first coefficient, so `(x*-1)//4` is stored as the term `-((3+x)//4)`. The
// printer writes the shorter of the two forms. Returns the operators and leaves that the turned form saves for `t`; at
// most 0 when it saves nothing.
int saved_by_turning(const Term& t) {
  const Node* d = t.atom;
  if (t.coefficient >= 0 || t.coefficient == kNegInf || !d->is(Op::Div) || !d->src(1)->is(Op::Const)) return 0;
  const Node* x = d->src(0);
  const bool sum = x->is(Op::Sum);
  const std::int64_t k0 = sum ? x->k0() : 0;
  std::int64_t turned = 0;
  if (!try_sub(d->src(1)->value() - 1, k0, turned)) return 0;
  int saved = t.coefficient == -1 ? 2 : 0;
  saved += (k0 != 0 ? 2 : 0) - (turned != 0 ? 2 : 0);
  if (!sum) return saved - 2;
  for (const Term& s : x->terms()) {
    if (s.coefficient == kNegInf || s.atom->is(Op::Div)) return 0;  // may be turned itself
    saved += s.coefficient == -1 ? 2 : s.coefficient == 1 ? -2 : 0;
  }
  return saved;
}

}  // namespace

void Printer::linear(const Node* n, std::int64_t k0, std::span<const Term> given) {
  const std::vector<Term> terms = printed_terms(given);
  const std::size_t parts = terms.size() + (k0 != 0 ? 1 : 0);
  const std::string_view prefix = term_prefix(n);
  for (std::size_t i = 1; i < parts; ++i) text("(");
  bool first = true;
  if (k0 != 0) {
    constant(k0);
    first = false;
  }
  for (const Term& t : terms) {
    if (!first) text("+");
    term(n, t, prefix);
    if (!first) text(")");
    first = false;
  }
}

void Printer::term(const Node* n, const Term& t, std::string_view prefix) {
  const bool turned = turns_quotients() && saved_by_turning(t) > 0;
  const std::int64_t coefficient = turned ? -t.coefficient : t.coefficient;
  if (coefficient != 1) text("(");
  if (turned) {  // writes x//c as -((c-1 - x)//c)
    const Node* x = t.atom->src(0);
    const Term whole{1, x};
    const auto inside = x->is(Op::Sum) ? x->terms() : std::span<const Term>{&whole, 1};
    std::vector<Term> negated(inside.begin(), inside.end());
    for (Term& s : negated) s.coefficient = -s.coefficient;
    const std::int64_t c = t.atom->src(1)->value();
    text("(");
    linear(x, c - 1 - (x->is(Op::Sum) ? x->k0() : 0), negated);
    text("//");
    constant(c);
    text(")");
  } else {
    if (!prefix.empty()) text(prefix);
    operand(t.atom, n);
  }
  if (coefficient != 1) {
    text("*");
    constant(coefficient);
    text(")");
  }
}

namespace {

class PythonPrinter : public Printer {
  void choice(const Node* n) override {
    text("(");
    node(n->src(1));
    text(" if ");
    node(n->src(0));
    text(" else ");
    node(n->src(2));
    text(")");
  }
};

/// The operators and leaves that `n` adds to those of its children, each child counted once.
std::size_t own_count(const Node* n) {
  switch (n->op) {
    case Op::Const:
    case Op::Var: return 1;
    case Op::Sum: {
      std::size_t count = n->terms().size() + (n->k0() != 0 ? 1 : 0) - 1;  // the pluses
      for (const Term& t : n->terms()) count += t.coefficient != 1 ? 2 : 0;
      return count + (n->k0() != 0 ? 1 : 0);
    }
    case Op::Mul:
    case Op::And:
    case Op::Or: return n->sources().size() - 1;
    default: return 1;
  }
}

}  // namespace

std::string render(const Expr& e, Notation notation) {
  switch (notation) {
    case Notation::spec: return Printer().print(e.node());
    case Notation::c: return print_c(e.node());
    case Notation::python: return PythonPrinter().print(e.node());
    case Notation::latex: return print_latex(e.node());
  }
  throw InternalError("internal error: render was asked for an unknown notation");
}

std::string Expr::render() const { return strata::render(*this, Notation::spec); }

std::size_t count_nodes(const Expr& e) {
  std::unordered_map<const Node*, std::size_t> counts;  // 0 until the children are counted
  std::vector<const Node*> work{e.node()};
  while (!work.empty()) {
    const Node* n = work.back();
    const auto [it, fresh] = counts.try_emplace(n, 0);
    if (fresh) {
      Meter::charge(kNodeUnits + kChildUnits * n->arity);
      for_each_child(n, [&](const Node* child) { work.push_back(child); });
      continue;
    }
    work.pop_back();
    if (it->second != 0) continue;
    std::size_t count = own_count(n);
    for_each_child(n, [&](const Node* child) { count = saturating_add(count, counts.at(child)); });
    if (n->is(Op::Sum) && count != static_cast<std::size_t>(-1)) {
      for (const Term& t : n->terms()) count -= static_cast<std::size_t>(std::max(saved_by_turning(t), 0));
    }
    it->second = count;
  }
  return counts.at(e.node());
}

}  // namespace strata
