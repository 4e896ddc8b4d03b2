#include "strata/render/llvm_ops.h"

#include <algorithm>

#include "strata/render/usage.h"

namespace strata::rendering {

namespace {

/// The instruction of an op for each kind of operand, or, after "@", the intrinsic. Empty: not possible, or several
/// instructions.
struct LlvmOpText {
  Ops op;
  std::string_view sint, uint, floating, boolean;
};

// clang-format off
constexpr LlvmOpText kLlvmOps[] = {
  {Ops::ADD,   "add",       "add",       "fadd",       "or"},
  {Ops::SUB,   "sub",       "sub",       "fsub",       ""},
  {Ops::MUL,   "mul",       "mul",       "fmul",       "and"},
  {Ops::DIV,   "",          "",          "fdiv",       ""},
  {Ops::IDIV,  "sdiv",      "udiv",      "",           ""},
  {Ops::MOD,   "srem",      "urem",      "",           ""},
  {Ops::AND,   "and",       "and",       "",           "and"},
  {Ops::OR,    "or",        "or",        "",           "or"},
  {Ops::XOR,   "xor",       "xor",       "",           "xor"},
  {Ops::MAX,   "@smax",     "@umax",     "",           "or"},
  {Ops::MIN,   "@smin",     "@umin",     "",           "and"},
  {Ops::CMPLT, "icmp slt",  "icmp ult",  "fcmp olt",   "icmp ult"},
  {Ops::CMPEQ, "icmp eq",   "icmp eq",   "fcmp oeq",   "icmp eq"},
  {Ops::CMPNE, "icmp ne",   "icmp ne",   "fcmp une",   "icmp ne"},
  {Ops::ABS,   "",          "",          "@fabs",      ""},
  {Ops::SQRT,  "",          "",          "@sqrt",      ""},
  {Ops::TRUNC, "",          "",          "@trunc",     ""},
  {Ops::FLOOR, "",          "",          "@floor",     ""},
  {Ops::CEIL,  "",          "",          "@ceil",      ""},
  {Ops::ROUND, "",          "",          "@roundeven", ""},
};
// clang-format on

std::string_view text_of(Ops op, DType dtype) {
  const auto* const found = std::ranges::find(kLlvmOps, op, &LlvmOpText::op);
  if (found == std::end(kLlvmOps)) return {};
  switch (dtype.kind()) {
    case DTypeKind::sint: return found->sint;
    case DTypeKind::uint: return found->uint;
    case DTypeKind::floating: return found->floating;
    case DTypeKind::boolean: return found->boolean;
  }
  return {};
}

/// Whether the op takes more than one instruction, or an instruction that depends on more than the kind of the
/// operands.
bool is_special(Ops op, DType dtype) {
  switch (op) {
    case Ops::NOOP:
    case Ops::WHERE: return true;
    case Ops::NOT: return !dtype.is_float();
    case Ops::NEG:
    case Ops::MULACC: return !dtype.is_bool();
    case Ops::DOT4: return dtype.scalar() == dtypes::int32;
    case Ops::DOT2: return dtype.scalar() == dtypes::float32;
    case Ops::ABS: return dtype.is_int();
    case Ops::MAX:
    case Ops::MIN:
    case Ops::RECIP: return dtype.is_float();
    case Ops::SHL:
    case Ops::SHR: return dtype.is_int();
    default: return false;
  }
}

bool is_narrow(DType dtype) { return dtype.scalar() == dtypes::float16 || dtype.scalar() == dtypes::bfloat16; }

std::string integer(DType dtype, std::int64_t v) { return llvm_constant(dtype, Scalar::of(dtype.scalar(), v)); }
std::string number(DType dtype, double v) { return llvm_constant(dtype, Scalar::of(dtype.scalar(), v)); }

/// Whether no lane of `u` can be NaN; false if unknown.
bool never_nan(UOp u) {
  if (u.op() == UOps::CONST) return !u.constant().is_nan();
  return u.op() == UOps::CAST && !u.src(0).dtype().is_float();
}

std::string sub_name(std::string_view name, std::string_view part) { return detail::message(name, ".", part); }

}  // namespace

LlvmOps::LlvmOps(LlvmText& text, const LlvmOptions& options)
    : LlvmTypes(options.lacks.halves),
      text_(text),
      flags_(detail::message(options.reassociate ? "reassoc " : "", options.contract ? "contract " : "")),
      exact_mulacc_(options.exact_mulacc),
      lacks_(options.lacks) {}

std::string LlvmOps::alu(std::string_view name, UOp u, std::span<const std::string> v, bool is_index) {
  const DType dtype = u.src().back().dtype();
  STRATA_CHECK(llvm_has(u.alu(), dtype), domain, "[uops_to_llvm] ", spec_name(u.alu()), " of ", dtype.name(),
               " is not an instruction: decompose the op first");
  const std::string type = llvm_type(dtype);
  if (u.alu() == Ops::NOOP) return v[0];
  if (u.alu() == Ops::WHERE) {
    const auto select = [&](std::string_view to) {
      return text_.define(to, "select ", llvm_type(u.src(0).dtype()), " ", v[0], ", ", type, " ", v[1], ", ", type, " ",
                          v[2]);
    };
    if (!may_be_absolute(u)) return select(name);
    return hidden(name, dtype, select(sub_name(name, "where")));
  }
  return is_narrow(dtype) ? narrow_alu(name, u, v) : arithmetic(name, u, dtype, v, is_index);
}

/// The instruction of `u`. `dtype` is the dtype in which it is computed: f32 for f16 and bf16.
std::string LlvmOps::arithmetic(std::string_view name, UOp u, DType dtype, std::span<const std::string> v,
                                bool is_index) {
  const Ops op = u.alu();
  const std::string type = llvm_type(dtype);
  const std::string_view flags = dtype.is_float() ? std::string_view(flags_) : std::string_view();
  const std::string_view text = text_of(op, dtype);
  if (op == Ops::ABS && dtype.is_float())
    return hidden(
        name, dtype,
        text_.call(sub_name(name, "abs"), type, detail::message("llvm.fabs.", llvm_suffix(dtype)), {{type, v[0]}}));
  if (op == Ops::SQRT && (dtype.scalar() == dtypes::float32 ? lacks_.sqrt_f32 : lacks_.sqrt_f64))
    return root(name, dtype, v[0]);
  if (lacks_.roundings && (op == Ops::TRUNC || op == Ops::FLOOR || op == Ops::CEIL || op == Ops::ROUND))
    return rounding(name, op, dtype, v[0]);
  if (!text.empty() && text[0] == '@') {
    const std::string function = detail::message("llvm.", text.substr(1), ".", llvm_suffix(dtype));
    if (v.size() == 1) return text_.call(name, type, function, {{type, v[0]}});
    return text_.call(name, type, function, {{type, v[0]}, {type, v[1]}});
  }
  if (!text.empty()) {
    const bool sums = op == Ops::ADD || op == Ops::SUB || op == Ops::MUL;
    const std::string_view wraps = is_index && sums && dtype.is_signed_int() ? "nsw " : "";
    const std::string_view flagged = sums || op == Ops::DIV ? flags : "";
    return text_.define(name, text, " ", wraps, flagged, type, " ", v[0], ", ", v[1]);
  }
  switch (op) {
    case Ops::NEG:
      return dtype.is_float() ? text_.define(name, "fneg ", type, " ", v[0])
                              : text_.define(name, "sub ", type, " ", integer(dtype, 0), ", ", v[0]);
    case Ops::NOT: return text_.define(name, "xor ", type, " ", v[0], ", ", integer(dtype, -1));
    case Ops::RECIP: return text_.define(name, "fdiv ", flags, type, " ", number(dtype, 1), ", ", v[0]);
    case Ops::ABS:
      if (dtype.is_unsigned()) return v[0];
      return text_.call(name, type, detail::message("llvm.abs.", llvm_suffix(dtype)), {{type, v[0]}, {"i1", "false"}});
    case Ops::SHL:
    case Ops::SHR: return shift(name, u, v);
    case Ops::MULACC: return mulacc(name, dtype, v);
    case Ops::DOT4:
    case Ops::DOT2: return dot(name, u, v);
    default: return extreme(name, u, dtype, v);
  }
}

/// An arithmetic fence around a float that may be an absolute value, or that was an integer and becomes f16: it hides
/// the value from LLVM. NOTE: for a = fabs(x), LLVM 19 (InstCombine) rewrites `a > 0 || isnan(a)`, the conditions of
/// `isnan(a) ? a : a > 0 ? a : 0`, to
/// `!(x <= 0)`, which is wrong for negative x. f16 and bf16 need no fence: they are compared after conversion to f32.
std::string LlvmOps::hidden(std::string_view name, DType dtype, const std::string& v) {
  if (is_narrow(dtype)) return v;
  const std::string type = llvm_type(dtype);
  return text_.call(name, type, detail::message("llvm.arithmetic.fence.", llvm_suffix(dtype)), {{type, v}});
}

/// An op on f16 or bf16: computed in f32, then rounded.
std::string LlvmOps::narrow_alu(std::string_view name, UOp u, std::span<const std::string> v) {
  const DType wide = with_lanes(dtypes::float32, u.src().back().dtype());
  std::string widened[3];
  for (std::size_t k = 0; k < v.size(); ++k) {
    const UOp operand = u.src(k);
    if (operand.op() == UOps::CONST)
      widened[k] = llvm_constant(wide, operand.constant().cast(dtypes::float32));
    else
      widened[k] = widen(detail::message(name, ".in", k), operand.dtype(), v[k]);
  }
  const std::span<const std::string> operands(widened, v.size());
  if (!is_narrow(u.dtype())) return arithmetic(name, u, wide, operands, false);
  return narrow(name, u.dtype(), arithmetic(sub_name(name, "f32"), u, wide, operands, false));
}

/// MAX and MIN of floats; a NaN in either operand gives NaN. A comparison with NaN is false and selects the second
/// operand. So if one operand is never NaN, one comparison is enough, with that operand first; most machines have an
/// instruction for this.
std::string LlvmOps::extreme(std::string_view name, UOp u, DType dtype, std::span<const std::string> v) {
  const std::string type = llvm_type(dtype), bits = llvm_type(with_lanes(dtypes::boolean, dtype));
  const std::string_view order = u.alu() == Ops::MAX ? "fcmp ogt " : "fcmp olt ";
  const auto first_if = [&](std::string_view to, const std::string& a, const std::string& b) {
    const std::string wins = text_.define(sub_name(to, "wins"), order, type, " ", a, ", ", b);
    return text_.define(to, "select ", bits, " ", wins, ", ", type, " ", a, ", ", type, " ", b);
  };
  if (never_nan(u.src(0))) return first_if(name, v[0], v[1]);
  if (never_nan(u.src(1))) return first_if(name, v[1], v[0]);
  const std::string ordered = first_if(sub_name(name, "ordered"), v[0], v[1]);
  const std::string is_nan = text_.define(sub_name(name, "nan"), "fcmp uno ", type, " ", v[0], ", ", v[0]);
  return text_.define(name, "select ", bits, " ", is_nan, ", ", type, " ", v[0], ", ", type, " ", ordered);
}

/// SHL and SHR. LLVM's shifts by the width or more are poison, so larger counts are handled separately.
std::string LlvmOps::shift(std::string_view name, UOp u, std::span<const std::string> v) {
  const DType dtype = u.dtype();
  const std::string type = llvm_type(dtype);
  const bool left = u.alu() == Ops::SHL, arithmetic = !left && dtype.is_signed_int();
  const std::string_view text = left ? "shl " : arithmetic ? "ashr " : "lshr ";
  const auto width = static_cast<std::uint64_t>(dtype.bits());
  if (u.src(1).op() == UOps::CONST && u.src(1).constant().bits() < width)
    return text_.define(name, text, type, " ", v[0], ", ", v[1]);
  if (arithmetic) {
    const std::string count =
        text_.call(sub_name(name, "count"), type, detail::message("llvm.umin.", llvm_suffix(dtype)),
                   {{type, v[1]}, {type, integer(dtype, dtype.bits() - 1)}});
    return text_.define(name, text, type, " ", v[0], ", ", count);
  }
  const std::string fits =
      text_.define(sub_name(name, "fits"), "icmp ult ", type, " ", v[1], ", ", integer(dtype, dtype.bits()));
  const std::string shifted = text_.define(sub_name(name, "bits"), text, type, " ", v[0], ", ", v[1]);
  return text_.define(name, "select ", llvm_type(with_lanes(dtypes::boolean, dtype)), " ", fits, ", ", type, " ",
                      shifted, ", ", type, " ", integer(dtype, 0));
}

std::string LlvmOps::mulacc(std::string_view name, DType dtype, std::span<const std::string> v) {
  const std::string type = llvm_type(dtype);
  if (dtype.is_float()) {
    const std::string_view function = exact_mulacc_ ? "llvm.fma." : "llvm.fmuladd.";
    return text_.call(name, type, detail::message(function, llvm_suffix(dtype)),
                      {{type, v[0]}, {type, v[1]}, {type, v[2]}}, flags_);
  }
  const std::string product = text_.define(sub_name(name, "product"), "mul ", type, " ", v[0], ", ", v[1]);
  return text_.define(name, "add ", type, " ", product, ", ", v[2]);
}

/// Lane k of the result: lane mask[k] of `a`, and of `b` from lanes of `a` on; not set for -1.
std::string LlvmOps::shuffle(std::string_view name, DType dtype, const std::string& a, const std::string& b,
                             std::span<const int> mask) {
  std::string lanes;
  for (const int lane : mask)
    lanes += detail::message(lanes.empty() ? "" : ", ", lane < 0 ? "i32 poison" : detail::message("i32 ", lane));
  const std::string type = llvm_type(dtype);
  return text_.define(name, "shufflevector ", type, " ", a, ", ", type, " ", b, ", <", mask.size(), " x i32> <", lanes,
                      ">");
}

/// DOT4 and DOT2 by the instructions vpdpbusd and vdpbf16ps of x86-64, which have 4, 8 or 16 lanes. Another number of
/// lanes is computed in such parts, of which some lanes are not set.
std::string LlvmOps::dot(std::string_view name, UOp u, std::span<const std::string> v) {
  const DType dtype = u.dtype();
  const int lanes = dtype.lanes(), whole = lanes <= 4 ? 4 : lanes <= 8 ? 8 : 16;
  const DType part = dtype.scalar().vec(whole);
  const std::string type = llvm_type(part), words = llvm_type(dtypes::int32.vec(whole));
  const std::string_view of = u.alu() == Ops::DOT4 ? "avx512.vpdpbusd." : "avx512bf16.dpbf16ps.";
  const std::string function = detail::message("llvm.x86.", of, whole * 32);
  const auto call = [&](std::string_view to, std::span<const std::string> on) {
    return text_.call(to, type, function, {{type, on[2]}, {words, on[0]}, {words, on[1]}});
  };
  if (lanes == whole) return call(name, v);
  std::string out;
  for (int begin = 0; begin < lanes; begin += whole) {
    const std::string path = detail::message(name, ".from", begin);
    std::vector<int> into, back(static_cast<std::size_t>(begin), -1);
    for (int k = 0; k < whole; ++k) into.push_back(begin + k < lanes ? begin + k : -1);
    for (int k = 0; k < whole && begin + k < lanes; ++k) back.push_back(k);
    back.resize(static_cast<std::size_t>(lanes), -1);
    std::string operands[3];
    for (std::size_t k = 0; k < 3; ++k) {
      const std::string to = detail::message(path, ".in", k);
      const DType own = u.src(k).dtype();
      operands[k] = lanes == 1 ? text_.define(to, "insertelement ", llvm_type(own.scalar().vec(whole)), " poison, ",
                                              llvm_type(own), " ", v[k], ", i64 0")
                               : shuffle(to, own, v[k], "poison", into);
    }
    const std::string sum = call(sub_name(path, "sum"), operands);
    if (lanes == 1) return text_.define(name, "extractelement ", type, " ", sum, ", i64 0");
    if (lanes < whole) return shuffle(name, part, sum, "poison", back);
    const std::string spread = shuffle(sub_name(path, "all"), part, sum, "poison", back);
    if (begin == 0) {
      out = spread;
      continue;
    }
    std::vector<int> both;
    for (int k = 0; k < std::min(begin + whole, lanes); ++k) both.push_back(k < begin ? k : lanes + k);
    both.resize(static_cast<std::size_t>(lanes), -1);
    out = shuffle(begin + whole < lanes ? sub_name(path, "both") : std::string(name), dtype, out, spread, both);
  }
  return out;
}

std::string LlvmOps::any(std::string_view name, DType dtype, const std::string& v) {
  if (!dtype.is_vector()) return v;
  return text_.call(name, "i1", "llvm.vector.reduce.or." + llvm_suffix(dtype), {{llvm_type(dtype), v}});
}

std::string LlvmOps::cast(std::string_view name, DType from, DType to, const std::string& v) {
  if (from == to) return v;
  if (from.is_bool()) return from_bool(name, from, to, v);
  if (to.is_bool()) return to_bool(name, from, v);
  if (from.is_float()) return to.is_float() ? float_to_float(name, from, to, v) : float_to_int(name, from, to, v);
  return to.is_float() ? int_to_float(name, from, to, v) : int_to_int(name, from, to, v);
}

std::string LlvmOps::bitcast(std::string_view name, DType from, DType to, const std::string& v) {
  if (from.is_bool() != to.is_bool()) return cast(name, from, to, v);
  const std::string before = llvm_type(from), after = llvm_type(to);
  const auto convert = [&](std::string_view as) { return text_.define(as, "bitcast ", before, " ", v, " to ", after); };
  if (before == after) return v;
  return to.is_float() ? hidden(name, to, convert(sub_name(name, "bits"))) : convert(name);
}

std::string LlvmOps::from_bool(std::string_view name, DType from, DType to, const std::string& v) {
  const std::string type = llvm_type(to);
  if (!to.is_float()) return text_.define(name, "zext ", llvm_type(from), " ", v, " to ", type);
  const auto constant = [&](double x) { return llvm_constant(to, Scalar::of(to.scalar(), x)); };
  return text_.define(name, "select ", llvm_type(from), " ", v, ", ", type, " ", constant(1), ", ", type, " ",
                      constant(0));
}

/// v != 0; true for NaN.
std::string LlvmOps::to_bool(std::string_view name, DType from, const std::string& v) {
  if (from.scalar() == dtypes::bfloat16 || (lacks_.halves && from.scalar() == dtypes::float16))
    return to_bool(name, with_lanes(dtypes::float32, from), widen(sub_name(name, "f32"), from, v));
  const std::string type = llvm_type(from);
  return from.is_float() ? text_.define(name, "fcmp une ", type, " ", v, ", ", number(from, 0))
                         : text_.define(name, "icmp ne ", type, " ", v, ", ", integer(from, 0));
}

std::string LlvmOps::int_to_int(std::string_view name, DType from, DType to, const std::string& v) {
  if (from.bits() == to.bits()) return v;
  const std::string_view text = from.bits() > to.bits() ? "trunc " : from.is_signed_int() ? "sext " : "zext ";
  return text_.define(name, text, llvm_type(from), " ", v, " to ", llvm_type(to));
}

std::string LlvmOps::int_to_float(std::string_view name, DType from, DType to, const std::string& v) {
  if (to.scalar() == dtypes::bfloat16) return int_to_bf16(name, from, to, v);
  // To f16 through f32: an integer that f32 does not hold exactly exceeds the range of f16 anyway. NOTE: LLVM 19
  // (InstCombine) regards an integer with few significant bits as exact in f16, and folds f16(65536) to 65536 instead
  // of infinity.
  if (to.scalar() == dtypes::float16) {
    const DType wide = with_lanes(dtypes::float32, to);
    const std::string real = int_to_float(sub_name(name, "f32"), from, wide, v);
    return narrow(name, to, from.bits() < 32 ? real : hidden(sub_name(name, "exact"), wide, real));
  }
  return text_.define(name, from.is_signed_int() ? "sitofp " : "uitofp ", llvm_type(from), " ", v, " to ",
                      llvm_type(to));
}

/// To bf16 through f64, which holds integers of 32 bits exactly. Of a larger 64-bit integer the low 16 bits only matter
/// as zero or not zero, so they are replaced by one sticky bit; the remaining 49 bits are exact in f64.
std::string LlvmOps::int_to_bf16(std::string_view name, DType from, DType to, const std::string& v) {
  const DType wide = with_lanes(dtypes::float64, to);
  if (from.bits() < 64) return float_to_float(name, wide, to, int_to_float(sub_name(name, "f64"), from, wide, v));
  const std::string type = llvm_type(from), bits = llvm_type(with_lanes(dtypes::boolean, from));
  const auto step = [&](std::string_view part, const auto&... parts) {
    return text_.define(detail::message(name, ".int.", part), parts...);
  };
  const std::string sign =
      from.is_signed_int() ? step("sign", "ashr ", type, " ", v, ", ", integer(from, 63)) : integer(from, 0);
  const std::string size = step("size", "xor ", type, " ", v, ", ", sign);
  const std::string large = step("large", "icmp ugt ", type, " ", size, ", ", integer(from, 0xFFFFFFFF));
  const std::string low = step("low", "and ", type, " ", v, ", ", integer(from, 0xFFFF));
  const std::string lost = step("lost", "icmp ne ", type, " ", low, ", ", integer(from, 0));
  const std::string high = step("high", "xor ", type, " ", v, ", ", low);
  const std::string sticky = step("sticky", "or ", type, " ", high, ", ", integer(from, 0x8000));
  const std::string inexact = step("inexact", "and ", bits, " ", large, ", ", lost);
  const std::string exact = step("exact", "select ", bits, " ", inexact, ", ", type, " ", sticky, ", ", type, " ", v);
  return float_to_float(name, wide, to, int_to_float(sub_name(name, "f64"), from, wide, exact));
}

std::string LlvmOps::float_to_int(std::string_view name, DType from, DType to, const std::string& v) {
  if (is_narrow(from))
    return float_to_int(name, with_lanes(dtypes::float32, from), to, widen(sub_name(name, "f32"), from, v));
  if (to.is_vector() && to.scalar().bits() < 32) return float_to_small_int(name, from, to, v);
  const std::string_view function = to.is_signed_int() ? "llvm.fptosi.sat." : "llvm.fptoui.sat.";
  return text_.call(name, llvm_type(to), detail::message(function, llvm_suffix(to), ".", llvm_suffix(from)),
                    {{llvm_type(from), v}});
}

/// LLVM 19 makes one conversion a lane of the saturating intrinsic, but one instruction of `fptosi` to i32, whose
/// operands are therefore limited first. Both bounds are exact in f32.
std::string LlvmOps::float_to_small_int(std::string_view name, DType from, DType to, const std::string& v) {
  const DType whole = with_lanes(dtypes::int32, to), flag = with_lanes(dtypes::boolean, to);
  const std::string type = llvm_type(from);
  const auto constant = [&](double value) { return llvm_constant(from, Scalar::of(from.scalar(), value)); };
  const auto replaced = [&](std::string_view part, const std::string& where, const std::string& x, double by) {
    return text_.define(sub_name(name, part), "select ", llvm_type(flag), " ", where, ", ", type, " ", constant(by),
                        ", ", type, " ", x);
  };
  const auto is = [&](std::string_view part, std::string_view order, const std::string& x, const std::string& y) {
    return text_.define(sub_name(name, part), "fcmp ", order, " ", type, " ", x, ", ", y);
  };
  const double low = lowest(to.scalar()), high = highest(to.scalar());
  const std::string number = replaced("number", is("nan", "uno", v, v), v, 0);
  const std::string above = replaced("above", is("below", "olt", number, constant(low)), number, low);
  const std::string inside = replaced("inside", is("beyond", "ogt", above, constant(high)), above, high);
  const std::string bits = text_.define(sub_name(name, "i32"), "fptosi ", type, " ", inside, " to ", llvm_type(whole));
  return text_.define(name, "trunc ", llvm_type(whole), " ", bits, " to ", llvm_type(to));
}

std::string LlvmOps::float_to_float(std::string_view name, DType from, DType to, const std::string& v) {
  const DType middle = with_lanes(dtypes::float32, from);
  if (is_narrow(from) && to.scalar() != dtypes::float32)
    return float_to_float(name, middle, to, widen(sub_name(name, "f32"), from, v));
  if (is_narrow(from)) return widen(name, from, v);
  if (is_narrow(to)) return narrow(name, to, from == middle ? v : round_to_odd(name, from.lanes(), v));
  return text_.define(name, to.bits() > from.bits() ? "fpext " : "fptrunc ", llvm_type(from), " ", v, " to ",
                      llvm_type(to));
}

std::string LlvmOps::widen(std::string_view name, DType from, const std::string& v) {
  const std::string wide = llvm_type(with_lanes(dtypes::float32, from));
  if (from.scalar() == dtypes::float16 && lacks_.halves) return widen_bits(name, from, v);
  if (from.scalar() == dtypes::float16) return text_.define(name, "fpext ", llvm_type(from), " ", v, " to ", wide);
  const DType word = with_lanes(dtypes::uint32, from);
  const std::string type = llvm_type(word);
  const std::string low = text_.define(sub_name(name, "low"), "zext ", llvm_type(from), " ", v, " to ", type);
  const std::string bits = text_.define(sub_name(name, "bits"), "shl ", type, " ", low, ", ", integer(word, 16));
  return text_.define(name, "bitcast ", type, " ", bits, " to ", wide);
}

std::string LlvmOps::narrow(std::string_view name, DType to, const std::string& v) {
  if (to.scalar() == dtypes::bfloat16) return narrow_bf16(name, to, v);
  if (lacks_.halves) return narrow_bits(name, to, v);
  return text_.define(name, "fptrunc ", llvm_type(with_lanes(dtypes::float32, to)), " ", v, " to ", llvm_type(to));
}

/// f32 to bf16: the upper half of the bits, rounded to nearest even. (Processors' instructions for it treat subnormal
/// numbers as 0.)
std::string LlvmOps::narrow_bf16(std::string_view name, DType to, const std::string& v) {
  const DType word = with_lanes(dtypes::uint32, to);
  const std::string type = llvm_type(word), wide = llvm_type(with_lanes(dtypes::float32, to));
  const auto step = [&](std::string_view part, const auto&... parts) {
    return text_.define(sub_name(name, part), parts...);
  };
  const std::string bits = step("bits", "bitcast ", wide, " ", v, " to ", type);
  const std::string high = step("high", "lshr ", type, " ", bits, ", ", integer(word, 16));
  const std::string odd = step("odd", "and ", type, " ", high, ", ", integer(word, 1));
  const std::string half = step("half", "add ", type, " ", odd, ", ", integer(word, 0x7FFF));
  const std::string sum = step("sum", "add ", type, " ", bits, ", ", half);
  const std::string rounded = step("rounded", "lshr ", type, " ", sum, ", ", integer(word, 16));
  const std::string quiet = step("quiet", "or ", type, " ", high, ", ", integer(word, 0x40));
  const std::string is_nan = step("nan", "fcmp uno ", wide, " ", v, ", ", v);
  const std::string chosen = step("word", "select ", llvm_type(with_lanes(dtypes::boolean, to)), " ", is_nan, ", ",
                                  type, " ", quiet, ", ", type, " ", rounded);
  return text_.define(name, "trunc ", type, " ", chosen, " to ", llvm_type(to));
}

std::string LlvmOps::round_to_odd(std::string_view name, int lanes, const std::string& v) {
  const DType word = dtypes::uint32.vec(lanes), wide = dtypes::float64.vec(lanes);
  const std::string f32 = llvm_type(dtypes::float32.vec(lanes)), f64 = llvm_type(wide);
  const std::string type = llvm_type(word), boolean = llvm_type(dtypes::boolean.vec(lanes));
  const auto step = [&](std::string_view part, const auto&... parts) {
    return text_.define(detail::message(name, ".odd.", part), parts...);
  };
  const auto magnitude = [&](std::string_view part, const std::string& of) {
    return text_.call(detail::message(name, ".odd.", part), f64, detail::message("llvm.fabs.", llvm_suffix(wide)),
                      {{f64, of}});
  };
  const std::string nearest = step("nearest", "fptrunc ", f64, " ", v, " to ", f32);
  const std::string back = step("back", "fpext ", f32, " ", nearest, " to ", f64);
  const std::string inexact = step("inexact", "fcmp one ", f64, " ", back, ", ", v);
  const std::string size = magnitude("size", back), of = magnitude("of", v);
  const std::string below = step("below", "fcmp olt ", f64, " ", size, ", ", of);
  const std::string bits = step("bits", "bitcast ", f32, " ", nearest, " to ", type);
  const std::string last = step("last", "and ", type, " ", bits, ", ", integer(word, 1));
  const std::string even = step("even", "icmp eq ", type, " ", last, ", ", integer(word, 0));
  const std::string move = step("move", "and ", boolean, " ", inexact, ", ", even);
  const std::string by =
      step("by", "select ", boolean, " ", below, ", ", type, " ", integer(word, 1), ", ", type, " ", integer(word, -1));
  const std::string moved = step("moved", "add ", type, " ", bits, ", ", by);
  const std::string chosen = step("word", "select ", boolean, " ", move, ", ", type, " ", moved, ", ", type, " ", bits);
  return step("f32", "bitcast ", type, " ", chosen, " to ", f32);
}

}  // namespace strata::rendering

namespace strata {

bool llvm_has(Ops op, DType operand) {
  if (op == Ops::CAST || op == Ops::BITCAST) return true;
  if (operand.is_none() || operand.is_pointer()) return false;
  return rendering::is_special(op, operand) || !rendering::text_of(op, operand).empty();
}

}  // namespace strata
