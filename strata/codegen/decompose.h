// What a backend lacks, written with what every backend has: rules as rows.
//
//   OpSet native = basic_ops();
//   UOp y = emit(graph, Ops::EXP, {&x, 1}, native);   // a dozen multiplications and additions
//
// Formulas have no branches and no tables, work on vectors of any lanes as on scalars, and give NaN, infinities, zeros and
// subnormal numbers as C's libm does. They hold for a MULACC that rounds once and for one that rounds twice.
// NOTE: they add and subtract large numbers in order to round; a compiler must not reassociate floats.
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

/// What every backend has, on all operands: ADD SUB MUL DIV NEG ABS SQRT TRUNC FLOOR CEIL ROUND MAX MIN CMPLT CMPEQ CMPNE
/// AND OR XOR NOT WHERE MULACC; CAST and BITCAST, which are UOps of their own, are as good as in it.
const OpSet& basic_ops();
/// What every backend has on operands that are safe: IDIV and MOD where the divisor is not 0 nor -1 below the least number,
/// SHL and SHR where the count is below the width. Their rows make operands safe.
const OpSet& guarded_ops();

/// A formula for `op` on the dtypes named, which holds within `ulp` units of the last place of the true value (0: exact).
struct Decomposition {
  Ops op;
  std::string_view name;
  std::string_view dtypes;  ///< short names, a space between
  double ulp;
  UOp (*build)(UOpGraph& graph, std::span<const UOp> operands, const OpSet& native);
};

/// All rows: one at most for an op and a dtype. Where an op and a dtype have none, every backend has it.
std::span<const Decomposition> decompositions();
/// The row for `op` on operands of `dtype` (the last operand's); null where there is none.
const Decomposition* find_decomposition(Ops op, DType dtype);

/// `op` on `operands`: an ALU where it is native, and otherwise what its row builds, of native and basic ops and guarded
/// ones. @throws Error (domain) where op is not defined on the operands, (undefined) where it is neither native nor basic
/// and has no row.
UOp emit(UOpGraph& graph, Ops op, std::span<const UOp> operands, const OpSet& native);

}  // namespace strata
