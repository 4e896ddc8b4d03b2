// The op table (ops.def) as data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "strata/dtype/dtype.h"

namespace strata {

enum class Ops : std::uint8_t {
#define STRATA_OP(id, group, name, arity, typing, commutes, text) id,
#include "strata/ir/ops.def"
};

enum class OpGroup : std::uint8_t { Unary, Binary, Ternary, Reduce, Movement, Load, Buffer };
enum class OpTyping : std::uint8_t {
  same,
  number,
  real,
  integer,
  bits,
  compare,
  select,
  convert,
  none
};

/// A row of ops.def.
struct OpRow {
  std::string_view name;  ///< "MAX" for MAX and for REDUCE_MAX
  std::string_view text;
  Ops op;
  OpGroup group;
  std::uint8_t arity;
  OpTyping typing;
  bool commutes;
};

const OpRow& row(Ops op);
/// All rows, in order.
std::span<const OpRow> op_rows();
/// "BinaryOps.ADD", "ReduceOps.MAX", "BufferOps.LOAD".
std::string spec_name(Ops op);
/// The op of a name, with or without its class; a bare "MAX" is the binary one. Nothing for another text.
std::optional<Ops> find_op(std::string_view name);

inline bool is_elementwise(Ops op) {
  return row(op).typing != OpTyping::none && row(op).group != OpGroup::Reduce;
}
/// REQUIRES_GRAD, DETACH, CUSTOM_GRAD and IN_RANGE: the value is that of the first source, and no kernel has the op. Only graphs of
/// tensors have it: it says what gradients are taken by, or what the host may check.
inline bool is_annotation(Ops op) {
  return row(op).group == OpGroup::Unary && row(op).typing == OpTyping::none;
}
/// True iff an element of the value is made of the sources' elements at the same index alone.
inline bool is_pointwise(Ops op) { return is_elementwise(op) || is_annotation(op); }
inline bool is_reduce(Ops op) { return row(op).group == OpGroup::Reduce; }
inline bool is_movement(Ops op) { return row(op).group == OpGroup::Movement; }

/// True iff its values are numbers, or vectors of them.
inline bool is_element(DType dtype) { return !dtype.is_none() && !dtype.is_pointer(); }
/// The dtype of `op` on operands of these dtypes; vectors lane by lane. `to` is the dtype of CAST and BITCAST.
/// @throws Error (domain) naming the op and the dtypes where it is not defined on them, or their number is wrong.
DType result_dtype(Ops op, std::span<const DType> operands, DType to = dtypes::none);

/// The binary op that a reduction repeats: ADD for SUM, MAX for REDUCE_MAX. @pre is_reduce(op)
Ops combining_op(Ops op);

}  // namespace strata
