// The lexer of the text form of kernels: splits a text into statements of tokens. Internal to ops/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "strata/dtype/scalar.h"

namespace strata::kernel_words {

enum class TokenKind : std::uint8_t { end, number, name, symbol };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  std::size_t column = 1;  ///< 1-based byte in the whole text

  bool is(std::string_view symbol) const { return kind == TokenKind::symbol && text == symbol; }
};

/// The tokens of a statement; the last one has the kind `end`.
using Statement = std::vector<Token>;

/// The statements of `text`. @throws Error (parse) with the column of a character that cannot begin a token
std::vector<Statement> split_statements(std::string_view text);

/// The value of a number token, i64 or f64. @throws Error with the column: (parse) for a malformed number, (overflow)
Scalar read_number(const Token& token);

/// Always throws Error (parse): "expected a value, found 'x'", or "..., found the end of the statement".
[[noreturn]] void expected(std::string_view what, const Token& found);

}  // namespace strata::kernel_words
