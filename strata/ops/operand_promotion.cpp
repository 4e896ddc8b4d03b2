// Promotion of operands to one dtype and one shape.

#include <algorithm>

#include "strata/ops/operand_promotion.h"

namespace strata::ops {

namespace {

/// bool: 0, integer: 1, float: 2.
int kind_of(DType d) { return d.is_bool() ? 0 : d.is_float() ? 2 : 1; }

DType default_of(DType number) {
  return number.is_bool() ? dtypes::boolean : number.is_float() ? dtypes::float32 : dtypes::int64;
}

/// The promoted dtype of one class of operands; none without operands.
struct Promotion {
  DType dtype = dtypes::none;
  void add(DType d) { dtype = dtype.is_none() ? d : promote(dtype, d); }
};

}  // namespace

DType promoted_dtype(std::span<const Operand* const> operands) {
  Promotion with_dimensions, without, numbers;
  for (const Operand* o : operands) {
    if (o->value() == nullptr)
      numbers.add(default_of(o->number().value().dtype()));
    else
      (o->value()->ndim() > 0 ? with_dimensions : without).add(o->value()->dtype());
  }
  DType out = with_dimensions.dtype;
  for (const Promotion& lower : {without, numbers})
    if (!lower.dtype.is_none() && (out.is_none() || kind_of(lower.dtype) > kind_of(out))) out = lower.dtype;
  return out;
}

Scalar scalar_of(const Number& number, DType dtype) { return number.value().cast(dtype); }

Ints broadcast_shape(const char* operation, std::span<const Ints> shapes) {
  std::size_t ndim = 0;
  for (const Ints& s : shapes) ndim = std::max(ndim, s.size());
  Ints out(ndim, 1);
  for (const Ints& s : shapes)
    for (std::size_t k = 0; k < s.size(); ++k) {
      Int& size = out[ndim - s.size() + k];
      if (s[k] == Int(1) || s[k] == size || (!size.is_number() && known(is_equal(s[k], size)))) continue;
      STRATA_CHECK(size == Int(1), shape, "[", operation, "] shapes ", render(shapes.front()), " and ",
                   render(shapes.back()), " do not broadcast: sizes ", size.render(), " and ", s[k].render(),
                   " in dimension ", ndim - s.size() + k);
      size = s[k];
    }
  return out;
}

LazyOp broadcast(const LazyOp& x, const Ints& shape) {
  if (x.shape() == shape) return x;
  const std::size_t before = shape.size() - x.shape().size();
  Ints padded(before, 1);
  for (std::size_t k = 0; k < x.shape().size(); ++k)  // equal symbolic sizes may be different expressions
    padded.push_back(x.shape()[k] == Int(1) ? Int(1) : shape[before + k]);
  return x.reshape(padded).expand(shape);
}

namespace {

/// The shape that all tensors among `operands` have; null where shapes differ or there is no tensor.
const Ints* common_shape(std::span<const Operand* const> operands) {
  const Ints* out = nullptr;
  for (const Operand* o : operands) {
    if (o->value() == nullptr) continue;
    const Ints& shape = o->value()->shape();
    if (out != nullptr && !(shape == *out)) return nullptr;
    out = &shape;
  }
  return out;
}
Ints shape_of_all(const char* operation, std::span<const Operand* const> operands) {
  std::vector<Ints> shapes;
  for (const Operand* o : operands)
    if (o->value() != nullptr) shapes.push_back(o->value()->shape());
  return shapes.empty() ? Ints() : broadcast_shape(operation, shapes);
}
}  // namespace

PromotionTarget::PromotionTarget(const char* operation, std::span<const Operand* const> operands, DType dtype)
    : dtype_(dtype.is_none() ? promoted_dtype(operands) : dtype), common_(common_shape(operands)) {
  if (common_ == nullptr) broadcast_ = shape_of_all(operation, operands);
}

LazyOp PromotionTarget::promote(const Operand& x) const {
  const Ints& shape = common_ != nullptr ? *common_ : broadcast_;
  return x.value() != nullptr ? broadcast(x.value()->node().cast(dtype_), shape)
                              : LazyOp::constant(scalar_of(x.number(), dtype_), shape);
}

Value as_real(const Value& x) { return x.dtype().is_float() ? x : x.cast(dtypes::float32); }
Value as_real(const Value& x, const Value& other) {
  return x.dtype().is_float() || !other.dtype().is_float() ? as_real(x) : x.cast(other.dtype());
}

Axes axes_of(const Axes& axes, std::int64_t ndim, const char* operation) {
  Axes out;
  std::vector<bool> is_there(static_cast<std::size_t>(std::max<std::int64_t>(ndim, 1)), false);
  for (const std::int64_t a : axes) {
    const std::int64_t axis = axis_of(a, ndim, operation);
    const auto place = static_cast<std::size_t>(axis);
    STRATA_CHECK(!is_there[place], shape, "[", operation, "] axis ", a, " is given twice");
    is_there[place] = true;
    out.push_back(axis);
  }
  return out;
}

Axes other_axes(const Axes& axes, std::int64_t ndim) {
  std::vector<bool> is_there(static_cast<std::size_t>(ndim), false);
  for (const std::int64_t a : axes) is_there[static_cast<std::size_t>(a)] = true;
  Axes out;
  for (std::int64_t k = 0; k < ndim; ++k)
    if (!is_there[static_cast<std::size_t>(k)]) out.push_back(k);
  return out;
}

Ints sizes_without(const Ints& shape, const Axes& axes) {
  Ints out;
  for (const std::int64_t k : other_axes(axes, static_cast<std::int64_t>(shape.size())))
    out.push_back(shape[static_cast<std::size_t>(k)]);
  return out;
}

const Int& Value::size(std::int64_t axis) const {
  STRATA_CHECK(ndim() > 0, shape, "[size] a scalar has no axis");
  return shape()[static_cast<std::size_t>(axis_of(axis, ndim(), "size"))];
}

}  // namespace strata::ops

namespace strata {

std::int64_t axis_of(std::int64_t axis, std::int64_t ndim, const char* operation) {
  const std::int64_t most = std::max<std::int64_t>(ndim, 1);
  STRATA_CHECK(-most <= axis && axis < most, shape, "[", operation, "] axis ", axis, " is outside of a tensor of ",
               ndim, " dimensions");
  return axis < 0 ? axis + most : axis;
}

Axes AxesArg::of(std::int64_t ndim, const char* operation) const {
  Axes out;
  if (all_)
    for (std::int64_t a = 0; a < ndim; ++a) out.push_back(a);
  if (!all_) out = ops::axes_of(axes_, ndim, operation);
  if (ndim == 0) out.clear();
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace strata
