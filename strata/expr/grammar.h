// The infix grammar of Strata, for compile time and run time: `parse_infix` reads a text and calls a sink in postfix
// order. The readers of expressions (parse.h) and of affine functions (affine_text.h) are such sinks.
//
// The parser is a shunting-yard with an explicit stack: no recursion, linear time, and any byte string is legal input.
// Operators from loose to tight:
//
//   a if c else b      c ? a : b     right to left
//   or ||
//   and &&
//   not                              prefix, as Python's
//   < <= > >= == !=                  do not chain
//   + -                              left to right
//   * / // %                         left to right; `/` is `//`: both floor, and % is the floor modulus
//   - + !                            prefix
//   min(a, ...) max(a, ...) ceildiv(a, b) select(c, a, b) where(c, a, b) (a) 42 name True False
//
// A sink has
//   void number(std::int64_t value, std::size_t column);
//   void name(std::string_view name, std::size_t column);
//   void apply(Action action, std::size_t arity, std::size_t column);   // column of the operator or function name
//   void fail(Fault fault, std::string_view what, std::string_view token, std::size_t column);
// `fail` may throw or record the failure; after it the sink gets no further call. `token` is the text at fault: empty
// at the end of the text and when the sentence `what` names the token itself. Columns are 1-based byte positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string_view>
#include <vector>

#include "strata/base/quotes.h"
#include "strata/base/text.h"

namespace strata {

enum class Action : std::uint8_t {
  neg,
  add,
  sub,
  mul,
  div,  ///< floor
  mod,  ///< floor
  min,  ///< one operand or more
  max,  ///< one operand or more
  ceil_div,
  lt,
  le,
  gt,
  ge,
  eq,
  ne,
  logical_and,  ///< of truth values; gives 0 or 1, as do logical_or and logical_not
  logical_or,
  logical_not,
  select,   ///< operands c, a, b: c != 0 ? a : b
  if_else,  ///< the same function with operands in the order a, c, b, as Python writes them
};

enum class Fault : std::uint8_t {
  syntax,
  overflow,  ///< a literal does not fit in 64 bits
  budget,    ///< nested deeper than kMaxBrackets
};

inline constexpr std::size_t kMaxBrackets = 200000;

constexpr bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// True for the words that cannot be names of variables.
constexpr bool is_reserved_word(std::string_view word) {
  for (std::string_view reserved : {"and", "or", "not", "if", "else", "True", "False"})
    if (word == reserved) return true;
  return false;
}

namespace detail {

enum Precedence : std::uint8_t { kOr = 2, kAnd, kNot, kCompare, kAdd, kMul, kPrefix };

struct BinaryRow {
  std::string_view text;
  Action action;
  Precedence precedence;
};
// clang-format off
inline constexpr BinaryRow kBinary[] = {
    {"or", Action::logical_or, kOr},    {"||", Action::logical_or, kOr},
    {"and", Action::logical_and, kAnd}, {"&&", Action::logical_and, kAnd},
    {"<", Action::lt, kCompare},        {"<=", Action::le, kCompare},
    {">", Action::gt, kCompare},        {">=", Action::ge, kCompare},
    {"==", Action::eq, kCompare},       {"!=", Action::ne, kCompare},
    {"+", Action::add, kAdd},           {"-", Action::sub, kAdd},
    {"*", Action::mul, kMul},           {"/", Action::div, kMul},
    {"//", Action::div, kMul},          {"%", Action::mod, kMul},
};
// clang-format on

struct FunctionRow {
  std::string_view name;
  Action action;
  std::size_t least, most;  // arguments
  std::string_view wrong_count;
};
inline constexpr std::size_t kAnyCount = std::numeric_limits<std::size_t>::max();
// clang-format off
inline constexpr FunctionRow kFunctions[] = {
    {"min", Action::min, 1, kAnyCount, "min takes one argument or more"},
    {"max", Action::max, 1, kAnyCount, "max takes one argument or more"},
    {"ceildiv", Action::ceil_div, 2, 2, "ceildiv takes 2 arguments (a, b)"},
    {"select", Action::select, 3, 3, "select takes 3 arguments (condition, a, b)"},
    {"where", Action::select, 3, 3, "where takes 3 arguments (condition, a, b)"},
};
// clang-format on

inline constexpr std::size_t kNoFunction = std::size(kFunctions);

/// The index of the row whose `column` is `key`; N when no row matches. (An index instead of a pointer: under
/// -fsanitize=undefined GCC 12 rejects the comparison of a pointer with null in constant expressions.)
template <class Row, std::size_t N>
constexpr std::size_t find_row(const Row (&rows)[N], std::string_view key, std::string_view Row::* column) {
  std::size_t i = 0;
  while (i < N && rows[i].*column != key) ++i;
  return i;
}

enum class TokenKind : std::uint8_t { end, number, name, symbol };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  std::size_t column = 1;
};

/// The kinds of stack entries: an operator that waits for its last operand, a bracket, or a part of a ternary.
enum class Open : std::uint8_t { prefix, binary, group, call, question, colon, when, otherwise };

struct Frame {
  Open open;
  Action action;
  std::uint8_t precedence;
  std::size_t column;
  std::size_t commas;    // call: commas so far
  std::size_t function;  // call: its row in kFunctions
};

template <class Sink>
class InfixParser {
 public:
  constexpr InfixParser(std::string_view text, Sink& sink) : text_(text), sink_(sink) {}

