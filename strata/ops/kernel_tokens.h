// Words and symbols of a kernel's text, by statement. Internal to graph/.
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

/// The tokens of a statement; the last is `end`.
using Statement = std::vector<Token>;

/// @throws Error (parse) with the column for a character that begins no token
std::vector<Statement> split_statements(std::string_view text);

/// The value of a number's token, i64 or f64. @throws Error with the column: (parse), (overflow)
Scalar read_number(const Token& token);

/// "expected a value, found 'x'", or "..., found the end of the statement". @throws Error (parse) always
[[noreturn]] void expected(std::string_view what, const Token& found);

}  // namespace strata::kernel_words
