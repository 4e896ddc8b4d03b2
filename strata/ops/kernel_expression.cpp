// The expression parser: operator precedence by a shunting-yard algorithm, extended by function and method calls.

#include "strata/ops/kernel_expression.h"

#include <algorithm>
#include <limits>
#include <string>

#include "strata/base/fork.h"
#include "strata/base/quotes.h"
#include "strata/expr/grammar.h"
#include "strata/ops/kernel_sizes.h"
#include "strata/ops/value.h"

namespace strata::kernel_words {

namespace {

struct OperatorRow {
  std::string_view text;
  std::uint8_t precedence;
  std::string_view function;
};
constexpr std::uint8_t kCompare = 1, kPrefix = 8, kPower = 9;
// clang-format off
constexpr OperatorRow kBinary[] = {
    {"<", kCompare, "lt"}, {"<=", kCompare, "le"}, {">", kCompare, "gt"}, {">=", kCompare, "ge"},
    {"==", kCompare, "eq"}, {"!=", kCompare, "ne"},
    {"|", 2, "or"}, {"^", 3, "xor"}, {"&", 4, "and"}, {"<<", 5, "shl"}, {">>", 5, "shr"},
    {"+", 6, "add"}, {"-", 6, "sub"},
    {"*", 7, "mul"}, {"/", 7, "div"}, {"//", 7, "floordiv"}, {"%", 7, "floormod"}, {"@", 7, "matmul"},
    {"**", kPower, "pow"},
};
constexpr OperatorRow kUnary[] = {{"-", kPrefix, "neg"}, {"~", kPrefix, "not"}, {"+", kPrefix, ""}};
// clang-format on

template <std::size_t N>
const OperatorRow* find_operator(const OperatorRow (&rows)[N], const Token& token) {
  if (token.kind != TokenKind::symbol) return nullptr;
  const auto* const at =
      std::find_if(std::begin(rows), std::end(rows), [&](const OperatorRow& r) { return r.text == token.text; });
  return at == std::end(rows) ? nullptr : at;
}

/// An open operator, bracket or call that waits for operands. The operands of a call are the values from `first` on.
struct Frame {
  enum class Open : std::uint8_t { prefix, binary, group, function, method, cast, full };
  Open open;
  std::uint8_t precedence = 0;
  std::string_view function;
  const Token* token;
  std::size_t first = 0;
  DType dtype;
};
using Open = Frame::Open;

class ExpressionReader {
 public:
  ExpressionReader(Scope& scope, std::span<const Token> tokens)
      : scope_(scope), tokens_(tokens), sizes_(scope, tokens) {}

  TextOperand run(std::size_t from) {
    at_ = from;
    while (!done_) {
      if (want_value_)
        value();
      else
        after_value();
    }
    return std::move(values_.back());
  }

 private:
  const Token& token() const { return tokens_[at_]; }
  const Token& next(std::size_t k = 1) const { return tokens_[std::min(at_ + k, tokens_.size() - 1)]; }

  void push(Open open, std::string_view function, std::uint8_t precedence = 0) {
    if (frames_.size() >= kMaxBrackets)
      throw Error(ErrorKind::budget, "[kernel] more than 200000 operators and brackets are open", token().column);
    frames_.push_back({open, precedence, function, &token(), values_.size(), {}});
    want_value_ = true;
  }
  void have(TextOperand v) {
    values_.push_back(std::move(v));
    want_value_ = false;
  }

  // --- where a value is expected ---

  void value() {
    const Token& t = token();
    if (const OperatorRow* prefix = find_operator(kUnary, t)) {
      push(Open::prefix, prefix->function, kPrefix);
      ++at_;
    } else if (t.kind == TokenKind::number) {
      have(read_number(t));
      ++at_;
    } else if (t.is("(")) {
      push(Open::group, "");
      ++at_;
    } else if (t.kind == TokenKind::name) {
      if (next().is("(")) return call();
      have(named(t));
      ++at_;
    } else {
      expected("a value", t);
    }
  }
  TextOperand named(const Token& t) {
    const auto it = scope_.values.find(t.text);
    if (it != scope_.values.end()) return it->second;
    if (t.text == "True" || t.text == "False") return Scalar(t.text == "True");
    if (t.text == "inf") return Scalar(std::numeric_limits<double>::infinity());
    if (t.text == "nan") return Scalar(std::numeric_limits<double>::quiet_NaN());
    throw Error(ErrorKind::parse, "[kernel] the name " + in_quotes(t.text) + " has no value yet", t.column);
  }

