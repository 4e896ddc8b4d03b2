// Text to expressions: `parse`, `Parser` (many texts over the same variables) and `ExprProgram` (a text evaluated
// without simplification, which tests use to check `parse`). grammar.h defines the grammar. A text that holds a
// backslash is read as LaTeX, in the form that `render` writes.
//
// Reading takes time linear in the text and does not recurse; `parse` also builds the canonical form, which takes O(n
// log n) for a sum of n terms. Any byte string is legal input: the result is a value or an Error with the column of the
// mistake.
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

/// Reads many texts over the same variables; the table of names is built once.
class Parser {
 public:
  /// @throws Error (domain) when a name occurs twice; (parse) for a name that is a word of the grammar: and, or, not,
  ///   if, else, True, False.
  explicit Parser(std::vector<Variable> variables);
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
  ~Parser();
  /// Reads one text, like parse().
  Expr operator()(std::string_view text) const;

 private:
  std::vector<Variable> variables_;
  std::unique_ptr<const NameTable> names_;
};

/// The expression written in `text`, in canonical form.
/// @throws Error with a column: (parse) for bad text or an unknown name; (domain) for a divisor that can be 0;
///   (overflow) when a literal or a folded constant does not fit in 64 bits; (budget) above 200,000 open brackets.
///   Without a column: as the constructor of Parser, for the names of `variables`.
Expr parse(std::string_view text, const std::vector<Variable>& variables);

/// The names of variables in a text, in order of first appearance; functions (`min(...)`) do not count.
/// @throws Error (parse, overflow, budget) for the text, as parse does; only a literal overflows, and divisors are not
/// checked.
std::vector<std::string> names_in(std::string_view text);

/// Two lines: the line of `text` that contains the 1-based byte `column`, shortened around that column to 100
/// characters, and a caret below the column. Bytes that are not printable ASCII are shown as '?'.
std::string show_caret(std::string_view text, std::size_t column);

/// A text compiled to postfix and evaluated exactly as written, without simplification: the oracle for `parse`.
/// compile() makes it.
class ExprProgram {
 public:
  /// A value, or the reason why there is no value.
  struct Outcome {
    std::int64_t value = 0;
    bool failed = false;
    ErrorKind kind = ErrorKind::parse;  ///< overflow or domain, when failed
    std::size_t column = 0;             ///< of the operator that failed
  };

  /// The names that compile() was given, those that the text does not contain among them.
  const std::vector<std::string>& names() const { return names_; }
  /// The value of the text with names()[i] set to values[i]. A failure in a branch that is not taken does not count:
  /// an arm of select, `?:` or `if else`, or the right side of `and` and `or` when the left side decides.
  /// @throws Error, with the operator's column: (overflow) when an intermediate value does not fit in 64 bits; (domain)
  ///   for a zero divisor. (domain) without a column for a wrong number of values, and for a program that compile()
  ///   did not make
  std::int64_t evaluate(std::span<const std::int64_t> values) const;
  /// Like evaluate, but arithmetic failures are returned in the Outcome instead of thrown. A wrong number of values
  /// throws.
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

/// Compiles `text` over `names`. Arithmetic is left to evaluate: `1//0` and `n//n` compile.
/// @throws Error with a column: (parse) for bad text or an unknown name; (overflow) for a literal that does not fit in
///   64 bits; (budget) above 200,000 open brackets. Without a column: as the constructor of Parser, for `names`.
ExprProgram compile(std::string_view text, std::span<const std::string> names);

}  // namespace strata
