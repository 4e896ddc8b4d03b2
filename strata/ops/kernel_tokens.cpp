// The lexer of the text form of kernels.

#include "strata/ops/kernel_tokens.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <system_error>

#include "strata/base/check.h"
#include "strata/base/quotes.h"
#include "strata/base/text.h"
#include "strata/expr/grammar.h"

namespace strata::kernel_words {

namespace {

constexpr std::array<std::string_view, 9> kPairs = {"**", "//", "<<", ">>", "<=", ">=", "==", "!=", ".."};
constexpr std::string_view kSingles = "+-*/%@&|^~<>=()[],.:";

bool is_name_char(char c) { return is_name_start(c) || is_digit(c); }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Statement> run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ';' || (c == '\n' && depth_ == 0)) {
        end_statement();
        ++at_;
      } else if (is_space(c)) {
        ++at_;
      } else {
        token();
      }
    }
    end_statement();
    return std::move(out_);
  }

 private:
  char peek(std::size_t k) const { return at_ + k < text_.size() ? text_[at_ + k] : '\0'; }

  void add(TokenKind kind, std::size_t size) {
    statement_.push_back({kind, text_.substr(at_, size), at_ + 1});
    at_ += size;
  }
  void end_statement() {
    depth_ = 0;
    if (statement_.empty()) return;
    add(TokenKind::end, 0);
    out_.push_back(std::move(statement_));
    statement_.clear();
  }
  void token() {
    const char c = text_[at_];
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return add(TokenKind::number, number_size());
    if (is_name_start(c)) {
      std::size_t size = 1;
      while (is_name_char(peek(size))) ++size;
      return add(TokenKind::name, size);
    }
    if (std::find(kPairs.begin(), kPairs.end(), text_.substr(at_, 2)) != kPairs.end()) return add(TokenKind::symbol, 2);
    if (kSingles.find(c) == std::string_view::npos)
      throw Error(ErrorKind::parse, "[kernel] unexpected character " + in_quotes(character_at(text_, at_)), at_ + 1);
    if (c == '(' || c == '[') ++depth_;
    if ((c == ')' || c == ']') && depth_ > 0) --depth_;
    add(TokenKind::symbol, 1);
  }
  /// The length of a number: digits, a point, an exponent. The dots of `1..9` (a range) and `1.sum` (a method) are not
  /// part of it.
  std::size_t number_size() const {
    std::size_t size = 0;
    if (peek(0) == '0' && (peek(1) == 'x' || peek(1) == 'X')) {
      size = 2;
      while (is_name_char(peek(size))) ++size;
      return size;
    }
    while (is_digit(peek(size))) ++size;
    if (peek(size) == '.' && peek(size + 1) != '.' && !is_name_start(peek(size + 1))) {
      ++size;
      while (is_digit(peek(size))) ++size;
    }
    const bool exponent = peek(size) == 'e' || peek(size) == 'E';
    const std::size_t sign = peek(size + 1) == '-' || peek(size + 1) == '+' ? 1 : 0;
    if (exponent && is_digit(peek(size + 1 + sign))) {
      size += 1 + sign;
      while (is_digit(peek(size))) ++size;
    }
    return size;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  Statement statement_;
  std::vector<Statement> out_;
};

[[noreturn]] void refuse_range(const Token& token) {
  throw Error(ErrorKind::overflow, "[kernel] the number " + in_quotes(token.text) + " does not fit in 64 bits",
              token.column);
}

std::int64_t to_integer(const Token& token, std::string_view digits, int base) {
  std::int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, base);
  if (error == std::errc::result_out_of_range) refuse_range(token);
  if (error != std::errc() || stop != end) expected("a number", token);
  return value;
}

/// @pre the token is digits with a point or an exponent, or both
double to_real(const Token& token) {
  const std::optional<double> value = read_double(token.text);
  if (!value) refuse_range(token);
  return *value;
}

}  // namespace

std::vector<Statement> split_statements(std::string_view text) { return Lexer(text).run(); }

Scalar read_number(const Token& token) {
  const bool hexadecimal = token.text.starts_with("0x") || token.text.starts_with("0X");
  if (hexadecimal) return Scalar(to_integer(token, token.text.substr(2), 16));
  if (token.text.find_first_of(".eE") == std::string_view::npos) return Scalar(to_integer(token, token.text, 10));
  return Scalar(to_real(token));
}

void expected(std::string_view what, const Token& found) {
  const std::string shown = found.kind == TokenKind::end ? "the end of the statement" : in_quotes(found.text);
  throw Error(ErrorKind::parse, detail::message("[kernel] expected ", what, ", found ", shown), found.column);
}

}  // namespace strata::kernel_words