  /// Begins the call NAME(...).
  void call() {
    const Token& t = token();
    if (t.text == "iota") return iota();
    if (t.text == "full") return full();
    const std::optional<DType> dtype = find_dtype(t.text);
    if (dtype || t.text == "cast" || t.text == "bitcast") {
      push(Open::cast, t.text);
      if (dtype) frames_.back().dtype = *dtype;
    } else if (function_arity(t.text)) {
      push(Open::function, t.text);
    } else if (is_method(t.text)) {
      push(Open::method, t.text);
    } else {
      throw Error(ErrorKind::parse, "[kernel] there is no function " + in_quotes(t.text), t.column);
    }
    at_ += 2;
  }
  void iota() {
    const Token& t = token();
    const std::size_t end = sizes_.find_end(at_ + 2, ")");
    const Ints shape = at_token(t, [&] { return to_sizes("iota", sizes_.items(at_ + 2, end)); });
    scope_.budget.charge(shape.size(), t);
    at_ = end + 1;
    have(at_token(t, [&] { return LazyOp::iota(dtypes::int32, ShapeTracker::from_shape(shape)); }));
  }
  void full() {
    const std::size_t end = sizes_.find_end(at_ + 2, ")", true);
    if (end == at_ + 2) expected("a shape", tokens_[end]);
    if (!tokens_[end].is(",")) expected("',' and a value", tokens_[end]);
    shapes_.push_back(at_token(token(), [&] { return to_sizes("full", sizes_.items(at_ + 2, end)); }));
    push(Open::full, "full");
    at_ = end + 1;
  }

  // --- behind a value ---

  void after_value() {
    const Token& t = token();
    if (t.is(".")) return method();
    if (const OperatorRow* op = find_operator(kBinary, t)) return binary(*op);
    if (t.is(",")) return comma();
    if (t.is(")")) return close();
    if (t.kind != TokenKind::end) expected("an operator", t);
    reduce(0);
    if (!frames_.empty()) throw Error(ErrorKind::parse, "[kernel] '(' is never closed", frames_.back().token->column);
    done_ = true;
  }
  void binary(const OperatorRow& op) {
    // `**` is right-associative: an open `**` is not applied yet.
    reduce(op.precedence == kPower ? kPower + 1 : op.precedence == kCompare ? 2 : op.precedence);
    if (op.precedence == kCompare && !frames_.empty() && frames_.back().precedence == kCompare)
      throw Error(ErrorKind::parse, "[kernel] comparisons do not chain, write (a < b) & (b < c)", token().column);
    push(Open::binary, op.function, op.precedence);
    ++at_;
  }
  void method() {
    const Token& name = next();
    if (name.kind != TokenKind::name) expected("a method's name", name);
    if (name.text == "T" && !next(2).is("(")) return transpose(name);
    if (!next(2).is("(")) expected("'('", next(2));
    ++at_;
    if (is_method(name.text) || name.text == "cast" || name.text == "bitcast") {
      frames_.push_back(
          {is_method(name.text) ? Open::method : Open::cast, 0, name.text, &name, values_.size() - 1, {}});
      at_ += 2;
      return arguments();
    }
    if (!function_arity(name.text))
      throw Error(ErrorKind::parse, "[kernel] there is no method " + in_quotes(name.text), name.column);
    push(Open::function, name.text);
    --frames_.back().first;  // the value in front of the dot is the first operand
    at_ += 2;
    if (!token().is(")")) return;
    want_value_ = false;
    close();
  }
  void transpose(const Token& name) {
    const LazyOp x = as_tensor(values_.back());
    charge(name, x.shape().size());
    values_.back() = at_token(name, [&]() -> LazyOp { return ops::Value(x).t(); });
    at_ += 2;
  }
  /// Reads the sizes or the dtype of the innermost open call, up to its closing bracket, and applies the call.
  void arguments() {
    const Frame top = frames_.back();
    frames_.pop_back();
    const std::size_t end = sizes_.find_end(at_, ")");
    if (top.open == Open::cast) {
      const Token& name = token();
      const std::optional<DType> dtype = find_dtype(name.text);
      if (!dtype) expected("a dtype as f32", name);
      if (end != at_ + 1) expected("')'", next());
      at_ = end + 1;
      return convert(top, *dtype);
    }
    const SizeItems items = sizes_.items(at_, end);
    at_ = end + 1;
    apply_method_of(top, items);
  }
  void convert(const Frame& frame, DType dtype) {
    const LazyOp x = as_tensor(values_.back());
    charge(*frame.token, x.shape().size());
    values_.back() =
        at_token(*frame.token, [&] { return frame.function == "bitcast" ? x.bitcast(dtype) : x.cast(dtype); });
  }
  void apply_method_of(const Frame& frame, const SizeItems& items) {
    const LazyOp x = as_tensor(values_.back());
    charge(*frame.token, std::max(x.shape().size(), items.size()));
    values_.back() = at_token(*frame.token, [&] { return apply_method(frame.function, x, items); });
  }
  void charge(const Token& t, std::size_t rank) { scope_.budget.charge(rank, t); }

