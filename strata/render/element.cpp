#include "strata/render/element.h"

#include <algorithm>
#include <cmath>

#include "strata/base/check.h"

namespace strata::rendering {
namespace {

DType unsigned_of(int bits) {
  return bits == 8 ? dtypes::uint8 : bits == 16 ? dtypes::uint16 : bits == 32 ? dtypes::uint32 : dtypes::uint64;
}

/// The dtype of the variables that hold values of `scalar`: f32 for f16 and bf16.
DType held(DType scalar) { return scalar.is_float() && scalar.bits() == 16 ? dtypes::float32 : scalar; }

std::string with_operand(std::string_view text, const std::string& a) {
  return fill(text, [&](char) { return a; });
}

bool is_real_constant(UOp u) {
  const Scalar* c = constant_of(u);
  return c != nullptr && !c->is_nan();
}

std::uint8_t class_of(const Writer& writer, UOp u, DType operand) {
  if (operand.is_bool()) return kBool;
  if (operand.is_float()) return kFloat;
  if (operand.is_unsigned()) return operand.bits() < 32 ? kUnsigned : kUnsigned | kIndex;
  return writer.usage().data(u) ? kSigned : kIndex;
}

/// The expression of an ALU op: chooses the row of the language and fills in its text.
class Alu {
 public:
  Alu(const Writer& writer, UOp u, const Operands& operands)
      : language_(writer.language()), u_(u), operands_(operands) {
    const Ops op = u.alu();
    operand_ = u.src(op == Ops::WHERE ? 1 : 0).dtype().scalar();
    std::uint8_t on = class_of(writer, u, operand_);
    const bool extreme = op == Ops::MAX || op == Ops::MIN;
    const bool either = row(op).commutes && (operand_.is_float() || extreme);
    if (is_shift() && constant_of(u.src(1)) != nullptr) on |= kConstRight;
    if (operand_.is_float() && either && (is_real_constant(u.src(0)) || is_real_constant(u.src(1)))) on |= kConstRight;
    if (op == Ops::WHERE && may_be_absolute(u)) on |= kNegated;
    swapped_ = either && is_real_constant(u.src(0)) && !is_real_constant(u.src(1));
    row_ = &op_text(language_, op, operand_, on);
  }

  std::string text() const {
    const bool extreme = u_.alu() == Ops::MAX || u_.alu() == Ops::MIN;
    const bool compares = row(u_.alu()).typing == OpTyping::compare && operand_.is_int();
    if (extreme || compares) {
      std::string a = operand(0);  // NOTE: operand() may write a line, so the order of the calls matters
      const std::string b = operand(1);
      if (extreme && a == b) return a;
      // Compilers warn about `x == x`.
      const std::string_view test = u_.alu() == Ops::CMPEQ ? "==" : "!=";
      if (a == b) return detail::message("((", a, "^", b, ")", test, symbol('0'), ")");
    }
    return fill(row_->text, [&](char c) { return symbol(c); });
  }

 private:
  bool is_shift() const { return u_.alu() == Ops::SHL || u_.alu() == Ops::SHR; }

  std::string symbol(char c) const {
    switch (c) {
      case 'a': return operand(0);
      case 'b': return operand(1);
      case 'c': return operand(2);
      case 'T': return std::string(value_type(language_, u_.dtype().scalar()));
      case 'S': return std::string(value_type(language_, operand_));
      case 'U': return std::string(value_type(language_, unsigned_of(std::max(32, operand_.bits()))));
      case 'V': return std::string(value_type(language_, unsigned_of(operand_.bits())));
      case 'W': return std::to_string(operand_.bits());
      case 'M': return std::to_string(operand_.bits() - 1);
      case 'f': return held(operand_) == dtypes::float64 ? "" : "f";
      case 'I': return integers_from(held(operand_));
      case '0':
      case '1': return language_.constant(language_, Scalar::of(operand_, std::int64_t{c - '0'}));
      default: break;
    }
    STRATA_ASSERT(false, "a row says $", std::string(1, c));
    return "";
  }

