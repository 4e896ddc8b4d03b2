// Text to canonical expressions: a sink of the grammar that calls the algebra's constructors.
//
// Chains of + and - (and of `and`) are collected and built at once: a sum of n terms costs O(n log n), not O(n^2).
#include "strata/expr/parse.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "strata/base/int_math.h"
#include "strata/base/meter.h"
#include "strata/expr/source_text.h"

namespace strata {

namespace {

/// An operand in a chain, and the column of the operator in front of it.
struct Link {
  Expr value;
  bool negative;
  std::size_t column;
};

enum class Chain : std::uint8_t { none, sum, conjunction };

/// An entry of the stack: a value, or a chain that is not built yet.
struct Operand {
  Chain chain = Chain::none;
  bool flipped = false;     // sum: the sign of every link is inverted
  std::vector<Link> links;  // exactly one when `chain` is none
};

Expr build_prefix(const Operand& in, std::size_t count) {
  std::vector<Expr> parts;
  parts.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Link& link = in.links[i];
    if (link.negative == in.flipped) {
      parts.push_back(link.value);
    } else if (link.value.constant() == kNegInf) {  // -INT64_MIN fits only as a part of a sum
      parts.push_back(kPosInf);
      parts.push_back(1);
    } else {
      parts.push_back(-link.value);
    }
  }
  return in.chain == Chain::sum ? sum(parts) : all_of(parts);
}

std::optional<Error> try_build(const Operand& in, std::size_t count, Expr& out) {
  try {
    out = build_prefix(in, count);
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  }
}

/// The value of an operand. When a chain fails, the error names the first link that makes a prefix fail (by bisection).
Expr take(Operand&& in) {
  if (in.chain == Chain::none) return std::move(in.links.front().value);
  Expr out;
  std::optional<Error> error = try_build(in, in.links.size(), out);
  if (!error) return out;
  std::size_t good = 0, bad = in.links.size();
  while (bad - good > 1) {
    const std::size_t middle = good + (bad - good) / 2;
    std::optional<Error> here = try_build(in, middle, out);
    (here ? bad : good) = middle;
    if (here) error = std::move(here);
  }
  throw Error(error->kind(), error->what(), in.links[bad - 1].column);
}

Operand leaf(Expr value, std::size_t column) {
  Operand out;
  out.links.push_back({std::move(value), false, column});
  return out;
}

/// `in` as a chain of kind `chain`, ready to be extended.
Operand as_chain(Operand&& in, Chain chain) {
  if (in.chain == chain) return std::move(in);
  const std::size_t column = in.links.front().column;
  Operand out = leaf(take(std::move(in)), column);
  out.chain = chain;
  return out;
}

/// The chain for a + b, a - b, or a and b: the links of the shorter chain are moved to the longer one.
Operand join(Operand&& left, Operand&& right, Chain chain, bool negative, std::size_t column) {
  Operand a = as_chain(std::move(left), chain);
  Operand b = as_chain(std::move(right), chain);
  if (negative) b.flipped = !b.flipped;
  if (b.links.size() == 1) b.links.front().column = column;
  if (a.links.size() < b.links.size()) std::swap(a, b);
  for (Link& link : b.links) {
    link.negative = (link.negative != b.flipped) != a.flipped;
    a.links.push_back(std::move(link));
  }
  return a;
}

class ExprSink {
 public:
  ExprSink(const SourceText& source, const NameTable& names, const std::vector<Variable>& variables)
      : source_(source), names_(names), variables_(variables) {}

  void number(std::int64_t value, std::size_t column) { stack_.push_back(leaf(Expr(value), column)); }
  void name(std::string_view name, std::size_t column) {
    stack_.push_back(leaf(variables_[names_.find(name, source_.column(column))], column));
  }
  [[noreturn]] void fail(Fault fault, std::string_view what, std::string_view token, std::size_t column) {
    source_.fail(fault, what, token, column);
  }
  void apply(Action action, std::size_t arity, std::size_t column) {
    try {
      if (arity == 1 && action == Action::neg && stack_.back().chain == Chain::sum) {
        stack_.back().flipped = !stack_.back().flipped;
        return;
      }
      if (const Chain chain = chain_of(action); chain != Chain::none) {
        Operand right = pop();
        Operand left = pop();
        stack_.push_back(join(std::move(left), std::move(right), chain, action == Action::sub, column));
        return;
      }
      compute(action, arity, column);
    } catch (const Error& error) {
      throw Error(error.kind(), error.what(), source_.column(error.column() == 0 ? column : error.column()));
    }
  }
  Expr result() {
    try {
      return take(pop());
    } catch (const Error& error) {
      throw Error(error.kind(), error.what(), source_.column(std::max<std::size_t>(error.column(), 1)));
    }
  }

