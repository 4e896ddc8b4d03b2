// formulas::Value: a UOp with C++ operators that append UOps to a list, so that the formulas of decompose.cpp read like mathematics.
// Internal to codegen/.
//
//   Value y = mulacc(x, 2, 1);   // 2*x + 1 in the dtype of x; numbers become constants of that dtype, in each lane
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
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
class Value {
 public:
  Value(const Writer& to, UOp uop) : to_(&to), uop_(uop) {}
  UOp uop() const { return uop_; }
  DType dtype() const { return uop_.dtype(); }
  DType scalar() const { return uop_.dtype().scalar(); }

  /// A constant of this Value's dtype, in each lane.
  Value like(double v) const;
  Value like(std::int64_t v) const;
  Value like(std::uint64_t v) const;
  template <std::integral T>
  Value like(T v) const {
    if constexpr (std::is_signed_v<T>)
      return like(static_cast<std::int64_t>(v));
    else
      return like(static_cast<std::uint64_t>(v));
  }
  Value like(Value v) const { return v; }

  Value cast(DType to) const { return {*to_, to_->graph.cast(uop_, to)}; }
  Value bitcast(DType to) const { return {*to_, to_->graph.bitcast(uop_, to)}; }
  /// `op` on this Value and `others`, by emit().
  Value apply(Ops op, std::initializer_list<Value> others = {}) const;
  /// An op of guarded_ops(), without making the operands safe. @pre the operands are safe
  Value guarded(Ops op, Value other) const {
    return {*to_, to_->graph.alu(op, {uop_, other.uop_})};
  }

 private:
  const Writer* to_;
  UOp uop_;
};

template <class T>
concept Operand = std::same_as<T, Value> || std::is_arithmetic_v<T>;

// Binary operators: one side is a Value, the other may be a number.
#define STRATA_FORMULA_OPERATOR(symbol, op) \
  template <Operand T>                      \
  Value operator symbol(Value a, T b) {     \
    return a.apply(Ops::op, {a.like(b)});   \
  }                                         \
  template <class T>                        \
    requires std::is_arithmetic_v<T>        \
  Value operator symbol(T a, Value b) {     \
    return b.like(a).apply(Ops::op, {b});   \
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
Value operator>(Value a, T b) {
  return a.like(b).apply(Ops::CMPLT, {a});
}
inline Value operator-(Value a) { return a.apply(Ops::NEG); }
inline Value operator~(Value a) { return a.apply(Ops::NOT); }

inline Value abs(Value a) { return a.apply(Ops::ABS); }
inline Value round(Value a) { return a.apply(Ops::ROUND); }
inline Value trunc(Value a) { return a.apply(Ops::TRUNC); }
template <Operand T>
Value max(Value a, T b) {
  return a.apply(Ops::MAX, {a.like(b)});
}
template <Operand T>
Value min(Value a, T b) {
  return a.apply(Ops::MIN, {a.like(b)});
}
/// a*b + c
template <Operand B, Operand C>
Value mulacc(Value a, B b, C c) {
  return a.apply(Ops::MULACC, {a.like(b), a.like(c)});
}
/// condition ? a : b. One of a and b may be a number.
template <Operand T>
Value where(Value condition, Value a, T b) {
  return condition.apply(Ops::WHERE, {a, a.like(b)});
}
template <class T>
  requires std::is_arithmetic_v<T>
Value where(Value condition, T a, Value b) {
  return condition.apply(Ops::WHERE, {b.like(a), b});
}

/// The sum of c[k] * x^k, by Horner's scheme. @pre !c.empty()
Value polynomial(Value x, std::span<const double> c);

/// The constants of a float format, f32 or f64.
struct FloatFormat {
  DType dtype, sint, uint;  ///< the float dtype, and the integer dtypes of its width
  int fraction_bits;        ///< 23, 52
  int bias;                 ///< 127, 1023
  double shifter;  ///< 1.5 * 2^fraction_bits: x + shifter has the integer nearest to x in its low bits
  std::int64_t shifter_bits;  ///< the bits of `shifter`
  std::uint64_t sign;         ///< mask of the sign bit
  std::uint64_t upper_half;  ///< mask of sign, exponent and upper half of the significand: products of two such numbers are exact
};
/// @pre dtype is f32 or f64, or a vector of them
const FloatFormat& format_of(DType dtype);

inline Value bits_of(Value x) { return x.bitcast(format_of(x.dtype()).uint); }
inline Value signed_bits_of(Value x) { return x.bitcast(format_of(x.dtype()).sint); }
/// The bits of x with all but the sign bit cleared.
inline Value sign_of(Value x) { return bits_of(x) & format_of(x.dtype()).sign; }
/// x with its sign bit flipped where `sign`, bits as from sign_of(), has the sign bit set.
inline Value flip_sign(Value x, Value sign) { return (bits_of(x) ^ sign).bitcast(x.scalar()); }
inline Value is_nan(Value x) { return x != x; }
/// x with the lower half of its significand cleared.
inline Value upper_half(Value x) {
  return (bits_of(x) & format_of(x.dtype()).upper_half).bitcast(x.scalar());
}

// The formulas that the rows of decompose.cpp name (math_*.cpp).
Value exp2_formula(Value x);
Value exp_formula(Value x);
Value expm1_formula(Value x);
Value tanh_formula(Value x);
Value erf_formula(Value x);
Value log2_formula(Value x);
Value log_formula(Value x);
Value log1p_formula(Value x);
Value pow_formula(Value x, Value y);
Value sin_formula(Value x);
Value cos_formula(Value x);
Value tan_formula(Value x);
Value atan_formula(Value x);
Value atan2_formula(Value y, Value x);
Value idiv_formula(Value a, Value b);
Value mod_formula(Value a, Value b);
Value float_mod_formula(Value x, Value y);
Value floordiv_formula(Value a, Value b);
Value floormod_formula(Value a, Value b);
Value shl_formula(Value a, Value count);
Value shr_formula(Value a, Value count);

/// p * 2^n, where the low bits of `shifted` hold n + 2*bias. Multiplies by two powers of two, so that the result is rounded once:
/// overflows to infinity and underflows gradually through the subnormal numbers to 0.
Value scale(Value p, Value shifted);
/// 2^x for |x| <= 1/2; less accurate for |x| up to 1.
Value exp2_fraction(Value x);
/// The constant c such that x + c has the integer nearest to x, plus `offset`, in its low bits.
inline double shifter(DType dtype, int offset) { return format_of(dtype).shifter + offset; }

}  // namespace strata::formulas