  std::string operand(std::size_t k) const {
    if (k == 1 && is_shift() && constant_of(u_.src(1)) != nullptr) return count();
    const char letter = static_cast<char>('a' + k);
    const std::string mark = detail::message("$", std::string(1, letter));
    const std::size_t first = row_->text.find(mark);
    const bool repeated = row_->text.find(mark, first + 1) != std::string_view::npos;
    return operands_(swapped_ && k < 2 ? 1 - k : k, repeated);
  }

  std::string integers_from(DType dtype) const {
    const double least = std::ldexp(1, dtype.significand_bits() - 1);
    return language_.constant(language_, Scalar::of(dtype, least));
  }

  /// The constant count of a shift, at most the width - 1: an arithmetic right shift by more gives the same. (Left and
  /// logical shifts by more are folded to 0 before.)
  std::string count() const {
    const auto most = static_cast<std::uint64_t>(operand_.bits() - 1);
    return std::to_string(std::min(most, constant_of(u_.src(1))->bits()));
  }

  const Language& language_;
  UOp u_;
  const Operands& operands_;
  DType operand_;
  bool swapped_ = false;
  const OpText* row_ = nullptr;
};

/// The expressions of CAST and BITCAST between scalar dtypes.
class Conversion {
 public:
  Conversion(const Language& language, DType from, DType to, const Operands& operand)
      : language_(language), from_(from), to_(to), operand_(operand) {}

  std::string cast() const {
    if (to_.is_bool()) return detail::message("(", once(), "!=", constant(from_, 0.0), ")");
    if (from_.is_float()) return to_.is_float() ? between_floats() : to_integer();
    if (to_ == dtypes::bfloat16 && from_.bits() > 16) return to_bfloat16();
    const NarrowText* narrow = narrow_of(language_, to_);
    if (narrow == nullptr) return convert(to_, once());
    const bool large = from_.bits() >= 32 && !narrow->round_int.empty();
    return with_operand(large ? narrow->round_int : narrow->round, convert(dtypes::float32, once()));
  }

  std::string bitcast() const {
    if (from_.is_bool()) return convert(to_, once());
    if (to_.is_bool()) return cast();
    const std::string stored = to_memory(language_, from_, once());
    const std::string same = fill(language_.bits, [&](char c) -> std::string {
      return c == 'a' ? stored : std::string(memory_type(language_, c == 'S' ? from_ : to_));
    });
    return from_memory(language_, to_, detail::message("(", same, ")"));
  }

 private:
  std::string once() const { return operand_(0, false); }
  std::string constant(DType dtype, double value) const {
    return language_.constant(language_, Scalar::of(dtype, value));
  }
  std::string convert(DType to, const std::string& a) const {
    return fill(language_.convert, [&](char c) { return c == 'T' ? std::string(value_type(language_, to)) : a; });
  }

  std::string between_floats() const {
    const NarrowText* narrow = narrow_of(language_, to_);
    const bool wide = from_ == dtypes::float64;
    if (narrow != nullptr) return with_operand(wide ? narrow->round_double : narrow->round, once());
    return held(from_) == to_ ? once() : convert(to_, once());
  }

  /// A float to an integer: rounds toward zero, saturates beyond the range, and gives 0 for NaN.
  std::string to_integer() const {
    const std::string a = operand_(0, true);
    const DType real = held(from_);
    const int bits = to_.bits() - (to_.is_unsigned() ? 0 : 1);
    const std::string above = detail::message("(", a, ">=", constant(real, std::ldexp(1, bits)), ")");
    const std::string most = constant(to_, std::ldexp(1, bits));
    const std::string zero = constant(to_, 0);
    const double least = to_.is_unsigned() ? 0 : -std::ldexp(1, bits);
    const std::string inside = detail::message("(", a, ">", constant(real, least), ")");
    const std::string below = detail::message("(", a, "<=", constant(real, least), ")");
    const std::string rest = to_.is_unsigned() ? zero : pick(language_, below, constant(to_, least), zero);
    return pick(language_, above, most, pick(language_, inside, convert(to_, a), rest));
  }

