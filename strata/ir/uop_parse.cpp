// parse_uops(): the parser of the format of UOpGraph::text(), with any blanks between columns. A line is
//
//   number UOps.NAME : dtype [number, ...] argument
//
// where the op determines the format of the argument. Lines are numbered from 0; empty lines are ignored.
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "strata/base/check.h"
#include "strata/base/quotes.h"
#include "strata/base/text.h"
#include "strata/ir/uop.h"
#include "strata/ir/uop_rules.h"

namespace strata {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// Parses all of `text` as a number; false where it is none.
template <class T, class... Format>
bool read(std::string_view text, T& out, Format... format) {
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, out, format...);
  return result.ec == std::errc() && result.ptr == end;
}

/// A position in the text, with functions that read the next part.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  std::size_t at() const { return at_; }
  bool at_end() const { return at_ == text_.size(); }
  /// The next character that is not a blank; at the end of the text a newline.
  char peek() {
    while (!at_end() && is_blank(text_[at_])) ++at_;
    return at_end() ? '\n' : text_[at_];
  }
  void next_line() {
    line_start_ = ++at_;
    ++line_;
  }

  template <class... Parts>
  [[noreturn]] void fail(ErrorKind kind, std::size_t at, const Parts&... parts) const {
    throw Error(kind, detail::message("[parse_uops] line ", line_, ", column ", at - line_start_ + 1, ": ", parts...),
                at + 1);
  }
  /// Returns make(); its Errors get the line and column of `at`.
  template <class Make>
  auto located(std::size_t at, const Make& make) const {
    try {
      return make();
    } catch (const Error& error) {
      fail(error.kind(), at, error.what());
    }
  }

  bool try_take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!try_take(c)) fail_expected(std::string{'\'', c, '\''});
  }
  [[noreturn]] void fail_expected(std::string_view what) {
    const bool line_ends = peek() == '\n';
    fail(ErrorKind::parse, at_, "expected ", what, ", not ",
         line_ends ? "the end of the line" : in_quotes(character_at(text_, at_)));
  }

  /// Reads up to a blank, a newline, or one of `stops`. @post the word is not empty
  std::string_view word(std::string_view what, std::string_view stops = "") {
    peek();
    const std::size_t begin = at_;
    const auto goes_on = [&](char c) { return !is_blank(c) && c != '\n' && stops.find(c) == std::string_view::npos; };
    while (!at_end() && goes_on(text_[at_])) ++at_;
    if (at_ == begin) fail_expected(what);
    return text_.substr(begin, at_ - begin);
  }

  template <class T>
  T number(std::string_view what, T least = std::numeric_limits<T>::min()) {
    const bool negative = peek() == '-';
    const std::size_t begin = at_;
    if (negative) ++at_;
    while (!at_end() && is_digit(text_[at_])) ++at_;
    const std::string_view digits = text_.substr(begin, at_ - begin);
    if (digits.empty() || (negative && digits.size() == 1)) fail_expected(what);
    T out = 0;
    if (!read(digits, out) || out < least) fail(ErrorKind::parse, begin, in_quotes(digits), " is not ", what);
    return out;
  }

  /// Reads a name in single quotes.
  std::string name() {
    expect('\'');
    const std::size_t begin = at_;
    while (!at_end() && text_[at_] != '\'' && text_[at_] != '\n') ++at_;
    if (at_end() || text_[at_] != '\'') fail(ErrorKind::parse, begin - 1, "the name is not closed");
    return std::string(text_.substr(begin, at_++ - begin));
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t line_start_ = 0;
};

bool read_int(std::string_view word, DType dtype, Scalar& out) {
  if (dtype.is_unsigned()) {
    std::uint64_t value = 0;
    if (!read(word, value)) return false;
    out = Scalar::of(dtype, value);
    return out.as_uint() == value;
  }
  std::int64_t value = 0;
  if (!read(word, value)) return false;
  out = Scalar::of(dtype, value);
  return out.as_int() == value;
}

