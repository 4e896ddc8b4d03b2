// Expressions of a kernel's text, by an explicit stack of what is open. Internal to graph/.
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

/// Runs `build`; an Error without a column gets that of `token`.
template <class F>
auto at_token(const Token& token, const F& build) {
  try {
    return build();
  } catch (const Error& e) {
    throw Error(e.kind(), e.what(), e.column() == 0 ? token.column : e.column());
  }
}

/// Work on one text: a unit for each pair of dimensions that an operation may look at.
class Budget {
 public:
  void charge(std::size_t rank, const Token& token) {
    const std::size_t cost = (rank + 1) * (rank + 1);
    if (rank > kMost || cost > left_)
      throw Error(ErrorKind::budget,
                  "[kernel] too many operations on shapes of too many dimensions", token.column);
    left_ -= cost;
  }

 private:
  static constexpr std::size_t kMost = 4096;
  std::size_t left_ = std::size_t{1} << 26;
};

/// The scalar dtype of a name: f32, float, float32.
std::optional<DType> find_dtype(std::string_view name);

/// Tensors, variables and the text's place: what expressions are read in.
struct Scope {
  std::string_view text;
  std::vector<Variable> variables;
  std::unordered_map<std::string_view, TextOperand> values;
  Budget budget;
};

/// The value of the tokens from `from` on, up to the end of the statement.
/// @throws Error with the column, as parse_kernel
TextOperand read_expression(Scope& scope, std::span<const Token> tokens, std::size_t from);

}  // namespace strata::kernel_words