  /// A large integer to bf16, rounded once: first the low bits are cut off, and the last kept bit is set if any of them
  /// was 1 (round to odd). The result is exact in the intermediate float, and rounding that to bf16 equals rounding the
  /// integer.
  std::string to_bfloat16() const {
    const NarrowText& narrow = *narrow_of(language_, to_);
    const bool wide = from_.bits() == 64;
    const std::string a = operand_(0, true);
    const DType u = unsigned_of(from_.bits());
    const auto number = [&](std::uint64_t v) { return language_.constant(language_, Scalar::of(u, v)); };
    const std::uint64_t exact = std::uint64_t{1} << (wide ? 53 : 24);
    const int cut = wide ? 11 : 8;
    const std::uint64_t low = (std::uint64_t{1} << cut) - 1;
    const std::string bits = convert(u, a);
    const std::string small = detail::message("(", bits, "+", number(from_.is_unsigned() ? 0 : exact), "<",
                                              number(from_.is_unsigned() ? exact : 2 * exact), ")");
    const std::string sticky = pick(language_, detail::message("((", bits, "&", number(low), ")!=", number(0), ")"),
                                    number(low + 1), number(0));
    const std::string odd = convert(from_, detail::message("((", bits, "&", number(~low), ")|", sticky, ")"));
    const std::string kept = pick(language_, small, a, odd);
    const std::string real = convert(wide ? dtypes::float64 : dtypes::float32, kept);
    return with_operand(wide ? narrow.round_double : narrow.round, real);
  }

  const Language& language_;
  DType from_;
  DType to_;
  const Operands& operand_;
};

}  // namespace

bool needs_rounding(Ops op) {
  switch (op) {
    case Ops::ADD:
    case Ops::SUB:
    case Ops::MUL:
    case Ops::MULACC: return true;
    case Ops::TRUNC:
    case Ops::FLOOR:
    case Ops::CEIL:
    case Ops::ROUND: return false;
    default: return row(op).typing == OpTyping::real;
  }
}

std::string element(const Writer& writer, UOp u, const Operands& operands) {
  const Language& language = writer.language();
  const DType to = u.dtype().scalar();
  if (u.op() != UOps::ALU) {
    const Conversion conversion(language, u.src(0).dtype().scalar(), to, operands);
    return u.op() == UOps::CAST ? conversion.cast() : conversion.bitcast();
  }
  std::string text = Alu(writer, u, operands).text();
  const NarrowText* narrow = narrow_of(language, to);
  return narrow != nullptr && needs_rounding(u.alu()) ? with_operand(narrow->round, text) : text;
}

bool is_byte_for_bool(const Language& language, DType scalar) {
  return scalar.is_bool() && value_type(language, scalar) != "bool";
}

std::string pick(const Language& language, std::string_view condition, std::string_view yes, std::string_view no) {
  return language.ternary ? detail::message("(", condition, "?", yes, ":", no, ")")
                          : detail::message("select(", no, ",", yes, ",", condition, ")");
}

/// NOTE: code outside of Strata may have written any byte as a bool; every nonzero byte is true. The comparison turns
/// it into 0 or 1.
std::string from_memory(const Language& language, DType scalar, const std::string& text) {
  if (is_byte_for_bool(language, scalar)) return detail::message("(", text, "!=0)");
  const NarrowText* narrow = narrow_of(language, scalar);
  return narrow == nullptr ? text : with_operand(narrow->load, text);
}

std::string to_memory(const Language& language, DType scalar, const std::string& text) {
  const NarrowText* narrow = narrow_of(language, scalar);
  return narrow == nullptr ? text : with_operand(narrow->store, text);
}

}  // namespace strata::rendering
