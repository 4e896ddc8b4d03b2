// What formulas share: promotion of operands to one dtype and shape, axes, and dtypes to compute in.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "strata/ops/backward.h"

namespace strata::ops {

/// The dtype to which operands are promoted, as PyTorch has it: of those with dimensions; of those without only where their kind (bool <
/// integer < float) is higher; numbers likewise below both. A number alone is f32, i64 or bool.
DType promoted_dtype(std::span<const Operand* const> operands);

/// Operands, broadcast to one shape and cast to one dtype. `dtype`: that one, none: promoted_dtype.
/// @throws Error (shape) naming `operation` and both shapes
std::vector<LazyOp> promote_operands(const char* operation,
                                     std::initializer_list<const Operand*> operands,
                                     DType dtype = dtypes::none);

/// Axes from 0, in the order given. @throws Error (shape) naming `operation` for an axis outside of `ndim` or twice
Axes axes_of(const Axes& axes, std::int64_t ndim, const char* operation);
/// The axes of `ndim` dimensions that are not among `axes`, in order. @pre axes from 0
Axes other_axes(const Axes& axes, std::int64_t ndim);
/// The sizes of the dimensions that are not among `axes`. @pre axes from 0
Ints sizes_without(const Ints& shape, const Axes& axes);
/// The shape to which shapes broadcast. @throws Error (shape) naming `operation`
Ints broadcast_shape(const char* operation, std::span<const Ints> shapes);
/// `x` with dimensions of size 1 in front and elsewhere repeated. @pre shapes broadcast
LazyOp broadcast(const LazyOp& x, const Ints& shape);
/// `x`, or as f32 where it is an integer or bool.
Value as_real(const Value& x);
/// `x`, or where it is an integer or bool: in the dtype of `other`, if that is a float, else as f32.
Value as_real(const Value& x, const Value& other);
/// `x`, or as i64 where it is a smaller integer or bool: what sums and products of it are in, as PyTorch has them.
inline Value as_summable(const Value& x) {
  return x.dtype().is_float() || x.dtype() == dtypes::uint64 ? x : x.cast(dtypes::int64);
}
/// f(x), where x has 16-bit floats computed in f32 and rounded once, to x's dtype.
template <class F>
Value rounded_once(const Value& x, const F& f) {
  const bool is_narrow = x.dtype().is_float() && x.itemsize() == 2;
  return is_narrow ? f(x.cast(dtypes::float32)).cast(x.dtype()) : f(x);
}
/// a < b, or equal: not the opposite of above, as of NaN neither holds. @pre nodes of one shape and dtype
inline LazyOp at_or_below(const LazyOp& a, const LazyOp& b) {
  return LazyOp::alu(Ops::OR, {LazyOp::alu(Ops::CMPLT, {a, b}), LazyOp::alu(Ops::CMPEQ, {a, b})});
}
/// The same of several tensors, where they are promoted to a 16-bit float.
template <class F, class... T>
Value rounded_once_of(const F& f, const T&... x) {
  const Operand operands[] = {x...};
  std::vector<const Operand*> all;
  for (const Operand& o : operands) all.push_back(&o);
  const DType promoted = promoted_dtype(all);
  if (!promoted.is_float() || promoted.itemsize() != 2) return f(x...);
  return f(x.cast(dtypes::float32)...).cast(promoted);
}
/// A factor or a value for tensors of `dtype`: whole, where that has whole numbers and it is one.
inline Number number_for(double value, DType dtype) {
  constexpr double kBeyond = 9.2e18;
  const bool is_whole = std::floor(value) == value && std::abs(value) < kBeyond;
  return !dtype.is_float() && is_whole ? Number(static_cast<std::int64_t>(value)) : Number(value);
}
/// `f` of real numbers, element by element, whose derivative `slope` makes of x and f(x) of them and captures nothing; 16-bit
/// floats in f32.
template <class Slope>
Value differentiated(const Value& x, Value (*f)(const Value& x), Slope slope) {
  const Value real = as_real(x), wide = real.itemsize() == 2 ? real.cast(dtypes::float32) : real;
  return with_slope_by_both(f(wide.detach()), wide, slope).cast(real.dtype());
}
/// A number in a dtype: integers wrap as C's do, reals go to integers towards zero.
Scalar scalar_of(const Number& number, DType dtype);

}  // namespace strata::ops