 private:
  static Chain chain_of(Action action) {
    if (action == Action::add || action == Action::sub) return Chain::sum;
    return action == Action::logical_and ? Chain::conjunction : Chain::none;
  }
  Operand pop() {
    Operand out = std::move(stack_.back());
    stack_.pop_back();
    return out;
  }
  void compute(Action action, std::size_t arity, std::size_t column) {
    std::vector<Expr> in(arity);
    for (std::size_t i = arity; i-- > 0;) in[i] = take(pop());
    Expr out = in[0];
    if (action == Action::min || action == Action::max) {
      for (std::size_t i = 1; i < arity; ++i) out = action == Action::min ? min(out, in[i]) : max(out, in[i]);
    } else {
      out = combine(action, in);
    }
    stack_.push_back(leaf(std::move(out), column));
  }
  static Expr combine(Action action, const std::vector<Expr>& in) {
    switch (action) {
      case Action::neg: return -in[0];
      case Action::mul: return in[0] * in[1];
      case Action::div: return in[0] / in[1];
      case Action::mod: return in[0] % in[1];
      case Action::ceil_div: return ceildiv(in[0], in[1]);
      case Action::lt: return in[0] < in[1];
      case Action::le: return in[0] <= in[1];
      case Action::gt: return in[0] > in[1];
      case Action::ge: return in[0] >= in[1];
      case Action::eq: return in[0] == in[1];
      case Action::ne: return in[0] != in[1];
      case Action::logical_or: return in[0] || in[1];
      case Action::logical_not: return !in[0];
      case Action::select: return select(in[0], in[1], in[2]);
      case Action::if_else: return select(in[1], in[0], in[2]);
      case Action::add:
      case Action::sub:
      case Action::logical_and:
      case Action::min:
      case Action::max: break;
    }
    throw InternalError("internal error: the parser met an action that is a chain");
  }

  const SourceText& source_;
  const NameTable& names_;
  const std::vector<Variable>& variables_;
  std::vector<Operand> stack_;
};

}  // namespace

namespace {

NameTable names_of(const std::vector<Variable>& variables) {
  std::vector<std::string_view> names;
  names.reserve(variables.size());
  for (const Variable& v : variables) names.push_back(v.name());
  return NameTable(std::move(names));
}

Expr parse_over(std::string_view text, const NameTable& names, const std::vector<Variable>& variables) {
  Meter::charge(text.size());
  const SourceText source(text);
  ExprSink sink(source, names, variables);
  parse_infix(source.infix(), sink);
  return sink.result();
}

}  // namespace

Expr parse(std::string_view text, const std::vector<Variable>& variables) {
  return parse_over(text, names_of(variables), variables);
}

Parser::Parser(std::vector<Variable> variables)
    : variables_(std::move(variables)), names_(std::make_unique<const NameTable>(names_of(variables_))) {}
Parser::~Parser() = default;

Expr Parser::operator()(std::string_view text) const { return parse_over(text, *names_, variables_); }

std::string show_caret(std::string_view text, std::size_t column) {
  constexpr std::size_t width = 100, margin = 40;
  const std::size_t at = std::min(column == 0 ? 0 : column - 1, text.size());
  const std::size_t before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const std::string_view line = text.substr(begin, text.find('\n', at) - begin);
  const std::size_t caret = at - begin;
  std::size_t from = 0, size = line.size();
  if (line.size() > width) {
    size = width - 6;  // room for an ellipsis at both ends
    from = std::min(caret > margin ? caret - margin : 0, line.size() - size);
  }
  std::string shown = from > 0 ? "..." : "";
  const std::size_t indent = shown.size() + caret - from;
  for (char c : line.substr(from, size)) shown += c >= 0x20 && c < 0x7f ? c : '?';
  if (from + size < line.size()) shown += "...";
  return shown + "\n" + std::string(indent, ' ') + "^";
}

}  // namespace strata