  constexpr void run() {
    while (!done_ && next()) {
      if (want_value_)
        value();
      else
        after_value();
    }
  }

 private:
  constexpr void fail(Fault fault, std::string_view what, std::string_view token, std::size_t column) {
    done_ = true;
    sink_.fail(fault, what, token, column);
  }
  constexpr void syntax(std::string_view what) { fail(Fault::syntax, what, token_.text, token_.column); }
  /// A sentence that names the token itself.
  constexpr void sentence(std::string_view what) { fail(Fault::syntax, what, {}, token_.column); }

  // --- tokens ---

  /// Skips blanks, and the cast `(__int128)` that our C notation writes: it widens and changes no value.
  constexpr void skip_space() {
    constexpr std::string_view kCast = "(__int128)";
    for (;;) {
      while (at_ < text_.size() && is_space(text_[at_])) ++at_;
      if (text_.substr(at_, kCast.size()) != kCast) return;
      at_ += kCast.size();
    }
  }
  constexpr bool next() {
    skip_space();
    token_ = {TokenKind::end, {}, at_ + 1};
    if (at_ == text_.size()) return true;
    const char c = text_[at_];
    std::size_t size = 1;
    if (is_digit(c)) {
      while (at_ + size < text_.size() && is_digit(text_[at_ + size])) ++size;
      token_.kind = TokenKind::number;
    } else if (is_name_start(c)) {
      while (at_ + size < text_.size() && (is_digit(text_[at_ + size]) || is_name_start(text_[at_ + size]))) ++size;
      token_.kind = TokenKind::name;
    } else {
      size = symbol_size();
      token_.kind = TokenKind::symbol;
    }
    token_.text = size == 0 ? character_at(text_, at_) : text_.substr(at_, size);
    at_ += size;
    if (size == 0) unexpected(c);
    return !done_;
  }
  /// The length of the symbol at the current position; 0 when there is none.
  constexpr std::size_t symbol_size() const {
    const std::string_view pair = text_.substr(at_, 2);
    if (pair == "!=" || pair == "**") return 2;
    if (find_row(kBinary, pair, &BinaryRow::text) != std::size(kBinary)) return pair.size();
    return std::string_view("+-*/%<>!(),?:").find(text_[at_]) != std::string_view::npos ? 1 : 0;
  }
  constexpr void unexpected(char c) {
    if (c == '.') return sentence("numbers are integers, without a point");
    if (c == '=') return sentence("a single = does not compare, write ==");
    if (c == '&' || c == '|') return syntax("the operators on conditions are && and ||");
    syntax("unexpected character");
  }

  // --- where a value must start ---

