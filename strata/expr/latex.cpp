// LaTeX to the infix grammar, for exactly the LaTeX that `render` writes:
//
//   \left( a \right)  \left[ a \right]  \left\lfloor\frac{a}{b}\right\rfloor  a \bmod b  a \cdot b
//   \min\left(a, b\right)  \max\left(...\right)  \le \ge \ne = \mathrel{=}  \land \lor \lnot  \mathit{name}  \_
//   \begin{cases} a & \text{if } c \\ b & \text{otherwise} \end{cases}
//
// One pass; every byte written keeps the column of its source.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/base/quotes.h"
#include "strata/expr/source_text.h"

namespace strata::detail {

namespace {

struct Word {
  std::string_view latex, infix;
};
// clang-format off
constexpr Word kWords[] = {
    {"left", ""},     {"right", ""},     {"bmod", " % "},   {"cdot", " * "}, {"min", "min"}, {"max", "max"}, {"le", " <= "},
    {"ge", " >= "},   {"ne", " != "},    {"land", " and "}, {"lor", " or "}, {"lnot", "!"},  {"_", "_"},     {",", " "},
};
// clang-format on

class Translator {
 public:
  Translator(std::string_view text, std::vector<std::size_t>& columns) : text_(text), columns_(columns) {}

  std::string run() {
    while (at_ < text_.size()) {
      from_ = at_;
      if (text_[at_] == '\\')
        command();
      else
        plain(text_[at_++]);
    }
    return std::move(out_);
  }

 private:
  /// The kind of an open bracket, which decides what closes it.
  enum class Close : char { round, square, floor, numerator, denominator, cases };

  void write(std::string_view infix) {
    out_ += infix;
    columns_.insert(columns_.end(), infix.size(), from_ + 1);
  }
  [[noreturn]] void fail(std::string_view what, std::string_view token) const {
    throw Error(ErrorKind::parse,
                message("[parse] ", what, token.empty() ? "" : ": ", token.empty() ? "" : in_quotes(token)), from_ + 1);
  }
  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  void expect(std::string_view what) {
    skip_space();
    from_ = at_;
    if (text_.substr(at_, what.size()) != what) fail(message("expected ", what), character_at(text_, at_));
    at_ += what.size();
  }
  /// The text up to the closing brace, which is consumed.
  std::string_view braced() {
    expect("{");
    const std::size_t end = text_.find('}', at_);
    if (end == std::string_view::npos) fail("'{' is never closed", {});
    const std::string_view inside = text_.substr(at_, end - at_);
    at_ = end + 1;
    return inside;
  }
  void open(Close close, std::string_view infix) {
    open_.push_back(close);
    write(infix);
  }
  void close(Close close, std::string_view infix, std::string_view token) {
    if (open_.empty() || open_.back() != close) fail("the brackets do not match", token);
    open_.pop_back();
    write(infix);
  }

  void plain(char c) {
    const std::string_view token = text_.substr(from_, 1);
    if (c == '(') return open(Close::round, "(");
    if (c == ')') return close(Close::round, ")", token);
    if (c == '[') return open(Close::square, "(");
    if (c == ']') return close(Close::square, ")", token);
    if (c == '}') return end_brace();
    if (c == '&') return case_part();
    if (c == '=') return equals();
    write(token);
  }
  void equals() {
    if (at_ < text_.size() && text_[at_] == '=') ++at_;
    const char before = out_.empty() ? ' ' : out_.back();
    write(before == '<' || before == '>' || before == '!' ? "=" : "==");
  }
  void end_brace() {
    if (!open_.empty() && open_.back() == Close::numerator) {
      open_.back() = Close::denominator;
      write(")//(");
      expect("{");
      return;
    }
    close(Close::denominator, ")", "}");
    open_.push_back(Close::floor);
  }
  void case_part() {
    if (open_.empty() || open_.back() != Close::cases) fail("'&' outside of cases", {});
    expect("\\text");
    const std::string_view word = braced();
    if (word == "if ") return write(" if ");
    if (word != "otherwise") fail("a case says 'if ' or 'otherwise'", word);
  }

  void command() {
    ++at_;
    std::size_t size = 0;
    while (at_ + size < text_.size() && is_name_start(text_[at_ + size]) && text_[at_ + size] != '_') ++size;
    if (size == 0) size = character_at(text_, at_).size();
    const std::string_view word = text_.substr(at_, size);
    at_ += size;
    if (const std::size_t row = find_row(kWords, word, &Word::latex); row != std::size(kWords))
      return write(kWords[row].infix);
    if (word == "mathit") return name();
    if (word == "mathrel") return relation();
    if (word == "lfloor") return begin_floor();
    if (word == "rfloor") return close(Close::floor, ")", "\\rfloor");
    if (word == "begin") return environment(true);
    if (word == "end") return environment(false);
    if (word == "\\" && !open_.empty() && open_.back() == Close::cases) return write(" else ");
    fail("unknown LaTeX command", text_.substr(from_, at_ - from_));
  }
  void begin_floor() {
    expect("\\frac");
    expect("{");
    open(Close::numerator, "((");
  }
  void relation() {
    expect("{=}");
    write("==");
  }
  void environment(bool begin) {
    const std::size_t column = from_;
    const std::string_view word = braced();
    from_ = column;
    if (word != "cases") fail("unknown LaTeX environment", word);
    if (begin)
      open(Close::cases, "(");
    else
      close(Close::cases, ")", "\\end{cases}");
  }
  void name() {
    const std::string_view inside = braced();
    bool first = true;
    for (std::size_t i = 0; i < inside.size(); ++i) {
      if (inside[i] == '\\' && i + 1 < inside.size() && inside[i + 1] == '_') continue;
      from_ = at_ - 1 - inside.size() + i;
      if (!is_name_start(inside[i]) && (first || !is_digit(inside[i]))) fail("not a name", inside);
      write(inside.substr(i, 1));
      first = false;
    }
    if (first) fail("the name is empty", {});
  }

  std::string_view text_;
  std::vector<std::size_t>& columns_;
  std::string out_;
  std::vector<Close> open_;
  std::size_t at_ = 0;    // the first byte that is not read yet
  std::size_t from_ = 0;  // the first byte of the current source item
};

}  // namespace

std::string translate_latex(std::string_view text, std::vector<std::size_t>& columns) {
  return Translator(text, columns).run();
}

}  // namespace strata::detail
