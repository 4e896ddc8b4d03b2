// Decomposition of ops that a backend lacks into ops that every backend has: emit() adds an op to a list, natively or
// by the formula of a table (EXP as a polynomial, IDIV with a safe divisor, ...).
//
//   OpSet native = basic_ops();
//   UOp y = emit(graph, Ops::EXP, {&x, 1}, native);   // a dozen multiplications and additions
//
// Formulas have no lookup tables and no branches but those of mark_seldom(), work on scalars and on vectors, and treat
// NaN, infinities, zeros and subnormal numbers as C's libm does. Their error bounds hold whether MULACC rounds once or
// twice. NOTE: formulas round by adding and subtracting large numbers: the compiler behind the renderer must not
// reassociate floats.
#pragma once

#include <bitset>
#include <initializer_list>
#include <span>
#include <string_view>

#include "strata/ir/uop.h"

namespace strata {

/// A set of ops.
class OpSet {
 public:
  OpSet() = default;
  OpSet(std::initializer_list<Ops> ops) {
    for (const Ops op : ops) insert(op);
  }
  bool has(Ops op) const { return bits_[static_cast<std::size_t>(op)]; }
  void insert(Ops op) { bits_.set(static_cast<std::size_t>(op)); }
  void erase(Ops op) { bits_.reset(static_cast<std::size_t>(op)); }
  friend OpSet operator|(const OpSet& a, const OpSet& b) {
    OpSet out;
    out.bits_ = a.bits_ | b.bits_;
    return out;
  }
  friend bool operator==(const OpSet&, const OpSet&) = default;

 private:
  std::bitset<256> bits_;
};

/// The ops that every backend has, on all operands: ADD SUB MUL DIV NEG ABS SQRT TRUNC FLOOR CEIL ROUND MAX MIN CMPLT
/// CMPEQ CMPNE AND OR XOR NOT WHERE MULACC. (So are CAST and BITCAST, which are UOps of their own.)
const OpSet& basic_ops();
/// The ops that every backend has on safe operands only: IDIV and MOD with a divisor that is neither 0 nor makes the
/// quotient overflow (least / -1), SHL and SHR with a count below the width. The formulas of these ops make operands
/// safe first.
const OpSet& guarded_ops();

/// A row of the table: a formula for `op`.
struct Decomposition {
  Ops op;
  std::string_view name;    ///< the method, for people
  std::string_view dtypes;  ///< the short names of the dtypes, separated by spaces
  double ulp;               ///< the largest error in units of the last place; 0: exact
  UOp (*build)(UOpGraph& graph, std::span<const UOp> operands, const OpSet& native);
};

/// All rows, at most one for each op and dtype. An elementwise op without a row is one of basic_ops().
std::span<const Decomposition> decompositions();
/// The row for `op` whose last operand has `dtype`; null where there is none.
const Decomposition* find_decomposition(Ops op, DType dtype);

/// Adds `op` on `operands`: as one ALU where `native` has it, else by the op's formula, which uses native, basic and
/// guarded ops.
/// @throws Error (domain) where the op is not defined on the operands, (undefined) where it is neither native nor basic
/// and has no row
UOp emit(UOpGraph& graph, Ops op, std::span<const UOp> operands, const OpSet& native);

}  // namespace strata
