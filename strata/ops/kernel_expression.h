// The parser of expressions in the text form of kernels (kernel_text.h). An explicit stack of open operators replaces
// recursion, so that no input overflows the call stack. Internal to ops/.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "strata/ops/kernel_functions.h"
#include "strata/ops/kernel_tokens.h"

namespace strata::kernel_words {

/// Returns build(). An Error without a column is rethrown with the column of `token`.
template <class F>
auto at_token(const Token& token, const F& build) {
  try {
    return build();
  } catch (const Error& e) {
    throw Error(e.kind(), e.what(), e.column() == 0 ? token.column : e.column());
  }
}

/// Limits the work for one text, as a text of n bytes can ask for shapes of many dimensions: an operation of rank r
/// costs (r + 1)^2.
class Budget {
 public:
  /// @throws Error (budget) with the column of `token` where `rank` or the total cost is too large
  void charge(std::size_t rank, const Token& token) {
    const std::size_t cost = (rank + 1) * (rank + 1);
    if (rank > kMost || cost > left_)
      throw Error(ErrorKind::budget, "[kernel] too many operations on shapes of too many dimensions", token.column);
    left_ -= cost;
  }

 private:
  static constexpr std::size_t kMost = 4096;
  std::size_t left_ = std::size_t{1} << 26;
};

/// The scalar dtype of a name (f32, float, float32, ...); nothing for an unknown name.
std::optional<DType> find_dtype(std::string_view name);

/// The names that expressions may use.
struct Scope {
  std::string_view text;  ///< the whole text, which the columns of tokens count in
  std::vector<Variable> variables;
  std::unordered_map<std::string_view, TextOperand> values;
  Budget budget;
};

/// The value of the expression tokens[from...], which reaches to the end of the statement. @throws Error with the
/// column, as parse_kernel()
TextOperand read_expression(Scope& scope, std::span<const Token> tokens, std::size_t from);

}  // namespace strata::kernel_words
