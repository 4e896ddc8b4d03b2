// Ops: the ops of graphs and kernels, one enumerator per row of the table ops.def, with the table as data (name, group,
// arity, dtype rule) and result_dtype(). Used by the graph, the interpreters, the kernel compiler and the renderers.
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

/// The class of an op in the specification: `UnaryOps.EXP2` has group Unary.
enum class OpGroup : std::uint8_t { Unary, Binary, Ternary, Reduce, Scan, Movement, Load, Buffer };
/// The dtype rule of an op; ops.def defines the rules.
enum class OpTyping : std::uint8_t { same, number, real, integer, bits, compare, select, convert, words, pairs, none };

/// A row of ops.def.
struct OpRow {
  std::string_view name;  ///< the specification's name: "MAX" for MAX and for REDUCE_MAX
  std::string_view text;  ///< the meaning, in C's notation
  Ops op;
  OpGroup group;
  std::uint8_t arity;
  OpTyping typing;
  bool commutes;  ///< f(a, b) == f(b, a) for all operands
};

const OpRow& row(Ops op);
/// All rows, in the order of ops.def.
std::span<const OpRow> op_rows();
/// The specification's name with its class: "BinaryOps.ADD", "ReduceOps.MAX", "BufferOps.LOAD".
std::string spec_name(Ops op);
/// The op named `name`, with or without its class; a bare "MAX" is the binary op. Nothing for an unknown name.
std::optional<Ops> find_op(std::string_view name);

inline bool is_elementwise(Ops op) { return row(op).typing != OpTyping::none && row(op).group != OpGroup::Reduce; }
/// True iff `op` is REQUIRES_GRAD, DETACH, CUSTOM_GRAD or IN_RANGE. The value of an annotation is its first source. The
/// op exists only in graphs of tensors, not in kernels: it states how gradients are computed, or what the host may
/// check.
inline bool is_annotation(Ops op) { return row(op).group == OpGroup::Unary && row(op).typing == OpTyping::none; }
/// True iff each element of the result depends only on the sources' elements at the same index.
inline bool is_pointwise(Ops op) { return is_elementwise(op) || is_annotation(op) || op == Ops::FORMULA; }
inline bool is_reduce(Ops op) { return row(op).group == OpGroup::Reduce; }
inline bool is_scan(Ops op) { return row(op).group == OpGroup::Scan; }
inline bool is_movement(Ops op) { return row(op).group == OpGroup::Movement; }

/// True iff values of the dtype are numbers or vectors of numbers, not pointers and not none.
inline bool is_element(DType dtype) { return !dtype.is_none() && !dtype.is_pointer(); }
/// The dtype of the result of `op` on operands of these dtypes; vectors lane by lane. `to` is the target dtype of CAST
/// and BITCAST.
/// @throws Error (domain) naming the op and the dtypes where the op is not defined on them, or their number is wrong
DType result_dtype(Ops op, std::span<const DType> operands, DType to = dtypes::none);

/// The binary op that a reduction repeats, e.g. ADD for SUM and MAX for REDUCE_MAX. @pre is_reduce(op)
Ops combining_op(Ops op);

}  // namespace strata