  constexpr void value() {
    if (token_.kind == TokenKind::number) return number();
    if (token_.kind == TokenKind::name) return word();
    if (token_.text == "(") return open_bracket(Open::group, kNoFunction);
    if (token_.text == "-") return prefix(Action::neg, kPrefix);
    if (token_.text == "!") return prefix(Action::logical_not, kPrefix);
    if (token_.text == "+") return ready_for_value();
    no_value();
  }
  constexpr void no_value() {
    if (token_.kind == TokenKind::end) {
      if (stack_.empty() && !any_) return syntax("the text is empty");
      return syntax("expected a value, found the end of the text");
    }
    if (token_.text == ")" && after_open_) {
      const Frame& top = stack_.back();
      if (top.open == Open::call) return fail(Fault::syntax, kFunctions[top.function].wrong_count, {}, top.column);
      return sentence("empty brackets");
    }
    if (token_.text == "**") return syntax("there is no power operator");
    syntax("expected a value");
  }
  constexpr void number() {
    constexpr std::uint64_t limit = std::uint64_t{1} << 63;
    std::uint64_t magnitude = 0;
    for (char c : token_.text) {
      const auto digit = static_cast<std::uint64_t>(c - '0');
      if (magnitude > (limit - digit) / 10)
        return fail(Fault::overflow, "the number does not fit in 64 bits", token_.text, token_.column);
      magnitude = magnitude * 10 + digit;
    }
    if (magnitude < limit) return leaf(static_cast<std::int64_t>(magnitude), token_.column);
    // 2^63 is legal only as the operand of a minus directly before it: -2^63 fits, 2^63 does not.
    if (!after_minus_) return fail(Fault::overflow, "the number does not fit in 64 bits", token_.text, token_.column);
    const std::size_t column = stack_.back().column;
    stack_.pop_back();
    leaf(std::numeric_limits<std::int64_t>::min(), column);
  }
  constexpr void leaf(std::int64_t number, std::size_t column) {
    sink_.number(number, column);
    value_done();
  }
  constexpr void value_done() {
    want_value_ = false;
    any_ = true;
    after_open_ = after_minus_ = false;
  }
  constexpr void word() {
    if (token_.text == "not") {
      if (!stack_.empty() && is_operator(stack_.back()) && stack_.back().precedence > kNot)
        return sentence("'not' binds loosely, put it in brackets here");
      return prefix(Action::logical_not, kNot);
    }
    if (token_.text == "True") return leaf(1, token_.column);
    if (token_.text == "False") return leaf(0, token_.column);
    if (is_reserved_word(token_.text)) return syntax("expected a value");
    skip_space();
    if (at_ < text_.size() && text_[at_] == '(') {
      const std::size_t function = find_row(kFunctions, token_.text, &FunctionRow::name);
      if (function == kNoFunction) return syntax("unknown function");
      ++at_;
      return open_bracket(Open::call, function);
    }
    sink_.name(token_.text, token_.column);
    value_done();
  }
  constexpr void prefix(Action action, Precedence precedence) {
    push(Open::prefix, action, precedence);
    after_minus_ = action == Action::neg;
  }
  constexpr void open_bracket(Open open, std::size_t function) {
    if (++depth_ > kMaxBrackets) return fail(Fault::budget, "more than 200000 brackets are open", {}, token_.column);
    push(open, function == kNoFunction ? Action::neg : kFunctions[function].action, 0);
    stack_.back().function = function;
    after_open_ = true;
  }

  // --- after a value ---

