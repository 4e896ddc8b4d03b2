// Direct evaluation of a text: postfix steps over 64-bit values; each value may be a failure.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "strata/base/int_math.h"
#include "strata/base/meter.h"
#include "strata/expr/parse.h"
#include "strata/expr/source_text.h"

namespace strata {

class ExprProgram::Builder {
 public:
  Builder(const SourceText& source, const NameTable& names, std::vector<Instruction>& steps)
      : source_(source), names_(names), steps_(steps) {}
  void number(std::int64_t value, std::size_t column) { add(Kind::number, {}, column, value); }
  void name(std::string_view name, std::size_t column) {
    const std::size_t index = names_.find(name, source_.column(column));
    add(Kind::name, {}, column, static_cast<std::int64_t>(index));
  }
  void apply(Action action, std::size_t arity, std::size_t column) {
    add(Kind::apply, action, column, static_cast<std::int64_t>(arity));
  }
  [[noreturn]] void fail(Fault fault, std::string_view what, std::string_view token, std::size_t column) {
    source_.fail(fault, what, token, column);
  }

 private:
  void add(Kind kind, Action action, std::size_t column, std::int64_t number) {
    steps_.push_back({kind, action, source_.column(column), number});
  }
  const SourceText& source_;
  const NameTable& names_;
  std::vector<Instruction>& steps_;
};

ExprProgram compile(std::string_view text, std::span<const std::string> names) {
  ExprProgram out;
  out.names_.assign(names.begin(), names.end());
  const NameTable table(std::vector<std::string_view>(names.begin(), names.end()));
  Meter::charge(text.size());
  const SourceText source(text);
  ExprProgram::Builder builder(source, table, out.steps_);
  parse_infix(source.infix(), builder);
  return out;
}

namespace {

/// A sink that collects the names only.
struct NameSink {
  void number(std::int64_t, std::size_t) {}
  void name(std::string_view name, std::size_t) {
    if (seen.insert(name).second) names.emplace_back(name);
  }
  void apply(Action, std::size_t, std::size_t) {}
  [[noreturn]] void fail(Fault fault, std::string_view what, std::string_view token, std::size_t column) {
    source.fail(fault, what, token, column);
  }
  const SourceText& source;
  std::vector<std::string> names = {};
  std::unordered_set<std::string_view> seen = {};
};

}  // namespace

std::vector<std::string> names_in(std::string_view text) {
  Meter::charge(text.size());
  const SourceText source(text);
  NameSink sink{source};
  parse_infix(source.infix(), sink);
  return std::move(sink.names);
}

namespace {

using ProgramOutcome = ExprProgram::Outcome;

ProgramOutcome value_of(std::int64_t value) { return {value, false, ErrorKind::parse, 0}; }
ProgramOutcome failure(ErrorKind kind, std::size_t column) { return {0, true, kind, column}; }

ProgramOutcome divide(Action action, std::int64_t a, std::int64_t b, std::size_t column) {
  if (b == 0) return failure(ErrorKind::domain, column);
  if (action == Action::mod) return value_of(floor_mod(a, b));
  std::int64_t quotient = 0;
  if (!try_floor_div(a, b, quotient)) return failure(ErrorKind::overflow, column);
  const bool up = action == Action::ceil_div && floor_mod(a, b) != 0;
  return value_of(quotient + (up ? 1 : 0));
}

/// Operators on two values that did not fail.
ProgramOutcome binary(Action action, std::int64_t a, std::int64_t b, std::size_t column) {
  std::int64_t out = 0;
  const auto fit = [&](bool ok) { return ok ? value_of(out) : failure(ErrorKind::overflow, column); };
  switch (action) {
    case Action::add: return fit(try_add(a, b, out));
    case Action::sub: return fit(try_sub(a, b, out));
    case Action::mul: return fit(try_mul(a, b, out));
    case Action::div:
    case Action::mod:
    case Action::ceil_div: return divide(action, a, b, column);
    case Action::min: return value_of(std::min(a, b));
    case Action::max: return value_of(std::max(a, b));
    case Action::lt: return value_of(a < b);
    case Action::le: return value_of(a <= b);
    case Action::gt: return value_of(a > b);
    case Action::ge: return value_of(a >= b);
    case Action::eq: return value_of(a == b);
    case Action::ne: return value_of(a != b);
    case Action::neg:
    case Action::logical_and:
    case Action::logical_or:
    case Action::logical_not:
    case Action::select:
    case Action::if_else: break;
  }
  throw InternalError("internal error: not an operator on two values");
}

/// `and`, `or`: the right side counts only when the left side does not decide.
ProgramOutcome logical(Action action, const ProgramOutcome& a, const ProgramOutcome& b) {
  if (a.failed) return a;
  const bool decisive = action == Action::logical_or;
  if ((a.value != 0) == decisive) return value_of(decisive);
  return b.failed ? b : value_of(b.value != 0);
}

ProgramOutcome choose(const ProgramOutcome& condition, const ProgramOutcome& a, const ProgramOutcome& b) {
  if (condition.failed) return condition;
  return condition.value != 0 ? a : b;
}

}  // namespace

ExprProgram::Outcome ExprProgram::apply(Action action, std::span<const Outcome> in, std::size_t column) {
  if (action == Action::select) return choose(in[0], in[1], in[2]);
  if (action == Action::if_else) return choose(in[1], in[0], in[2]);
  if (action == Action::logical_and || action == Action::logical_or) return logical(action, in[0], in[1]);
  Outcome out = in[0];
  if (out.failed) return out;
  if (action == Action::logical_not) return value_of(out.value == 0);
  if (action == Action::neg) return binary(Action::sub, 0, out.value, column);
  for (const Outcome& next : in.subspan(1)) {
    if (next.failed) return next;
    out = binary(action, out.value, next.value, column);
  }
  return out;
}

ExprProgram::Outcome ExprProgram::try_evaluate(std::span<const std::int64_t> values) const {
  STRATA_CHECK(values.size() == names_.size(), domain, "[evaluate] ", values.size(), " values for ", names_.size(),
               " names");
  STRATA_CHECK(!steps_.empty(), domain, "[evaluate] the program is empty: compile() makes one of a text");
  std::vector<Outcome> stack;
  for (const Instruction& step : steps_) {
    if (step.kind == Kind::number) {
      stack.push_back(value_of(step.number));
    } else if (step.kind == Kind::name) {
      stack.push_back(value_of(values[static_cast<std::size_t>(step.number)]));
    } else {
      const auto arity = static_cast<std::size_t>(step.number);
      const Outcome out = apply(step.action, std::span(stack).last(arity), step.column);
      stack.resize(stack.size() - arity);
      stack.push_back(out);
    }
  }
  return stack.back();
}

std::int64_t ExprProgram::evaluate(std::span<const std::int64_t> values) const {
  const Outcome out = try_evaluate(values);
  if (!out.failed) return out.value;
  throw Error(out.kind,
              out.kind == ErrorKind::domain ? "[evaluate] division by zero" : "[evaluate] the value leaves 64 bits",
              out.column);
}

}  // namespace strata
