// The op table as data, the names of ops, and the dtypes of results.
#include "strata/ir/ops.h"

#include <algorithm>
#include <array>

#include "strata/base/check.h"

namespace strata {
namespace {

constexpr OpRow kOpRows[] = {
#define STRATA_OP(id, group, name, arity, typing, commutes, text) \
  {#name, text, Ops::id, OpGroup::group, arity, OpTyping::typing, (commutes) != 0},
#include "strata/ir/ops.def"
};

constexpr std::string_view group_name(OpGroup group) {
  constexpr std::string_view names[] = {"UnaryOps", "BinaryOps",   "TernaryOps", "ReduceOps",
                                        "ScanOps",  "MovementOps", "LoadOps",    "BufferOps"};
  return names[static_cast<std::size_t>(group)];
}

/// The requirement on operands, for messages.
constexpr std::string_view requirement(OpTyping typing) {
  switch (typing) {
    case OpTyping::same: return "operands of one dtype";
    case OpTyping::number: return "operands of one dtype that is not bool";
    case OpTyping::real: return "operands of one float dtype";
    case OpTyping::integer: return "operands of one integer dtype";
    case OpTyping::bits: return "operands of one integer dtype or bool";
    case OpTyping::compare: return "operands of one dtype";
    case OpTyping::select: return "a bool and two operands of one dtype";
    case OpTyping::convert: return "a dtype to convert to";
    case OpTyping::words: return "operands of int32";
    case OpTyping::pairs: return "two operands of int32 and one of float32";
    case OpTyping::none: return "no elements";
  }
  return {};
}

bool is_admitted(OpTyping typing, DType dtype) {
  switch (typing) {
    case OpTyping::number: return !dtype.is_bool();
    case OpTyping::real: return dtype.is_float();
    case OpTyping::words: return dtype.scalar() == dtypes::int32;
    case OpTyping::integer: return dtype.is_int();
    case OpTyping::bits: return dtype.is_int() || dtype.is_bool();
    default: return true;
  }
}

std::string names_of(std::span<const DType> operands) {
  std::string out;
  for (const DType dtype : operands) {
    if (!out.empty()) out += ", ";
    out += dtype.name();
  }
  return out.empty() ? "nothing" : out;
}

/// The dtype of CAST or BITCAST of `from` to `to`; none where there is no such conversion.
DType converted(Ops op, DType from, DType to) {
  if (!is_element(to) || (to.is_vector() && to.lanes() != from.lanes())) return dtypes::none;
  if (op == Ops::BITCAST && to.bits() != from.bits()) return dtypes::none;
  return to.scalar().vec(from.lanes());
}

/// The dtype of `op` on operands; none where the op is not defined on them. @pre the operands are elements of equal
/// lanes, as many as the arity
DType typed(const OpRow& op, std::span<const DType> operands, DType to) {
  const auto alike = [&](std::size_t from) {
    return std::all_of(operands.begin() + static_cast<std::ptrdiff_t>(from), operands.end(),
                       [&](DType dtype) { return dtype == operands[from]; });
  };
  switch (op.typing) {
    case OpTyping::none: return dtypes::none;
    case OpTyping::convert: return converted(op.op, operands[0], to);
    case OpTyping::compare: return alike(0) ? dtypes::boolean.vec(operands[0].lanes()) : dtypes::none;
    case OpTyping::select: return operands[0].is_bool() && alike(1) ? operands[1] : dtypes::none;
    case OpTyping::pairs: {
      const bool are_words = operands[0].scalar() == dtypes::int32 && operands[1].scalar() == dtypes::int32;
      return are_words && operands[2].scalar() == dtypes::float32 ? operands[2] : dtypes::none;
    }
    default: return alike(0) && is_admitted(op.typing, operands[0]) ? operands[0] : dtypes::none;
  }
}

}  // namespace

const OpRow& row(Ops op) {
  const auto at = static_cast<std::size_t>(op);
  STRATA_ASSERT(at < std::size(kOpRows), "there is no op ", at);
  return kOpRows[at];
}

std::span<const OpRow> op_rows() { return kOpRows; }

std::string spec_name(Ops op) {
  const OpRow& r = row(op);
  return detail::message(group_name(r.group), ".", r.name);
}

std::optional<Ops> find_op(std::string_view name) {
  const std::size_t dot = name.find('.');
  const bool bare = dot == std::string_view::npos;
  const std::string_view group = bare ? std::string_view() : name.substr(0, dot);
  const std::string_view own = bare ? name : name.substr(dot + 1);
  for (const OpRow& r : kOpRows)  // binary rows precede reductions of the same name
    if (r.name == own && (bare || group_name(r.group) == group)) return r.op;
  return std::nullopt;
}

DType result_dtype(Ops op, std::span<const DType> operands, DType to) {
  const OpRow& r = row(op);
  STRATA_CHECK(r.typing != OpTyping::none, domain, "[", r.name, "] ", spec_name(op), " is not an op between elements");
  STRATA_CHECK(operands.size() == r.arity, domain, "[", r.name, "] takes ", r.arity, " operands, not ",
               operands.size());
  bool regular = true;
  for (const DType dtype : operands) regular = regular && is_element(dtype) && dtype.lanes() == operands[0].lanes();
  const DType out = regular ? typed(r, operands, to) : dtypes::none;
  if (r.typing == OpTyping::convert)
    STRATA_CHECK(!out.is_none(), domain, "[", r.name, "] no conversion from ", names_of(operands), " to ", to.name());
  STRATA_CHECK(!out.is_none(), domain, "[", r.name, "] is not defined on ", names_of(operands), ": it takes ",
               requirement(r.typing), ", of equal lanes");
  return out;
}

Ops combining_op(Ops op) {
  STRATA_ASSERT(is_reduce(op), spec_name(op), " is not a reduction");
  switch (op) {
    case Ops::SUM: return Ops::ADD;
    case Ops::PROD: return Ops::MUL;
    case Ops::REDUCE_MAX: return Ops::MAX;
    default: return Ops::MIN;
  }
}

}  // namespace strata
