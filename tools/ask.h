// Questions about expressions, for `strata expr` and the requests `expr`, `prove`, `equal_expr` and `affine` of `strata
// batch`: texts in, values out. Work, the budget of a request, is declared here for all ask_*.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/base/check.h"
#include "strata/expr/expr.h"

namespace strata::tools {

/// The budget of one request, in units of work. A unit is about the work for one byte of text that is parsed, or
/// evaluated at one point.
class Work {
 public:
  explicit Work(std::int64_t budget) : left_(budget), budget_(budget) {}
  /// Subtracts `amount`. Call it before the work is done. @throws Error (budget) if less is left
  void charge(std::uint64_t amount);
  /// The units that are left.
  std::uint64_t left() const { return left_ < 0 ? 0 : static_cast<std::uint64_t>(left_); }

 private:
  std::int64_t left_;
  std::int64_t budget_;
};

inline constexpr std::int64_t default_budget = std::int64_t{1} << 26;

/// An error inside a text of the request. It has the text, so that a caret can be printed below the column; `where`
/// names the text.
class TextError : public Error {
 public:
  TextError(const Error& error, std::string_view text, std::string_view where);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Values of variables, by name.
using Point = std::vector<std::pair<std::string, std::int64_t>>;

struct ExprQuestion {
  std::string text;
  std::vector<Variable> variables;
  std::vector<std::string> assume;  ///< conditions that are assumed to hold
  std::vector<Point> at;            ///< points at which the text is evaluated
  Effort effort = Effort::exact;
  bool options = false;  ///< from the command line: errors name --assume and --at, not assume[0], at[0]
};

struct ExprAnswer {
  Expr simplified;                   ///< equal to the text wherever all assumptions hold
  Facts facts;                       ///< of `simplified`, over all values of the variables
  std::vector<std::int64_t> values;  ///< of the unsimplified text, one for each point
};

/// Simplifies and evaluates the text. @throws Error (overflow) if a bound or a value exceeds 64 bits, TextError if a
///   text cannot be parsed, Error (parse, domain) for a point with an unknown name or a value outside the bounds,
///   (budget)
ExprAnswer ask_expr(const ExprQuestion& question, Work& work);

/// Whether the condition `text` holds wherever the assumptions hold. A counterexample has a value for every variable.
Proof ask_prove(const ExprQuestion& question, Work& work);

/// A point where the two texts differ; nothing if they are equal. @throws Error (budget) if neither was proven within
/// the budget
std::optional<Values> ask_equal(std::string_view a, std::string_view b, const std::vector<Variable>& variables,
                                Work& work);

/// The values of the text at the points, computed by the affine primitives (affine/).
std::vector<std::int64_t> ask_affine(std::string_view text, const std::vector<Point>& at, Work& work);

}  // namespace strata::tools