  void comma() {
    reduce(0);
    const Frame* const top = frames_.empty() ? nullptr : &frames_.back();
    if (top == nullptr || top->open == Open::group || top->open == Open::full ||
        (top->open == Open::cast && !top->dtype.is_none()))
      throw Error(ErrorKind::parse, "[kernel] ',' outside of a function's brackets", token().column);
    ++at_;
    if (top->open != Open::function) return arguments();
    want_value_ = true;
  }
  void close() {
    reduce(0);
    if (frames_.empty()) throw Error(ErrorKind::parse, "[kernel] ')' without '('", token().column);
    const Frame top = frames_.back();
    if (top.open == Open::cast && top.dtype.is_none()) expected("',' and a dtype", token());
    frames_.pop_back();
    ++at_;
    switch (top.open) {
      case Open::function: return apply(top, values_.size() - top.first);
      case Open::method: return apply_method_of(top, {});
      case Open::cast: return convert(top, top.dtype);
      case Open::full: return close_full(top);
      case Open::group:
      case Open::prefix:
      case Open::binary: return;
    }
  }
  void close_full(const Frame& frame) {
    const Ints shape = std::move(shapes_.back());
    shapes_.pop_back();
    charge(*frame.token, shape.size());
    values_.back() = at_token(*frame.token, [&] { return broadcast("full", as_tensor(values_.back()), shape); });
  }

  /// Applies the operators on top that bind at least as tightly as `precedence`.
  void reduce(std::uint8_t precedence) {
    while (!frames_.empty() && frames_.back().precedence >= std::max<std::uint8_t>(precedence, 1)) {
      const Frame top = frames_.back();
      frames_.pop_back();
      if (!top.function.empty()) apply(top, top.open == Open::prefix ? 1 : 2);
    }
  }
  void apply(const Frame& frame, std::size_t count) {
    const auto [least, most] = *function_arity(frame.function);
    if (count < least || count > most)
      throw Error(ErrorKind::parse,
                  detail::message("[kernel] ", frame.function, " takes ", least,
                                  most == least  ? " operands, not "
                                  : most > least ? " operands or more, not "
                                                 : "",
                                  count),
                  frame.token->column);
    const Operands in(values_.data() + (values_.size() - count), count);
    for (const TextOperand& x : in) charge(*frame.token, x.rank());
    TextOperand out = at_token(*frame.token, [&] { return apply_function(frame.function, in); });
    values_.resize(values_.size() - count);
    values_.push_back(std::move(out));
  }

  Scope& scope_;
  std::span<const Token> tokens_;
  SizeReader sizes_;
  std::size_t at_ = 0;
  std::vector<Frame> frames_;
  std::vector<TextOperand> values_;
  std::vector<Ints> shapes_;  // the shapes of open full() calls
  bool want_value_ = true;
  bool done_ = false;
};

}  // namespace

std::optional<DType> find_dtype(std::string_view name) {
  static const auto* const table = [] {
    auto* out = new std::unordered_map<std::string, DType>;
    for (const DType d : dtypes::all())
      for (const std::string& text : {d.name(), d.spec_name().substr(7)}) out->emplace(text, d);
    for (const std::string_view text : {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                                        "float16", "bfloat16", "float32", "float64"})
      out->emplace(text, dtypes::parse(text));
    return out;
  }();
  const auto it = table->find(std::string(name));
  return it == table->end() ? std::nullopt : std::optional(it->second);
}

const ForkHook expression_hook(ForkOrder::tables, [] { find_dtype("f32"); }, [] {});

TextOperand read_expression(Scope& scope, std::span<const Token> tokens, std::size_t from) {
  return ExpressionReader(scope, tokens).run(from);
}

}  // namespace strata::kernel_words
