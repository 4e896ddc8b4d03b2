// Quantized operators. Products of integers are integers of 32 bits; only scales are floats.
#include "strata/onnx/operators.h"
#include "strata/onnx/sizes.h"

namespace strata::onnx {
namespace {

/// A scale or zero point of each index of `axis`, or of all, beside x.
Tensor beside(const Tensor& value, const Tensor& x, std::int64_t axis) {
  if (value.numel() == Int(1)) return value.reshape({});
  STRATA_CHECK(value.ndim() == 1, shape, "a scale or zero point of shape ", render(value.shape()));
  Ints shape(static_cast<std::size_t>(x.ndim()), 1);
  shape[static_cast<std::size_t>(Call::axis_in(axis, x.ndim()))] = value.numel();
  return value.reshape(shape);
}

/// beside(), or one for each block of elements along the axis.
Tensor beside_blocks(const Call& call, const Tensor& value, const Tensor& x, std::int64_t axis) {
  const std::int64_t block = call.opset() >= 21 ? call.integer("block_size") : 0;
  if (block == 0) return beside(value, x, axis);
  axis = Call::axis_in(axis, x.ndim());
  const std::int64_t size = number_of_size(x, axis);
  STRATA_CHECK(block > 0 && value.ndim() == x.ndim() && value.size(axis) == Int((size + block - 1) / block), shape,
               "scales or zero points of shape ", render(value.shape()), " for blocks of ", block, " along axis ", axis,
               " of the shape ", render(x.shape()));
  Ints repeated, joined;
  for (std::int64_t d = 0; d < x.ndim(); ++d) {
    repeated.push_back(value.size(d));
    if (d == axis) repeated.push_back(block);
    joined.push_back(d == axis ? value.size(d) * Int(block) : value.size(d));
  }
  return value.unsqueeze(axis + 1).expand(repeated).reshape(joined).narrow(axis, 0, size);
}

std::int64_t axis_of(const Call& call) { return call.opset() >= 13 ? call.integer("axis") : 1; }

/// A zero point of rows or columns of a matrix, or of all.
Tensor beside_matrix(const Tensor& zero, bool is_of_rows) {
  if (zero.numel() == Int(1)) return zero.reshape({});
  return is_of_rows && zero.ndim() == 1 ? zero.unsqueeze(-1) : zero;
}

Tensor integer_product(const Call& call, std::size_t a_at, std::size_t a_zero, std::size_t b_at, std::size_t b_zero) {
  Tensor a = call.x(a_at).cast(dtypes::int32), b = call.x(b_at).cast(dtypes::int32);
  if (call.has(a_zero)) a = a - beside_matrix(call.x(a_zero).cast(dtypes::int32), true);
  if (call.has(b_zero)) b = b - beside_matrix(call.x(b_zero).cast(dtypes::int32), false);
  return a.matmul(b).cast(dtypes::int32);
}

}  // namespace

Results quantize_linear(const Call& call) {
  const Tensor x = call.x(0);
  const std::int64_t axis = axis_of(call);
  const Tensor scale = beside_blocks(call, call.x(1), x, axis);
  if (call.has(2)) return {x.quantize(scale, beside_blocks(call, call.x(2), x, axis), call.x(2).dtype())};
  const std::int64_t type = call.opset() >= 21 ? call.integer("output_dtype") : 0;
  return {x.quantize(scale, 0, type == 0 ? dtypes::uint8 : dtype_of_element(type, "the result"))};
}

Results dequantize_linear(const Call& call) {
  const Tensor x = call.x(0);
  const std::int64_t axis = axis_of(call);
  const Tensor scale = beside_blocks(call, call.x(1), x, axis);
  if (!call.has(2)) return {x.dequantize(scale)};
  return {x.dequantize(scale, beside_blocks(call, call.x(2), x, axis))};
}

Results dynamic_quantize_linear(const Call& call) {
  const Tensor x = call.x(0);
  const Tensor low = x.min().minimum(0), high = x.max().maximum(0);
  const Tensor scale = (high - low) / 255;
  const Tensor zero = (-low / scale).clip(Operand(0), Operand(255)).round().cast(dtypes::uint8);
  return {x.quantize(scale, zero, dtypes::uint8), scale, zero};
}

Results product_of_integers(const Call& call) { return {integer_product(call, 0, 2, 1, 3)}; }

Results quantized_product(const Call& call) {
  const Tensor sums = integer_product(call, 0, 2, 3, 5);
  const Tensor scale = beside_matrix(call.x(1), true) * beside_matrix(call.x(4), false) / call.x(6).reshape({});
  const Tensor zero = call.x(7).reshape({});
  return {(sums.cast(dtypes::float32) * scale).quantize(1, zero, zero.dtype())};
}

}  // namespace strata::onnx
