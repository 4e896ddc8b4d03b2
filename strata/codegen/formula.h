// formulas::FormulaValue: a UOp with C++ operators that append UOps to a list, so that the formulas of decompose.cpp
// read like mathematics. Internal to codegen/.
//
//   FormulaValue y = mulacc(x, 2, 1);  // 2*x + 1 in the dtype of x; numbers become constants of it, in each lane
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>

#include "strata/codegen/decompose.h"

namespace strata::formulas {

/// The list to which a formula appends, and the ops that are native.
struct Writer {
  UOpGraph& graph;
  const OpSet& native;
};

/// `v` as a constant of `dtype`, in each lane.
UOp constant(UOpGraph& graph, DType dtype, double v);

/// A UOp with the Writer for the UOps that operators make of it.
class FormulaValue {
 public:
  FormulaValue(const Writer& to, UOp uop) : to_(&to), uop_(uop) {}
  UOp uop() const { return uop_; }
  DType dtype() const { return uop_.dtype(); }
  DType scalar() const { return uop_.dtype().scalar(); }

  /// A constant of this FormulaValue's dtype, in each lane.
  FormulaValue like(double v) const;
  FormulaValue like(std::int64_t v) const;
  FormulaValue like(std::uint64_t v) const;
  template <std::integral T>
  FormulaValue like(T v) const {
    if constexpr (std::is_signed_v<T>)
      return like(static_cast<std::int64_t>(v));
    else
      return like(static_cast<std::uint64_t>(v));
  }
  FormulaValue like(const FormulaValue& v) const { return v; }

  FormulaValue cast(DType to) const { return {*to_, to_->graph.cast(uop_, to)}; }
  FormulaValue bitcast(DType to) const { return {*to_, to_->graph.bitcast(uop_, to)}; }
  /// `op` on this FormulaValue and the others, by emit().
  FormulaValue apply(Ops op) const;
  FormulaValue apply(Ops op, const FormulaValue& b) const;
  FormulaValue apply(Ops op, const FormulaValue& b, const FormulaValue& c) const;
  /// An op of guarded_ops(), without making the operands safe. @pre the operands are safe
  FormulaValue guarded(Ops op, FormulaValue other) const { return {*to_, to_->graph.alu(op, {uop_, other.uop_})}; }
  /// This FormulaValue, a WHERE whose first choice is seldom taken.
  FormulaValue marked_seldom() const { return to_->graph.mark_seldom(uop_), *this; }

