// Helpers that most formulas share: promotion of operands to one dtype, broadcasting to one shape, normalization of
// axes, and computing 16-bit floats in f32.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "strata/ops/backward.h"
#include "strata/ops/formula_node.h"

namespace strata::ops {

/// The dtype to which PyTorch promotes the operands. There are three classes: Values with dimensions, scalar Values,
/// numbers. The first class that is present decides; a later class decides only where its kind is higher (bool <
/// integer < float). Numbers count as f32, i64 or bool.
DType promoted_dtype(std::span<const Operand* const> operands);

/// The shape to which operands broadcast and the dtype to which they are promoted. Points into the operands' nodes.
class PromotionTarget {
 public:
  /// @throws Error (shape) naming `operation` and the shapes where they do not broadcast
  PromotionTarget(const char* operation, std::span<const Operand* const> operands, DType dtype);
  /// `x`, one of the operands, as a node of the shape and dtype.
  LazyOp promote(const Operand& x) const;

 private:
  DType dtype_;
  Ints broadcast_;                // where shapes differ
  const Ints* common_ = nullptr;  // where all are the same
};
/// The operands as nodes of one shape and one dtype: `dtype`, or promoted_dtype() where that is none.
/// @throws Error (shape) naming `operation` and the shapes where they do not broadcast
template <std::size_t N>
std::array<LazyOp, N> promote_operands(const char* operation, const Operand* const (&operands)[N],
                                       DType dtype = dtypes::none) {
  const PromotionTarget target(operation, operands, dtype);
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    return std::array<LazyOp, N>{target.promote(*operands[K])...};
  }(std::make_index_sequence<N>());
}

/// The axes as numbers in [0, ndim), in the order given. @throws Error (shape) naming `operation` for an axis out of
/// range or given twice
Axes axes_of(const Axes& axes, std::int64_t ndim, const char* operation);
/// The axes of [0, ndim) that are not in `axes`, ascending. @pre all axes are in [0, ndim)
Axes other_axes(const Axes& axes, std::int64_t ndim);
/// The sizes of the dimensions that are not in `axes`, e.g. (2, 3, 4) without {1}: (2, 4). @pre no axis is negative
Ints sizes_without(const Ints& shape, const Axes& axes);
/// The shape to which all `shapes` broadcast, e.g. (3, 1) and (4) give (3, 4). @throws Error (shape) naming `operation`
Ints broadcast_shape(const char* operation, std::span<const Ints> shapes);
/// `x` broadcast to `shape`. @pre the shape of x broadcasts to `shape`
LazyOp broadcast(const LazyOp& x, const Ints& shape);
/// `x`; integers and bools are cast to f32.
Value as_real(const Value& x);
/// `x`; integers and bools are cast to the dtype of `other` if that is a float, else to f32.
Value as_real(const Value& x, const Value& other);
/// `x`; bools and integers except u64 are cast to i64: the dtype of their sums and products in PyTorch.
inline Value as_summable(const Value& x) {
  return x.dtype().is_float() || x.dtype() == dtypes::uint64 ? x : x.cast(dtypes::int64);
}
/// f(x). For an x of 16-bit floats f computes in f32, and the result is rounded once, to x's dtype.
template <class F>
Value rounded_once(const Value& x, const F& f) {
  const bool is_narrow = x.dtype().is_float() && x.itemsize() == 2;
  return is_narrow ? f(x.cast(dtypes::float32)).cast(x.dtype()) : f(x);
}
/// a <= b, as a < b or a == b: !(b < a) would be true for a NaN. @pre a and b have one shape and dtype
inline LazyOp at_or_below(const LazyOp& a, const LazyOp& b) {
  return LazyOp::alu(Ops::OR, {LazyOp::alu(Ops::CMPLT, {a, b}), LazyOp::alu(Ops::CMPEQ, {a, b})});
}
/// rounded_once() for several arguments: f(x...) is computed in f32 where the promoted dtype is a 16-bit float.
template <class F, class... T>
Value rounded_once_of(const F& f, const T&... x) {
  const Operand operands[] = {x...};
  std::vector<const Operand*> all;
  for (const Operand& o : operands) all.push_back(&o);
  const DType promoted = promoted_dtype(all);
  if (!promoted.is_float() || promoted.itemsize() != 2) return f(x...);
  return f(x.cast(dtypes::float32)...).cast(promoted);
}
/// `value` as an operand of tensors of `dtype`: an integer where `dtype` is no float and `value` is whole, so that it
/// does not promote the tensors to floats.
inline Number number_for(double value, DType dtype) {
  constexpr double kBeyond = 9.2e18;
  const bool is_whole = std::floor(value) == value && std::abs(value) < kBeyond;
  return !dtype.is_float() && is_whole ? Number(static_cast<std::int64_t>(value)) : Number(value);
}
/// The elementwise function `f` with the derivative slope(x, f(x)), a lambda without captures. Integers are cast to
/// f32; 16-bit floats are computed in f32.
template <class Slope>
Value differentiated(const Value& x, Value (*f)(const Value& x), Slope slope) {
  const Value real = as_real(x), wide = real.itemsize() == 2 ? real.cast(dtypes::float32) : real;
  return with_slope_by_both(formula(f, wide.detach()), wide, slope).cast(real.dtype());
}
/// `number` converted to `dtype`: integers wrap, floats are truncated towards zero for integers.
Scalar scalar_of(const Number& number, DType dtype);

}  // namespace strata::ops
