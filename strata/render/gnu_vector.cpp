#include "strata/render/gnu_vector.h"

#include <algorithm>
#include <cmath>

#include "strata/base/check.h"
#include "strata/render/element.h"

namespace strata::rendering {
namespace {

using detail::message;

// clang-format off
/// Rows for vectors, as those for scalars. $I is the mask type (signed integers of the lanes' width), $H its largest number.
constexpr OpText kVectorRows[] = {
    {Ops::NOOP,   kAny,               "$a"},
    {Ops::NEG,    kFloat | kUnsigned, "(-$a)"},
    {Ops::NEG,    kSigned,            "(($T)(-($U)$a))"},
    {Ops::ABS,    kFloat,             "(($T)(($I)$a&$H))"},
    {Ops::ABS,    kSigned,            "(($T)((($U)$a^($U)($a<0))-($U)($a<0)))"},
    {Ops::ABS,    kUnsigned,          "$a"},
    {Ops::NOT,    kInt,               "(~$a)"},
    {Ops::RECIP,  kFloat,             "($1/$a)"},
    {Ops::ADD,    kFloat | kUnsigned, "($a+$b)"},
    {Ops::ADD,    kSigned,            "(($T)(($U)$a+($U)$b))"},
    {Ops::SUB,    kFloat | kUnsigned, "($a-$b)"},
    {Ops::SUB,    kSigned,            "(($T)(($U)$a-($U)$b))"},
    {Ops::MUL,    kFloat | kUnsigned, "($a*$b)"},
    {Ops::MUL,    kSigned,            "(($T)(($U)$a*($U)$b))"},
    {Ops::MULACC, kFloat | kUnsigned, "($a*$b+$c)"},
    {Ops::MULACC, kSigned,            "(($T)(($U)$a*($U)$b+($U)$c))"},
    {Ops::DIV,    kFloat,             "($a/$b)"},
    {Ops::IDIV,   kInt,               "($a/$b)"},
    {Ops::MOD,    kInt,               "($a%$b)"},
    {Ops::AND,    kInt,               "($a&$b)"},
    {Ops::OR,     kInt,               "($a|$b)"},
    {Ops::XOR,    kInt,               "($a^$b)"},
};
// clang-format on

std::uint8_t lane_class(DType dtype) {
  if (dtype.is_bool()) return kBool;
  if (dtype.is_float()) return kFloat;
  return dtype.is_unsigned() ? kUnsigned : kSigned;
}

bool is_f16(DType dtype) { return dtype.scalar() == dtypes::float16; }
bool is_bf16(DType dtype) { return dtype.scalar() == dtypes::bfloat16; }

/// Whether an expression is a name: only a name has neither operator nor parenthesis.
bool is_word(std::string_view text) { return text.find_first_of("()[]-~^&|*+") == std::string_view::npos; }

/// Whether all lanes are 0: -0 is not.
bool is_zero(UOp u) {
  if (u.op() == UOps::CONST) return u.constant().bits() == 0;
  return u.op() == UOps::VECTORIZE && std::all_of(u.src().begin(), u.src().end(), is_zero);
}

std::string largest(int bits) {
  return message(std::to_string((std::uint64_t{1} << (bits - 1)) - 1), bits == 64 ? "ll" : "");
}

}  // namespace

int GnuVectors::bits(DType dtype) const { return dtype.is_float() ? std::max(32, dtype.bits()) : dtype.bits(); }

std::string GnuVectors::unsigned_type(DType dtype) {
  const int wide = bits(dtype);
  const DType scalar = wide == 8    ? dtypes::uint8
                       : wide == 16 ? dtypes::uint16
                       : wide == 32 ? dtypes::uint32
                                    : dtypes::uint64;
  return w_.vector_type(scalar, dtype.lanes());
}

std::string GnuVectors::converted(const std::string& text, const std::string& type) const {
  return message("__builtin_convertvector(", text, ", ", type, ")");
}

std::string GnuVectors::variable(const std::string& type, const std::string& text) {
  return w_.declare(type, "t", text);
}

/// A mask of the lanes that are NaN, by their bits, because compilers warn about `x != x` on vectors.
std::string GnuVectors::is_nan(DType dtype, const std::string& text) {
  const std::string i = mask_type(dtype);
  const std::string infinity = bits(dtype) == 64 ? "9218868437227405312ll" : "2139095040";
  return message("((", i, ")(((", i, ")", text, "&", largest(bits(dtype)), ")>", infinity, "))");
}

std::string GnuVectors::mask(UOp u, int bits) {
  const int lanes = u.dtype().lanes();
  const std::string text = w_.text(u);
  return w_.mask_bits(u) == bits ? text : converted(text, w_.mask_type(lanes, bits));
}

std::string GnuVectors::any(UOp u) { return lanes_joined(u, "|", "!=0"); }
std::string GnuVectors::all(UOp u) { return lanes_joined(u, "&", "==-1"); }

/// The lanes of a mask, all of their bits joined by an operator into one integer, which is compared.
std::string GnuVectors::lanes_joined(UOp u, const char* by, const char* against) {
  const int bits = w_.mask_bits(u), lanes = u.dtype().lanes(), bytes = bits * lanes / 8;
  const std::string mask = w_.text(u);
  if (bytes <= 8) {
    const DType whole = bytes == 2 ? dtypes::int16 : bytes == 4 ? dtypes::int32 : dtypes::int64;
    return message("((", memory_type(w_.language(), whole), ")", mask, against, ")");
  }
  const std::string type = w_.vector_type(dtypes::int64, bytes / 8),
                    words = variable(type, message("(", type, ")", mask));
  std::string out;
  for (int k = 0; k < bytes / 8; ++k) out += message(k == 0 ? "((" : by, words, "[", std::to_string(k), "]");
  return message(out, ")", against, ")");
}

std::string GnuVectors::choose(DType dtype, const std::string& mask, const std::string& yes, const std::string& no) {
  const std::string i = mask_type(dtype), m = is_word(mask) ? mask : variable(i, mask);
  return message("((", w_.native_type(dtype), ")((", m, "&(", i, ")", yes, ")|(~", m, "&(", i, ")", no, ")))");
}

void GnuVectors::value(UOp u) {
  switch (u.op()) {
    case UOps::ALU: return alu(u);
    case UOps::CAST: return cast(u);
    case UOps::BITCAST: return bitcast(u);
    default: return vectorize(u);
  }
}

void GnuVectors::alu(UOp u) {
  const Ops op = u.alu();
  const bool compares = row(op).typing == OpTyping::compare;
  if (op == Ops::WHERE) return where(u);
  if (u.src(0).dtype().is_bool()) return logic(u);
  if (compares) return compare(u);
  if (op == Ops::MAX || op == Ops::MIN) return extreme(u);
  if (op == Ops::SHL || op == Ops::SHR) return shift(u);
  if (!try_row(u)) by_lanes(u);
}

bool GnuVectors::try_row(UOp u) {
  const DType dtype = u.dtype();
  const std::uint8_t on = lane_class(dtype);
  const auto* found = std::find_if(std::begin(kVectorRows), std::end(kVectorRows),
                                   [&](const OpText& r) { return r.op == u.alu() && (r.on & on) != 0; });
  if (found == std::end(kVectorRows)) return false;
  std::string text = fill(found->text, [&](char c) -> std::string {
    switch (c) {
      case 'T': return w_.native_type(dtype);
      case 'U': return unsigned_type(dtype);
      case 'I': return mask_type(dtype);
      case 'H': return largest(bits(dtype));
      case '1': return bits(dtype) == 64 ? "1.0" : "1.0f";
      case 'a': return u.alu() == Ops::ABS ? w_.simple(u.src(0)) : w_.text(u.src(0));
      default: return w_.text(u.src(static_cast<std::size_t>(c - 'a')));
    }
  });
  w_.value(u, needs_rounding(u.alu()) ? rounded(dtype, text) : text);
  return true;
}

void GnuVectors::logic(UOp u) {
  const bool known = Writer::is_known(u.src(0)) && u.src().size() > 1;
  const int wide = w_.mask_bits(u.src(known ? 1 : 0));
  std::string a = mask(u.src(0), wide);
  const std::string b = u.src().size() > 1 ? mask(u.src(1), wide) : std::string();
  const auto text = [&]() -> std::string {
    switch (u.alu()) {
      case Ops::NOT: return message("(~", a, ")");
      case Ops::AND:
      case Ops::MUL:
      case Ops::MIN: return message("(", a, "&", b, ")");
      case Ops::OR:
      case Ops::ADD:
      case Ops::MAX: return message("(", a, "|", b, ")");
      case Ops::XOR:
      case Ops::CMPNE: return message("(", a, "^", b, ")");
      case Ops::CMPEQ: return message("(~(", a, "^", b, "))");
      case Ops::CMPLT: return message("(~", a, "&", b, ")");
      default: return a;
    }
  };
  w_.value(u, text(), wide);
}

void GnuVectors::compare(UOp u) {
  const DType dtype = u.src(0).dtype();
  const std::string_view sign = u.alu() == Ops::CMPLT ? "<" : u.alu() == Ops::CMPEQ ? "==" : "!=";
  const std::string a = w_.text(u.src(0)), b = w_.text(u.src(1));
  if (a == b && dtype.is_float()) {
    const std::string nan = is_nan(dtype, a);
    return w_.value(u, u.alu() == Ops::CMPNE ? nan : message("(~", nan, ")"), bits(dtype));
  }
  if (a == b) {
    const std::string_view test = u.alu() == Ops::CMPEQ ? "==" : "!=";
    return w_.value(u, message("((", mask_type(dtype), ")((", a, "^", b, ")", test, "0))"), bits(dtype));
  }
  w_.value(u, message("((", mask_type(dtype), ")(", a, sign, b, "))"), bits(dtype));
}

void GnuVectors::where(UOp u) {
  const DType dtype = u.dtype();
  if (!dtype.is_bool()) {
    const std::string m = mask(u.src(0), bits(dtype));
    const std::string yes = w_.text(u.src(1)), no = w_.text(u.src(2));
    return w_.value(u, choose(dtype, m, yes, no));
  }
  const int wide = w_.mask_bits(u.src(1));
  const std::string m = variable(w_.mask_type(dtype.lanes(), wide), mask(u.src(0), wide));
  const std::string yes = mask(u.src(1), wide), no = mask(u.src(2), wide);
  w_.value(u, message("((", m, "&", yes, ")|(~", m, "&", no, "))"), wide);
}

/// MAX and MIN. A NaN in either operand gives NaN. If the second operand is a constant, one comparison is enough: `c >
/// a ? c : a`.
void GnuVectors::extreme(UOp u) {
  const DType dtype = u.dtype();
  const std::string_view sign = u.alu() == Ops::MAX ? ">" : "<";
  const auto real = [](UOp s) { return s.op() == UOps::CONST && !s.constant().is_nan(); };
  const bool left = real(u.src(0)) && !real(u.src(1));
  const UOp first = u.src(left ? 1 : 0), second = u.src(left ? 0 : 1);
  const std::string a = w_.simple(first), b = w_.simple(second), i = mask_type(dtype);
  if (a == b) return w_.value(u, a);
  if (dtype.is_float() && !real(second)) {
    const std::string m = message("((", i, ")(", a, sign, b, ")|", is_nan(dtype, a), ")");
    return w_.value(u, choose(dtype, m, a, b));
  }
  w_.value(u, choose(dtype, message("((", i, ")(", b, sign, a, "))"), b, a));
}

void GnuVectors::shift(UOp u) {
  const DType dtype = u.dtype();
  const bool left = u.alu() == Ops::SHL;
  const std::string t = w_.native_type(dtype), wide = unsigned_type(dtype), i = mask_type(dtype);
  const std::string most = std::to_string(bits(dtype) - 1);
  const std::string from = message("((", left ? wide : t, ")", w_.text(u.src(0)), left ? "<<" : ">>");
  if (u.src(1).op() == UOps::CONST) {
    const std::uint64_t last = static_cast<std::uint64_t>(bits(dtype) - 1);
    const std::string count = std::to_string(std::min(last, u.src(1).constant().bits()));
    return w_.value(u, message("((", t, ")", from, count, "))"));
  }
  const std::string count = variable(wide, message("(", wide, ")", w_.simple(u.src(1))));
  const std::string in_width = variable(i, message("((", i, ")(", count, "<=", most, "))"));
  const std::string kept = message("(", t, ")(", count, "&(", wide, ")", in_width, ")");
  if (left || dtype.is_unsigned()) {
    const std::string moved = message("((", t, ")", from, "(", left ? wide : t, ")", kept, "))");
    return w_.value(u, message("((", t, ")((", i, ")", moved, "&", in_width, "))"));
  }
  w_.value(u, message(from, "(", kept, "|(", t, ")(~", in_width, "&", most, ")))"));
}

void GnuVectors::vectorize(UOp u) {
  const bool boolean = u.dtype().is_bool();
  std::string all;
  const DType listed = boolean ? dtypes::int8 : u.dtype();
  for (const UOp s : u.src())
    all += message(all.empty() ? "" : ",", w_.listed(listed, message(boolean ? "-" : "", w_.text(s))));
  const std::string type = w_.value_type_of(u, 8);
  w_.value(u, message("(", type, "){", all, "}"), boolean ? 8 : 0);
}

/// Computes the op lane by lane with the scalar rows. @pre not of bool
void GnuVectors::by_lanes(UOp u) {
  for (const UOp s : u.src())
    if (!Writer::is_known(s)) w_.simple(s);
  std::string all;
  for (int k = 0; k < u.dtype().lanes(); ++k) {
    const Operands lanes = [&](std::size_t n, bool) { return w_.lane(u.src(n), k); };
    all += message(k == 0 ? "" : ",", w_.listed(u.dtype(), element(w_, u, lanes)));
  }
  w_.value(u, message("(", w_.native_type(u.dtype()), "){", all, "}"));
}

void GnuVectors::cast(UOp u) {
  const DType from = u.src(0).dtype(), to = u.dtype();
  if (to.is_bool()) {
    const std::string a = w_.text(u.src(0));
    if (from.is_bool()) return w_.value(u, a, w_.mask_bits(u.src(0)));
    return w_.value(u, message("((", mask_type(from), ")(", a, "!=0))"), bits(from));
  }
  if (from.is_bool()) return from_bool(u);
  if (is_f16(to)) return to_float16(u);
  if (is_bf16(to)) return to_bfloat16(u);
  if (from.is_float() && to.is_int()) return to_integer(u);
  const std::string type = w_.native_type(to), text = w_.text(u.src(0));
  w_.value(u, w_.native_type(from) == type ? text : converted(text, type));
}

void GnuVectors::from_bool(UOp u) {
  const DType to = u.dtype();
  const std::string m = mask(u.src(0), bits(to));
  const std::string one = !to.is_float() ? "1" : bits(to) == 64 ? "4607182418800017408ll" : "1065353216";
  w_.value(u, message("((", w_.native_type(to), ")(", m, "&", one, "))"));
}

void GnuVectors::to_float16(UOp u) {
  const DType from = u.src(0).dtype();
  std::string text = w_.text(u.src(0));
  if (from.is_int()) {
    const std::string real = w_.vector_type(dtypes::float32, from.lanes());
    text = converted(text, real);
    if (from.bits() >= 32) text = message("strata_vhide(", variable(real, text), ")");
  }
  w_.value(u, rounded(u.dtype(), text));
}

void GnuVectors::to_bfloat16(UOp u) {
  const DType from = u.src(0).dtype();
  if (bits(from) > (from.is_float() ? 32 : 16)) return by_lanes(u);
  std::string text = w_.text(u.src(0));
  if (from.is_int()) text = converted(text, w_.vector_type(dtypes::float32, from.lanes()));
  w_.value(u, rounded(u.dtype(), text));
}

/// A float to a signed integer of the same width: lanes within the range are converted, others saturate, NaN gives 0.
void GnuVectors::to_integer(UOp u) {
  const DType from = u.src(0).dtype(), to = u.dtype();
  if (!to.is_signed_int() || bits(from) != to.bits()) return by_lanes(u);
  const std::string i = w_.native_type(to), f = w_.native_type(from), a = w_.simple(u.src(0));
  const DType real = bits(from) == 64 ? dtypes::float64 : dtypes::float32;
  const double end = std::ldexp(1, to.bits() - 1);
  const std::string least = w_.constant(Scalar::of(real, -end));
  const std::string most = w_.constant(Scalar::of(real, end));
  const std::string above = variable(i, message("(", i, ")(", a, ">=", most, ")"));
  const std::string inside = variable(i, message("(", i, ")(", a, ">", least, ")&~", above));
  const std::string number = converted(message("((", f, ")(", inside, "&(", i, ")", a, "))"), i);
  const std::string below = message("((", i, ")(", a, "<=", least, ")&~", largest(to.bits()), ")");
  w_.value(u, message("((", inside, "&", number, ")|(", above, "&", largest(to.bits()), ")|", below, ")"));
}

void GnuVectors::bitcast(UOp u) {
  const DType from = u.src(0).dtype(), to = u.dtype();
  if (from.is_bool() || to.is_bool()) return cast(u);
  if (from.bits() == 16) return by_lanes(u);
  w_.value(u, message("((", w_.native_type(to), ")", w_.text(u.src(0)), ")"));
}

std::string GnuVectors::rounded(DType dtype, const std::string& text) {
  const int lanes = dtype.lanes();
  if (is_bf16(dtype)) return round_bfloat16(lanes, text);
  if (!is_f16(dtype)) return text;
  return converted(converted(text, w_.vector_type(dtypes::float16, lanes)), w_.native_type(dtype));
}

std::string GnuVectors::round_bfloat16(int lanes, const std::string& text) {
  const std::string f = w_.vector_type(dtypes::float32, lanes);
  const std::string u = w_.vector_type(dtypes::uint32, lanes);
  const std::string x = variable(f, text);
  const std::string nan = variable(u, message("(", u, ")", is_nan(dtypes::float32.vec(lanes), x)));
  const std::string b = variable(u, message("(", u, ")", x));
  const std::string to_even = message("((", b, "+32767u+(", b, ">>16&1u))&4294901760u)");
  return message("((", f, ")((~", nan, "&", to_even, ")|(", nan, "&2143289344u)))");
}

namespace {

DType stored_as(DType dtype) {
  if (is_bf16(dtype)) return dtypes::uint16;
  return dtype.is_bool() ? dtypes::int8 : dtype.scalar();
}

}  // namespace

std::string GnuVectors::load(DType dtype, const std::string& pointer, const std::string& index) {
  const int lanes = dtype.lanes();
  const std::string type = w_.vector_type(stored_as(dtype), lanes, true);
  std::string text = message("*(const ", type, "*)(", pointer, "+", index, ")");
  if (dtype.is_bool()) return message("(", w_.vector_type(dtypes::int8, lanes), ")(", text, "!=0)");
  if (is_f16(dtype)) return converted(text, w_.native_type(dtype));
  if (!is_bf16(dtype)) return text;
  const std::string wide = converted(text, w_.vector_type(dtypes::uint32, lanes));
  return message("((", w_.native_type(dtype), ")(", wide, "<<16))");
}

bool GnuVectors::can_mask(UOp access) const {
  const bool is_load = access.op() == UOps::LOAD;
  const DType dtype = is_load ? access.dtype() : access.src(2).dtype();
  const std::size_t lane = dtype.scalar().itemsize(), bytes = lane * static_cast<std::size_t>(dtype.lanes());
  const std::size_t gate = is_load ? 2 : 3;
  return w_.language().masks && (lane == 4 || lane == 8) && (bytes == 32 || bytes == 64) &&
         gate < access.src().size() && access.src(gate).dtype().is_vector() && (!is_load || is_zero(access.src(3)));
}

/// The name of the helper and its first arguments: names, because the helper is a macro that repeats them.
std::string GnuVectors::masked(UOp access, DType dtype, UOp gates) {
  const std::string pointer = w_.simple(access.src(0)), index = w_.simple(access.src(1));
  const std::string open = mask(gates, bits(dtype)), size = message(std::to_string(bits(dtype)), "x", dtype.lanes());
  return message("strata_masked_", size, access.op() == UOps::LOAD ? "_load(" : "_store(", pointer, ", ", index, ", ",
                 is_word(open) ? open : variable(mask_type(dtype), open));
}
std::string GnuVectors::masked_load(UOp load) { return message(masked(load, load.dtype(), load.src(2)), ")"); }
std::string GnuVectors::masked_store(UOp store) {
  const UOp value = store.src(2);
  return message(masked(store, value.dtype(), store.src(3)), ", ", w_.simple(value), ");");
}

/// The value as a vector of the elements in memory.
std::string GnuVectors::in_memory(UOp value, DType stored) {
  const DType dtype = value.dtype();
  const int lanes = dtype.lanes();
  std::string text = dtype.is_bool() ? message("-", mask(value, 8)) : w_.text(value);
  if (is_f16(dtype)) return converted(text, w_.vector_type(stored, lanes));
  if (!is_bf16(dtype)) return text;
  const std::string bits = message("(((", w_.vector_type(dtypes::uint32, lanes), ")", text, ")>>16)");
  return converted(bits, w_.vector_type(stored, lanes));
}

std::string GnuVectors::store(UOp value, const std::string& pointer, const std::string& index) {
  const DType stored = stored_as(value.dtype());
  const std::string type = w_.vector_type(stored, value.dtype().lanes(), true);
  const std::string text = in_memory(value, stored);
  return message("*(", type, "*)(", pointer, "+", index, ") = ", text, ";");
}

std::string GnuVectors::stream(UOp value, const std::string& pointer, const std::string& index, std::int64_t bytes) {
  const DType stored = stored_as(value.dtype());
  const int lanes = value.dtype().lanes();
  const std::string to = message("(", w_.vector_type(stored, lanes, true), "*)(", pointer, "+", index, ")");
  const std::string text = variable(w_.vector_type(stored, lanes), in_memory(value, stored));
  const std::string size = std::to_string(bytes);
  return message("if ((__UINTPTR_TYPE__)", pointer, "%", size, " == 0) strata_stream", size, "(", to, ", ", text,
                 "); else *", to, " = ", text, ";");
}

}  // namespace strata::rendering