/// Parses `nan`, or `nan:0x...` with its bits.
bool read_nan(std::string_view word, DType dtype, Scalar& out) {
  constexpr std::string_view mark = "nan:0x";
  out = default_nan(dtype);
  if (word == "nan") return true;
  std::uint64_t bits = 0;
  if (!word.starts_with(mark) || !read(word.substr(mark.size()), bits, 16)) return false;
  out = Scalar::from_bits(dtype, bits);
  return out.is_nan() && out.bits() == bits;
}

bool read_real(std::string_view word, DType dtype, Scalar& out) {
  if (word.starts_with("nan")) return read_nan(word, dtype, out);
  if (word == "inf" || word == "-inf") {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    out = Scalar::of(dtype, word == "inf" ? infinity : -infinity);
    return true;
  }
  // NOTE: via double, a decimal near the middle of two floats would be rounded twice.
  if (dtype == dtypes::float32) {
    const std::optional<float> narrow = read_float(word);
    if (!narrow) return false;
    out = Scalar(*narrow);
  } else {
    const std::optional<double> wide = read_double(word);
    if (!wide) return false;
    out = Scalar::of(dtype, *wide);
  }
  return std::isfinite(out.as_double());
}

bool read_scalar(std::string_view word, DType dtype, Scalar& out) {
  if (dtype.is_float()) return read_real(word, dtype, out);
  if (dtype.is_int()) return read_int(word, dtype, out);
  out = Scalar(word == "True");
  return word == "True" || word == "False";
}

class ListParser {
 public:
  explicit ListParser(std::string_view text) : in_(text) {}

  UOpGraph parse() {
    while (true) {
      if (in_.peek() != '\n') parse_line();
      if (in_.at_end()) return std::move(list_);
      in_.next_line();
    }
  }

 private:
  void parse_line() {
    check_number();
    const std::size_t at = (in_.peek(), in_.at());
    const UOps op = parse_op();
    in_.expect(':');
    const DType dtype = in_.peek() == '[' ? dtypes::none : parse_dtype("[");
    const std::vector<UOp> src = parse_sources();
    UOpArg arg = parse_arg(op, dtype);
    if (in_.peek() != '\n') in_.fail_expected("the end of the line");
    // Two equal lines are two UOps.
    in_.located(at, [&] { return list_.add(op, dtype, src, std::move(arg), false); });
  }

  void check_number() {
    const std::size_t at = in_.at();
    const auto num = in_.number<std::uint64_t>("the number of a line");
    if (num != list_.size())
      in_.fail(ErrorKind::parse, at, "the number is ", num, ", but ", list_.size(), " is expected");
  }

  UOps parse_op() {
    constexpr std::string_view group = "UOps.";
    const std::string_view word = in_.word("a UOp", ":");
    const std::optional<UOps> op = word.starts_with(group) ? find_uop(word.substr(group.size())) : std::nullopt;
    if (!op) in_.fail(ErrorKind::parse, in_.at() - word.size(), in_quotes(word), " is not a UOp");
    return *op;
  }

  DType parse_dtype(std::string_view stops) {
    const std::string_view word = in_.word("a dtype", stops);
    return in_.located(in_.at() - word.size(), [&] { return dtypes::parse(word); });
  }

  std::vector<UOp> parse_sources() {
    std::vector<UOp> out;
    in_.expect('[');
    if (in_.try_take(']')) return out;
    do {
      const auto num = in_.number<std::uint64_t>("the number of a source");
      if (num >= list_.size()) in_.fail(ErrorKind::parse, in_.at() - 1, "source ", num, " is not in a line above");
      out.push_back(list_[static_cast<std::size_t>(num)]);
    } while (in_.try_take(','));
    in_.expect(']');
    return out;
  }