  constexpr void after_value() {
    if (token_.kind == TokenKind::end) return finish();
    if (token_.text == ")") return close_bracket();
    if (token_.text == ",") return comma();
    if (token_.text == "?") return begin_ternary(Open::question, Action::select);
    if (token_.text == "if") return begin_ternary(Open::when, Action::if_else);
    if (token_.text == ":") return middle(Open::question, Open::colon, "':' without '?'");
    if (token_.text == "else") return middle(Open::when, Open::otherwise, "'else' without 'if'");
    const std::size_t at =
        token_.kind == TokenKind::number ? std::size(kBinary) : find_row(kBinary, token_.text, &BinaryRow::text);
    if (at == std::size(kBinary))
      return syntax(token_.text == "**" ? "there is no power operator" : "expected an operator");
    if (kBinary[at].precedence == kCompare) {
      reduce(kAdd);
      if (!stack_.empty() && is_operator(stack_.back()) && stack_.back().precedence == kCompare)
        return sentence("comparisons do not chain, write 'a < b and b < c'");
    } else {
      reduce(kBinary[at].precedence);
    }
    push(Open::binary, kBinary[at].action, kBinary[at].precedence);
  }
  constexpr void begin_ternary(Open open, Action action) {
    reduce(0);
    push(open, action, 0);
  }
  constexpr void middle(Open first, Open second, std::string_view what) {
    reduce_all();
    if (stack_.empty() || stack_.back().open != first) return sentence(what);
    stack_.back().open = second;
    ready_for_value();
  }
  constexpr void comma() {
    if (!reach_bracket()) return;
    if (stack_.empty() || stack_.back().open != Open::call) return sentence("',' outside of a call");
    ++stack_.back().commas;
    ready_for_value();
  }
  constexpr void close_bracket() {
    if (!reach_bracket()) return;
    if (stack_.empty()) return sentence("')' without '('");
    const Frame top = stack_.back();
    stack_.pop_back();
    --depth_;
    if (top.open != Open::call) return;
    const std::size_t count = top.commas + 1;
    if (count < kFunctions[top.function].least || count > kFunctions[top.function].most)
      return fail(Fault::syntax, kFunctions[top.function].wrong_count, {}, top.column);
    sink_.apply(top.action, count, top.column);
  }
  constexpr void finish() {
    if (!reach_bracket()) return;
    if (!stack_.empty()) return fail(Fault::syntax, "'(' is never closed", {}, bracket_column(stack_.back()));
    done_ = true;
  }
  constexpr std::size_t bracket_column(const Frame& frame) const {
    return frame.open == Open::group ? frame.column : text_.find('(', frame.column) + 1;
  }

  // --- the stack ---

  static constexpr bool is_operator(const Frame& f) { return f.open == Open::prefix || f.open == Open::binary; }

  constexpr void push(Open open, Action action, std::uint8_t precedence) {
    stack_.push_back({open, action, precedence, token_.column, 0, kNoFunction});
    ready_for_value();
  }
  constexpr void ready_for_value() {
    want_value_ = any_ = true;
    after_open_ = after_minus_ = false;
  }
  /// Applies the operators on top of the stack that bind at least as tightly as `precedence`.
  constexpr void reduce(std::uint8_t precedence) {
    while (!stack_.empty() && is_operator(stack_.back()) && stack_.back().precedence >= precedence) {
      const Frame& top = stack_.back();
      sink_.apply(top.action, top.open == Open::prefix ? 1 : 2, top.column);
      stack_.pop_back();
    }
  }
  /// Applies operators and complete ternaries down to a bracket or an incomplete ternary.
  constexpr void reduce_all() {
    reduce(0);
    while (!stack_.empty() && (stack_.back().open == Open::colon || stack_.back().open == Open::otherwise)) {
      sink_.apply(stack_.back().action, 3, stack_.back().column);
      stack_.pop_back();
    }
  }
  /// reduce_all, then checks that no ternary is incomplete; false after a failure.
  constexpr bool reach_bracket() {
    reduce_all();
    if (stack_.empty()) return true;
    const Frame& top = stack_.back();
    if (top.open == Open::question) fail(Fault::syntax, "'?' without ':'", {}, top.column);
    if (top.open == Open::when) fail(Fault::syntax, "'if' without 'else'", {}, top.column);
    return !done_;
  }

  std::string_view text_;
  Sink& sink_;
  std::size_t at_ = 0;  // the first byte that is not read yet
  Token token_;
  std::vector<Frame> stack_;
  std::size_t depth_ = 0;  // open brackets
  bool want_value_ = true;
  bool after_open_ = false;   // the last token opened a bracket
  bool after_minus_ = false;  // the last token was a prefix minus
  bool any_ = false;          // at least one token was read
  bool done_ = false;
};

}  // namespace detail

/// Reads all of `text` and calls `sink` in postfix order.
template <class Sink>
constexpr void parse_infix(std::string_view text, Sink& sink) {
  detail::InfixParser<Sink>(text, sink).run();
}

}  // namespace strata
