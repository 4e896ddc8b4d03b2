// What the files of this floor share: from nodes to tensors, and operands that meet.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "strata/graph/origin.h"
#include "strata/tensor/autograd.h"
#include "strata/tensor/tensor.h"

namespace strata {

/// The way to the inside of a Tensor, for this floor and those above.
class TensorAccess {
 public:
  /// A tensor of a node, on the device of another.
  static Tensor of(const LazyOp& node, const Tensor& like) { return Tensor(node, like.device()); }
  static Tensor of(const LazyOp& node, const Device& device) { return Tensor(node, device); }
  /// What identifies a tensor: its copies have the same.
  static const std::shared_ptr<TensorState>& state(const Tensor& x) { return x.state_.get(); }
  static Tensor of(const std::shared_ptr<TensorState>& state) { return Tensor(state); }
};

/// The dtype in which operands meet, as PyTorch has it: of those with dimensions; of those without only where their kind (bool <
/// integer < float) is higher; numbers likewise below both. A number alone is f32, i64 or bool.
DType meeting_dtype(std::span<const Operand* const> operands);

/// Operands of one shape and dtype.
struct Met {
  std::vector<LazyOp> nodes;
  const Device* device;
};
/// Broadcasts and casts. `dtype`: in which they meet, none: meeting_dtype.
/// @throws Error (shape) naming `operation` and both shapes, (domain) for tensors on two devices
Met meet(const char* operation, std::initializer_list<const Operand*> operands,
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
/// A tensor of its own that is what `x` is: what is assigned to x later does not change it. What a function gives that has nothing to do.
inline Tensor own(const Tensor& x) { return TensorAccess::of(x.node(), x); }
/// `x`, or as f32 where it is an integer or bool.
Tensor as_real(const Tensor& x);
/// `x`, or where it is an integer or bool: in the dtype of `other`, if that is a float, else as f32.
Tensor as_real(const Tensor& x, const Tensor& other);
/// `x`, or as i64 where it is a smaller integer or bool: what sums and products of it are in, as PyTorch has them.
inline Tensor as_summable(const Tensor& x) {
  return x.dtype().is_float() || x.dtype() == dtypes::uint64 ? x : x.cast(dtypes::int64);
}
/// f(x), where x has 16-bit floats computed in f32 and rounded once, to x's dtype.
template <class F>
Tensor rounded_once(const Tensor& x, const F& f) {
  const bool is_narrow = x.dtype().is_float() && x.itemsize() == 2;
  return is_narrow ? f(x.cast(dtypes::float32)).cast(x.dtype()) : f(x);
}
/// a < b, or equal: not the opposite of above, as of NaN neither holds. @pre nodes of one shape and dtype
inline LazyOp at_or_below(const LazyOp& a, const LazyOp& b) {
  return LazyOp::alu(Ops::OR, {LazyOp::alu(Ops::CMPLT, {a, b}), LazyOp::alu(Ops::CMPEQ, {a, b})});
}
/// The same of several tensors, where they meet in a 16-bit float.
template <class F, class... T>
Tensor rounded_once_of(const F& f, const T&... x) {
  const Operand operands[] = {x...};
  std::vector<const Operand*> all;
  for (const Operand& o : operands) all.push_back(&o);
  const DType met = meeting_dtype(all);
  if (!met.is_float() || met.itemsize() != 2) return f(x...);
  return f(x.cast(dtypes::float32)...).cast(met);
}
/// A factor or a value for tensors of `dtype`: whole, where that has whole numbers and it is one.
inline Number number_for(double value, DType dtype) {
  constexpr double kBeyond = 9.2e18;
  const bool is_whole = std::floor(value) == value && std::abs(value) < kBeyond;
  return !dtype.is_float() && is_whole ? Number(static_cast<std::int64_t>(value)) : Number(value);
}
/// `value`, which is made of `inputs` and whose slopes by them are 0: gradients are taken of it, and are zeros.
inline Tensor flat_in(const Tensor& value, const std::vector<Tensor>& inputs) {
  const auto takes = [](const Tensor& x) { return x.requires_grad(); };
  if (!value.dtype().is_float() || NoGrad::is_active() ||
      std::none_of(inputs.begin(), inputs.end(), takes))
    return value;
  const auto backward = [](const Tensor&, const Saved& saved) {
    std::vector<Tensor> zeros;
    for (std::size_t k = 0; k < saved.size(); ++k) zeros.push_back(saved[k].zeros_like());
    return zeros;
  };
  return with_gradient(value.detach(), inputs, backward, Saved(inputs));
}
/// `y`, computed from x, whose derivative Slope makes of both. NOTE: y is saved as it was computed, not as the result, which has
/// what was saved.
template <class Slope>
Tensor with_slope_by_both(const Tensor& y, const Tensor& x, Slope) {
  if (!x.requires_grad() || NoGrad::is_active()) return y;
  const auto backward = [](const Tensor& dy, const Saved& saved) {
    const Tensor a = saved[0];
    return std::vector{dy * Slope{}(a, with_slope_by_both(saved[1], a, Slope{}))};
  };
  return with_gradient(y, {&x, 1}, backward, Saved({x, y}));
}
/// `f` of real numbers, element by element, whose derivative `slope` makes of x and f(x) of them and captures nothing; 16-bit
/// floats in f32.
template <class Slope>
Tensor differentiated(const Tensor& x, Tensor (*f)(const Tensor& x), Slope slope) {
  const Tensor real = as_real(x), wide = real.itemsize() == 2 ? real.cast(dtypes::float32) : real;
  return with_slope_by_both(f(wide.detach()), wide, slope).cast(real.dtype());
}
/// What a parameter is that stands for `plain`: memory where that is.
LazyOp parameter_over(const LazyOp& plain, const std::shared_ptr<GradientSlot>& slot);
/// A number in a dtype: integers wrap as C's do, reals go to integers towards zero.
Scalar scalar_of(const Number& number, DType dtype);

}  // namespace strata
