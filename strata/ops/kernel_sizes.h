// The parser of sizes in the brackets of the text form of kernels, e.g. `f32[n+1, 512]` and `pad(1:0, 0:2)`. Sizes are
// expressions over the variables of the text. Internal to ops/.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "strata/ops/kernel_expression.h"

namespace strata::kernel_words {

/// Reads the items between brackets in the tokens of one statement.
class SizeReader {
 public:
  SizeReader(Scope& scope, std::span<const Token> tokens) : scope_(scope), tokens_(tokens) {}

  /// The index of the token `close` that closes the bracket opened in front of `from`; with `until_comma`, of the first
  /// comma in this bracket if that comes earlier. @throws Error (parse) where the bracket is not closed
  std::size_t find_end(std::size_t from, std::string_view close, bool until_comma = false) const;
  /// The comma-separated items of the tokens [from, to), which may have one more pair of brackets around them: (2, 3)
  /// or ((2, 3)).
  SizeItems items(std::size_t from, std::size_t to);

 private:
  Int size(std::size_t from, std::size_t to);
  std::size_t separator(std::size_t from, std::size_t to, std::string_view symbol) const;
  bool unwrap(std::size_t& from, std::size_t& to) const;
  SizeItem item(std::size_t from, std::size_t to);

  Scope& scope_;
  std::span<const Token> tokens_;
};

}  // namespace strata::kernel_words
