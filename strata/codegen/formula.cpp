// The operations of formulas::FormulaValue, and the float formats.
#include "strata/codegen/formula.h"

#include "strata/base/check.h"

namespace strata::formulas {

UOp constant(UOpGraph& graph, DType dtype, double v) {
  return graph.add(UOps::CONST, dtype, {}, Scalar::of(dtype.scalar(), v));
}

FormulaValue FormulaValue::like(double v) const { return {*to_, constant(to_->graph, dtype(), v)}; }
FormulaValue FormulaValue::like(std::int64_t v) const { return {*to_, to_->graph.constant(dtype(), v)}; }
FormulaValue FormulaValue::like(std::uint64_t v) const {
  return {*to_, to_->graph.add(UOps::CONST, dtype(), {}, Scalar::of(scalar(), v))};
}

FormulaValue FormulaValue::apply(Ops op) const { return {*to_, emit(to_->graph, op, {&uop_, 1}, to_->native)}; }
FormulaValue FormulaValue::apply(Ops op, const FormulaValue& b) const {
  const UOp operands[] = {uop_, b.uop_};
  return {*to_, emit(to_->graph, op, operands, to_->native)};
}
FormulaValue FormulaValue::apply(Ops op, const FormulaValue& b, const FormulaValue& c) const {
  const UOp operands[] = {uop_, b.uop_, c.uop_};
  return {*to_, emit(to_->graph, op, operands, to_->native)};
}

FormulaValue seldom(FormulaValue condition, FormulaValue a, FormulaValue b) {
  return where(condition, a, b).marked_seldom();
}

FormulaValue polynomial(FormulaValue x, std::span<const double> c) {
  FormulaValue sum = x.like(c.back());
  for (std::size_t k = c.size() - 1; k-- > 0;) sum = mulacc(sum, x, c[k]);
  return sum;
}

const FloatFormat& format_of(DType dtype) {
  static const FloatFormat f32{
      .dtype = dtypes::float32,
      .sint = dtypes::int32,
      .uint = dtypes::uint32,
      .fraction_bits = 23,
      .bias = 127,
      .shifter = 0x1.8p23,
      .shifter_bits = 0x4B400000,
      .sign = 0x80000000,
      .upper_half = 0xFFFFF000,
  };
  static const FloatFormat f64{
      .dtype = dtypes::float64,
      .sint = dtypes::int64,
      .uint = dtypes::uint64,
      .fraction_bits = 52,
      .bias = 1023,
      .shifter = 0x1.8p52,
      .shifter_bits = 0x4338000000000000,
      .sign = 0x8000000000000000,
      .upper_half = 0xFFFFFFFFF8000000,
  };
  STRATA_ASSERT(dtype.scalar() == f32.dtype || dtype.scalar() == f64.dtype, "no format of ", dtype.name());
  return dtype.scalar() == f32.dtype ? f32 : f64;
}

FormulaValue scale(FormulaValue p, FormulaValue shifted) {
  // Two factors that are normal numbers: 2^n itself may overflow or be subnormal.
  const FloatFormat& format = format_of(p.dtype());
  const FormulaValue n = bits_of(shifted);
  const FormulaValue half = n >> 1;
  const FormulaValue first = (half << format.fraction_bits).bitcast(p.scalar());
  const FormulaValue second = ((n - half) << format.fraction_bits).bitcast(p.scalar());
  return p * first * second;
}

}  // namespace strata::formulas
