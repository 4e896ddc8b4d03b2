// Quantised numbers: integers that stand for floats, as ONNX's QuantizeLinear and DequantizeLinear define them.

#include <cmath>

#include "strata/ops/operand_promotion.h"

namespace strata::ops {

namespace {

/// A scale or zero point beside x, as a Value of `dtype`: numbers of the indices of `axis`, or what broadcasts to x.
Value beside_axis(const char* operation, const char* what, const Operand& given, const Value& x,
                  std::optional<std::int64_t> axis, DType dtype) {
  if (given.value() == nullptr) return Value(LazyOp::constant(scalar_of(given.number(), dtype), Ints{}));
  const Value& values = *given.value();
  if (!axis || values.ndim() == 0) return values.cast(dtype);
  const std::int64_t at = axis_of(*axis, x.ndim(), operation);
  STRATA_CHECK(values.ndim() == 1 && x.ndim() > 0 && values.shape()[0] == x.shape()[static_cast<std::size_t>(at)],
               shape, "[", operation, "] ", what, " of shape ", render(values.shape()), " along axis ", at,
               " of the shape ", render(x.shape()));
  Ints shape(static_cast<std::size_t>(x.ndim()), 1);
  shape[static_cast<std::size_t>(at)] = values.shape()[0];
  return values.cast(dtype).reshape(shape);
}

/// Checks a scale that is a number.
void check_scale(const char* operation, const Operand& scale) {
  if (scale.value() != nullptr) return;
  const Scalar& value = scale.number().value();
  const double narrow = value.cast(dtypes::float32).as_double();
  STRATA_CHECK(std::isfinite(narrow) && narrow > 0, domain, "[", operation, "] a scale of ", value.text(),
               ": a finite number above 0 is expected");
}

/// Checks a zero point: integers, and a number in the range of `dtype`.
void check_zero_point(const char* operation, const Operand& zero, DType dtype) {
  if (zero.value() != nullptr) {
    STRATA_CHECK(zero.value()->dtype().is_int(), domain, "[", operation, "] a zero point of ",
                 zero.value()->dtype().name(), ": integers are expected");
    return;
  }
  const double value = zero.number().value().as_double(), low = lowest(dtype), high = highest(dtype);
  STRATA_CHECK(value == std::trunc(value) && value >= low && value <= high, domain, "[", operation,
               "] a zero point of ", zero.number().value().text(), ": an integer from ", static_cast<std::int64_t>(low),
               " to ", static_cast<std::int64_t>(high), " is expected, a number of ", dtype.name());
}

}  // namespace

Value Value::quantize(const Operand& scale, const Operand& zero_point, DType dtype,
                      std::optional<std::int64_t> axis) const {
  const bool is_narrow =
      dtype == dtypes::int8 || dtype == dtypes::uint8 || dtype == dtypes::int16 || dtype == dtypes::uint16;
  STRATA_CHECK(is_narrow, domain, "[quantize] to ", dtype.name(), ": int8, uint8, int16 or uint16 is expected");
  check_scale("quantize", scale);
  check_zero_point("quantize", zero_point, dtype);
  const Value steps = cast(dtypes::float32) / beside_axis("quantize", "a scale", scale, *this, axis, dtypes::float32);
  const Value zero = beside_axis("quantize", "a zero point", zero_point, *this, axis, dtypes::float32);
  return (steps.round() + zero).clip(Operand(lowest(dtype)), Operand(highest(dtype))).cast(dtype);
}

Value Value::dequantize(const Operand& scale, const Operand& zero_point, std::optional<std::int64_t> axis) const {
  const bool is_narrow = dtype() == dtypes::int8 || dtype() == dtypes::uint8 || dtype() == dtypes::int16 ||
                         dtype() == dtypes::uint16 || dtype() == dtypes::int32;
  STRATA_CHECK(is_narrow, domain, "[dequantize] of ", dtype().name(),
               ": int8, uint8, int16, uint16 or int32 is expected");
  check_scale("dequantize", scale);
  check_zero_point("dequantize", zero_point, dtype());
  const bool is_float = scale.value() != nullptr && scale.value()->dtype().is_float();
  const DType result = is_float ? scale.value()->dtype() : dtypes::float32;
  const Value zero = beside_axis("dequantize", "a zero point", zero_point, *this, axis, dtypes::int32);
  const Value steps = (cast(dtypes::int32) - zero).cast(dtypes::float32);
  return (steps * beside_axis("dequantize", "a scale", scale, *this, axis, dtypes::float32)).cast(result);
}

}  // namespace strata::ops
