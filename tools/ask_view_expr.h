// ask_view_expr(): answers a question about an index expression and the condition under which it is valid, for `strata
// view --expr` and the request `view` with `expr`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "strata/view/view.h"
#include "tools/ask_view.h"

namespace strata::tools {

struct ViewExprQuestion {
  std::string index;
  std::string valid = "1";
  std::vector<Variable> variables;       ///< the dimensions, in order
  bool addresses = false;                ///< whether the addresses are wanted
  std::optional<Window> window = {};     ///< the part of the box whose addresses are wanted; none: all
  std::int64_t invalid = -1;             ///< the number that marks an invalid index
  std::string_view index_name = "expr";  ///< the names of both texts in errors
  std::string_view valid_name = "valid";
};

struct ViewExprAnswer {
  Index shape;                          ///< the number of values of each variable
  IndexExprs given;                     ///< the texts, parsed
  IndexExprs simplified;                ///< the same, the index simplified under its condition
  std::vector<std::int64_t> addresses;  ///< of the window, in row-major order
};

/// The number of values of a variable: max - min + 1. @throws Error (overflow) beyond 64 bits
std::int64_t count_values(const Variable& v);

/// Answers the question. @throws TextError if a text cannot be parsed, Error (budget) if the work exceeds the budget,
/// before doing it
ViewExprAnswer ask_view_expr(const ViewExprQuestion& question, Work& work);

}  // namespace strata::tools