  UOpArg parse_arg(UOps op, DType dtype) {
    switch (row(op).arg) {
      case ArgKind::none:
        if (op == UOps::STORE && in_.peek() != 'N') return in_.number<std::int64_t>("a size");
        return parse_none();
      case ArgKind::number: return in_.number<std::int64_t>("a lane");
      case ArgKind::scalar: return parse_scalar(dtype);
      case ArgKind::op: return parse_op_name();
      case ArgKind::global: return parse_global(dtype);
      case ArgKind::local: return parse_local();
      case ArgKind::special: return parse_special();
      case ArgKind::variable: return parse_variable();
      case ArgKind::reduction: return parse_reduction();
    }
    return {};
  }

  UOpArg parse_none() {
    const std::string_view word = in_.word("None");
    if (word != "None") in_.fail(ErrorKind::parse, in_.at() - word.size(), "expected None, not ", in_quotes(word));
    return {};
  }

  UOpArg parse_scalar(DType dtype) {
    const std::string_view word = in_.word("a constant");
    const std::size_t at = in_.at() - word.size();
    if (dtype.is_none() || dtype.is_pointer())
      in_.fail(ErrorKind::parse, at, "dtype ", dtype.name(), " has no constants");
    Scalar out;
    if (!read_scalar(word, dtype.scalar(), out))
      in_.fail(ErrorKind::parse, at, in_quotes(word), " is not a value of ", dtype.scalar().name());
    return out;
  }

  Ops parse_op_name(std::string_view stops = "") {
    const std::string_view word = in_.word("an op", stops);
    const std::optional<Ops> op = find_op(word);
    if (!op) in_.fail(ErrorKind::parse, in_.at() - word.size(), in_quotes(word), " is not an op");
    return *op;
  }

  /// ('data0', dtypes.float), or ('out', dtypes.float, 0) with an explicit slot.
  UOpArg parse_global(DType dtype) {
    in_.expect('(');
    std::string name = in_.name();
    in_.expect(',');
    const DType pointee = parse_dtype(",)");
    if (pointee != dtype.pointee())
      in_.fail(ErrorKind::parse, in_.at() - 1, "a ", dtype.name(), " does not point to ", pointee.name());
    const int slot = parse_slot(name);
    in_.expect(')');
    return Global{slot, std::move(name)};
  }

  int parse_slot(std::string_view name) {
    constexpr std::string_view usual = "data";
    if (in_.try_take(',')) return in_.number<int>("a slot", 0);
    int slot = 0;
    const bool says = name.starts_with(usual) && read(name.substr(usual.size()), slot);
    if (!says || detail::message(usual, slot) != name) in_.fail_expected("',' and the slot");
    return slot;
  }

  UOpArg parse_local() {
    Local out;
    in_.expect('(');
    out.name = in_.name();
    in_.expect(',');
    out.size = in_.number<std::int64_t>("a size");
    in_.expect(')');
    return out;
  }

  UOpArg parse_reduction() {
    LoopReduction out;
    in_.expect('(');
    out.op = parse_op_name(",");
    in_.expect(',');
    out.loops = in_.number<std::int64_t>("a number of loops");
    in_.expect(')');
    return out;
  }

  UOpArg parse_special() {
    Special out;
    in_.expect('(');
    out.name = in_.name();
    in_.expect(',');
    out.axis = in_.number<int>("an axis");
    in_.expect(',');
    out.size = in_.number<std::int64_t>("a size");
    in_.expect(')');
    return out;
  }

  UOpArg parse_variable() {
    const std::string_view word = in_.word("Variable", "(");
    const std::size_t at = in_.at() - word.size();
    if (word != "Variable") in_.fail(ErrorKind::parse, at, "expected Variable, not ", in_quotes(word));
    in_.expect('(');
    const std::string name = in_.name();
    in_.expect(',');
    const auto min = in_.number<std::int64_t>("a least value");
    in_.expect(',');
    const auto max = in_.number<std::int64_t>("a largest value");
    in_.expect(')');
    return in_.located(at, [&] { return Variable(name, min, max); });
  }

  Cursor in_;
  UOpGraph list_;
};

}  // namespace

UOpGraph parse_uops(std::string_view text) { return ListParser(text).parse(); }

}  // namespace strata
