// Text to expressions. The grammar is grammar.h's; text that holds a backslash is LaTeX, as render writes it.
//
// Everything here runs in time linear in the text and without recursion; any byte string is legal input and gives
// either a result or an Error with the column at fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/base/check.h"
#include "strata/expr/expr.h"
#include "strata/expr/grammar.h"

namespace strata {

class NameTable;

/// Reads many texts over the same variables: what does not depend on the text is made once.
class Parser {
 public:
  /// @throws Error (domain) when a name occurs twice, (parse) for a reserved word
  explicit Parser(std::vector<Variable> variables);
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
  ~Parser();
  /// As parse() does.
  Expr operator()(std::string_view text) const;

 private:
  std::vector<Variable> variables_;
  std::unique_ptr<const NameTable> names_;
};

/// The expression that `text` says, in canonical form.
/// @throws Error with the column: (parse) for bad text or an unknown name; (domain) where a divisor's bounds hold 0;
///   (overflow) where a literal or a folded constant leaves 64 bits; (budget) above 200,000 open brackets.
///   (domain) without a column when a name occurs twice in `variables`.
Expr parse(std::string_view text, const std::vector<Variable>& variables);

/// The names in a text, in order of first appearance. @throws Error (parse, overflow, budget) for the text, as parse does
std::vector<std::string> names_in(std::string_view text);

/// Two lines: the line of `text` that holds the 1-based byte `column`, shortened around it to 100 characters, and a
/// caret below the column. Bytes that are not printable ASCII show as '?'.
std::string show_caret(std::string_view text, std::size_t column);

/// A text as it stands, compiled to postfix and evaluated without any simplification: the oracle for `parse`.
class ExprProgram {
 public:
  /// A value, or why there is none.
  struct Outcome {
    std::int64_t value = 0;
    bool failed = false;
    ErrorKind kind = ErrorKind::parse;  ///< overflow or domain, when failed
    std::size_t column = 0;             ///< of the operator that failed
  };

  const std::vector<std::string>& names() const { return names_; }
  /// The value where names()[i] is values[i]. A failure in a branch that select, `?:`, `if else`, `and` or `or` (the
  /// latter two decided by their left side) do not take does not count.
  /// @throws Error (overflow) when an intermediate leaves 64 bits, (domain) for a zero divisor or a wrong count of values.
  std::int64_t evaluate(std::span<const std::int64_t> values) const;
  /// The same without exceptions for a failure of the arithmetic.
  Outcome try_evaluate(std::span<const std::int64_t> values) const;

 private:
  class Builder;
  friend ExprProgram compile(std::string_view text, std::span<const std::string> names);
  enum class Kind : std::uint8_t { number, name, apply };
  struct Instruction {
    Kind kind;
    Action action;
    std::size_t column;
    std::int64_t number;  // the number, the index of the name, or the arity
  };
  static Outcome apply(Action action, std::span<const Outcome> in, std::size_t column);

  std::vector<std::string> names_;
  std::vector<Instruction> steps_;
};

/// @throws as `parse`, for the text; (domain) when a name occurs twice.
ExprProgram compile(std::string_view text, std::span<const std::string> names);

}  // namespace strata