 private:
  const Writer* to_;
  UOp uop_;
};

template <class T>
concept Operand = std::same_as<T, FormulaValue> || std::is_arithmetic_v<T>;

// Binary operators: one side is a FormulaValue, the other may be a number.
#define STRATA_FORMULA_OPERATOR(symbol, op)                                                                         \
  inline FormulaValue operator symbol(const FormulaValue& a, const FormulaValue& b) { return a.apply(Ops::op, b); } \
  template <class T>                                                                                                \
    requires std::is_arithmetic_v<T>                                                                                \
  FormulaValue operator symbol(const FormulaValue& a, T b) {                                                        \
    return a.apply(Ops::op, a.like(b));                                                                             \
  }                                                                                                                 \
  template <class T>                                                                                                \
    requires std::is_arithmetic_v<T>                                                                                \
  FormulaValue operator symbol(T a, const FormulaValue& b) {                                                        \
    return b.like(a).apply(Ops::op, b);                                                                             \
  }
STRATA_FORMULA_OPERATOR(+, ADD)
STRATA_FORMULA_OPERATOR(-, SUB)
STRATA_FORMULA_OPERATOR(*, MUL)
STRATA_FORMULA_OPERATOR(/, DIV)
STRATA_FORMULA_OPERATOR(&, AND)
STRATA_FORMULA_OPERATOR(|, OR)
STRATA_FORMULA_OPERATOR(^, XOR)
STRATA_FORMULA_OPERATOR(<<, SHL)
STRATA_FORMULA_OPERATOR(>>, SHR)
STRATA_FORMULA_OPERATOR(<, CMPLT)
STRATA_FORMULA_OPERATOR(==, CMPEQ)
STRATA_FORMULA_OPERATOR(!=, CMPNE)
#undef STRATA_FORMULA_OPERATOR
template <Operand T>
FormulaValue operator>(const FormulaValue& a, T b) {
  return a.like(b).apply(Ops::CMPLT, a);
}
inline FormulaValue operator-(const FormulaValue& a) { return a.apply(Ops::NEG); }
inline FormulaValue operator~(const FormulaValue& a) { return a.apply(Ops::NOT); }

inline FormulaValue abs(const FormulaValue& a) { return a.apply(Ops::ABS); }
inline FormulaValue round(const FormulaValue& a) { return a.apply(Ops::ROUND); }
inline FormulaValue trunc(const FormulaValue& a) { return a.apply(Ops::TRUNC); }
template <Operand T>
FormulaValue max(const FormulaValue& a, T b) {
  return a.apply(Ops::MAX, a.like(b));
}
template <Operand T>
FormulaValue min(const FormulaValue& a, T b) {
  return a.apply(Ops::MIN, a.like(b));
}
/// a*b + c
template <Operand B, Operand C>
FormulaValue mulacc(const FormulaValue& a, const B& b, const C& c) {
  const FormulaValue factor = a.like(b);
  return a.apply(Ops::MULACC, factor, a.like(c));
}
/// condition ? a : b. One of a and b may be a number.
template <Operand T>
FormulaValue where(const FormulaValue& condition, const FormulaValue& a, const T& b) {
  return condition.apply(Ops::WHERE, a, a.like(b));
}
template <class T>
  requires std::is_arithmetic_v<T>
FormulaValue where(const FormulaValue& condition, T a, const FormulaValue& b) {
  return condition.apply(Ops::WHERE, b.like(a), b);
}

/// condition ? a : b, where the condition is seldom true: what only `a` needs is computed where it is true in a lane.
FormulaValue seldom(FormulaValue condition, FormulaValue a, FormulaValue b);

/// The sum of c[k] * x^k, by Horner's scheme. @pre !c.empty()
FormulaValue polynomial(FormulaValue x, std::span<const double> c);

/// The constants of a float format, f32 or f64.
struct FloatFormat {
  DType dtype, sint, uint;    ///< the float dtype, and the integer dtypes of its width
  int fraction_bits;          ///< 23, 52
  int bias;                   ///< 127, 1023
  double shifter;             ///< 1.5 * 2^fraction_bits: x + shifter has the integer nearest to x in its low bits
  std::int64_t shifter_bits;  ///< the bits of `shifter`
  std::uint64_t sign;         ///< mask of the sign bit
  std::uint64_t
      upper_half;  ///< mask of sign, exponent and upper half of the significand: products of two such numbers are exact
};
/// @pre dtype is f32 or f64, or a vector of them
const FloatFormat& format_of(DType dtype);

inline FormulaValue bits_of(FormulaValue x) { return x.bitcast(format_of(x.dtype()).uint); }
inline FormulaValue signed_bits_of(FormulaValue x) { return x.bitcast(format_of(x.dtype()).sint); }
/// The bits of x with all but the sign bit cleared.
inline FormulaValue sign_of(FormulaValue x) { return bits_of(x) & format_of(x.dtype()).sign; }
/// x with its sign bit flipped where `sign`, bits as from sign_of(), has the sign bit set.
inline FormulaValue flip_sign(FormulaValue x, FormulaValue sign) { return (bits_of(x) ^ sign).bitcast(x.scalar()); }
inline FormulaValue is_nan(const FormulaValue& x) { return x.apply(Ops::CMPNE, x); }
/// x with the lower half of its significand cleared.
inline FormulaValue upper_half(FormulaValue x) {
  return (bits_of(x) & format_of(x.dtype()).upper_half).bitcast(x.scalar());
}

// The formulas that the rows of decompose.cpp name (math_*.cpp).
FormulaValue exp2_formula(FormulaValue x);
FormulaValue exp_formula(FormulaValue x);
FormulaValue expm1_formula(FormulaValue x);
FormulaValue tanh_formula(FormulaValue x);
FormulaValue erf_formula(FormulaValue x);
FormulaValue log2_formula(FormulaValue x);
FormulaValue log_formula(FormulaValue x);
FormulaValue log1p_formula(FormulaValue x);
FormulaValue pow_formula(FormulaValue x, FormulaValue y);
FormulaValue sin_formula(FormulaValue x);
FormulaValue cos_formula(FormulaValue x);
FormulaValue tan_formula(FormulaValue x);
FormulaValue atan_formula(FormulaValue x);
FormulaValue atan2_formula(FormulaValue y, FormulaValue x);
FormulaValue idiv_formula(FormulaValue a, FormulaValue b);
FormulaValue mod_formula(FormulaValue a, FormulaValue b);
FormulaValue float_mod_formula(FormulaValue x, FormulaValue y);
FormulaValue floordiv_formula(FormulaValue a, FormulaValue b);
FormulaValue floormod_formula(FormulaValue a, FormulaValue b);
FormulaValue shl_formula(FormulaValue a, FormulaValue count);
FormulaValue shr_formula(FormulaValue a, FormulaValue count);
FormulaValue dot4_formula(FormulaValue a, FormulaValue b, FormulaValue c);
FormulaValue dot2_formula(FormulaValue a, FormulaValue b, FormulaValue c);

/// p * 2^n, where the low bits of `shifted` hold n + 2*bias. Multiplies by two powers of two, so that the result is
/// rounded once: overflows to infinity and underflows gradually through the subnormal numbers to 0.
FormulaValue scale(FormulaValue p, FormulaValue shifted);
/// 2^x for |x| <= 1/2; less accurate for |x| up to 1.
FormulaValue exp2_fraction(FormulaValue x);
/// The constant c such that x + c has the integer nearest to x, plus `offset`, in its low bits.
inline double shifter(DType dtype, int offset) { return format_of(dtype).shifter + offset; }

}  // namespace strata::formulas
