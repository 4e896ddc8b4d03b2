// The question about an index expression and the condition under which it has a value, which `strata view --expr` and `strata
// batch` answer.
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
  std::vector<Variable> variables;  ///< the dimensions, in order
  bool addresses = false;
  std::optional<Window> window = {};
  std::int64_t invalid = -1;             ///< what stands for no address
  std::string_view index_name = "expr";  ///< what errors call the texts
  std::string_view valid_name = "valid";
};

struct ViewExprAnswer {
  Index shape;                          ///< how many values each variable has
  IndexExprs given;                     ///< the texts
  IndexExprs simplified;                ///< the index where it is valid
  std::vector<std::int64_t> addresses;  ///< row-major
};

/// How many values a variable has. @throws Error (overflow) where that is more than 64 bits count
std::int64_t count_values(const Variable& v);

/// @throws TextError for a text, Error (budget) before the work is done
ViewExprAnswer ask_view_expr(const ViewExprQuestion& question, Work& work);

}  // namespace strata::tools
