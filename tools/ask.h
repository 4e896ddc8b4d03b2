// The questions about expressions that `strata expr` and `strata batch` answer: texts in, values out.
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

/// A limit on the work of one request. The unit is one byte of text read, or evaluated at one point, or one variable
/// set there.
class Work {
 public:
  explicit Work(std::int64_t budget) : left_(budget), budget_(budget) {}
  /// @throws Error (budget) when less is left.
  void charge(std::uint64_t amount);
  /// What has not been charged yet.
  std::uint64_t left() const { return left_ < 0 ? 0 : static_cast<std::uint64_t>(left_); }

 private:
  std::int64_t left_;
  std::int64_t budget_;
};

inline constexpr std::int64_t default_budget = std::int64_t{1} << 26;

/// An error inside one of several texts: which one, for a caret below it.
class TextError : public Error {
 public:
  TextError(const Error& error, std::string_view text, std::string_view where);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Values by name.
using Point = std::vector<std::pair<std::string, std::int64_t>>;

struct ExprQuestion {
  std::string text;
  std::vector<Variable> variables;
  std::vector<std::string> assume;
  std::vector<Point> at;
  Effort effort = Effort::exact;
  bool options = false;  ///< from the command line: errors say --assume and --at, not assume[0] and at[0]
};

struct ExprAnswer {
  Expr simplified;                   ///< equal to the text wherever all assumptions hold
  Facts facts;                       ///< of `simplified`, over the whole box
  std::vector<std::int64_t> values;  ///< of the text as it stands, one per point
};

/// @throws Error (overflow) when a bound or a value leaves 64 bits, and what the texts and points deserve.
ExprAnswer ask_expr(const ExprQuestion& question, Work& work);

/// Does the condition `text` hold wherever the assumptions do? A counterexample names every variable.
Proof ask_prove(const ExprQuestion& question, Work& work);

/// A point where the two texts differ, nothing when they are equal.
/// @throws Error (budget) when that was not decided.
std::optional<Values> ask_equal(std::string_view a, std::string_view b,
                                const std::vector<Variable>& variables, Work& work);

/// The text's value at each point, by the affine primitives.
std::vector<std::int64_t> ask_affine(std::string_view text, const std::vector<Point>& at, Work& work);

}  // namespace strata::tools
