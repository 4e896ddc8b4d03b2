// Tensors from numbers and memory.

#include <cmath>

#include "strata/base/int_math.h"
#include "strata/engine/storage.h"
#include "strata/tensor/access.h"

namespace strata {

namespace {

DType default_dtype(const Number& n) {
  const DType d = n.value().dtype();
  return d.is_bool() ? dtypes::boolean : d.is_float() ? dtypes::float32 : dtypes::int64;
}

Tensor constant(const Scalar& value, const Ints& shape, const Device& device) {
  return TensorAccess::of(LazyOp::constant(value, shape), device);
}

bool is_real(const Number& n) { return n.value().dtype().is_float(); }
bool is_beyond_i64(const Number& n) {
  return n.value().dtype() == dtypes::uint64 && (n.value().as_uint() >> 63) != 0;
}

/// 0, 1, ..., count - 1 in `dtype`.
Tensor count_up(std::int64_t count, DType dtype) {
  return TensorAccess::of(LazyOp::iota(dtype, ShapeTracker::from_shape({count})),
                          Device::default_device());
}

}  // namespace

Tensor Tensor::number(const Number& value) {
  return constant(scalar_of(value, default_dtype(value)), {}, Device::default_device());
}

Tensor Tensor::from_elements(const Buffer& elements, const Ints& shape, At at) {
  const OriginScope scope("from", at);
  STRATA_CHECK(product(shape) == Int(elements.size()), shape, "[from] ", elements.size(),
               " elements do not fill shape ", render(shape));
  return TensorAccess::of(leaf_of(elements, shape).copied(), Device::default_device());
}

Tensor Tensor::from(const std::vector<bool>& elements, const Ints& shape, At at) {
  const Buffer buffer = Buffer::allocate(static_cast<std::int64_t>(elements.size()), dtypes::boolean);
  std::copy(elements.begin(), elements.end(), buffer.as<bool>().begin());
  return from_elements(buffer, shape, at);
}

Tensor Tensor::from_buffer(const Buffer& buffer, const Ints& shape, At at) {
  const OriginScope scope("from_buffer", at);
  return TensorAccess::of(leaf_of(buffer, shape), Device::default_device());
}

Tensor Tensor::empty(const Ints& shape, DType dtype, At at) {
  const OriginScope scope("empty", at);
  return TensorAccess::of(LazyOp::empty(dtype, shape), Device::default_device());
}

Tensor Tensor::full(const Ints& shape, Number value, At at) {
  return full(shape, value, default_dtype(value), at);
}

Tensor Tensor::full(const Ints& shape, Number value, DType dtype, At at) {
  const OriginScope scope("full", at);
  STRATA_CHECK(!dtype.is_none() && dtype == dtype.scalar(), domain, "[full] ", dtype.name(),
               " is not the dtype of an element");
  return constant(scalar_of(value, dtype), shape, Device::default_device());
}

Tensor Tensor::zeros(const Ints& shape, DType dtype, At at) { return full(shape, 0, dtype, at); }
Tensor Tensor::ones(const Ints& shape, DType dtype, At at) { return full(shape, 1, dtype, at); }

Tensor Tensor::full_like(Number value, At at) const {
  const OriginScope scope("full_like", at);
  return constant(scalar_of(value, dtype()), shape(), device());
}
Tensor Tensor::zeros_like(At at) const { return full_like(0, at); }
Tensor Tensor::ones_like(At at) const { return full_like(1, at); }

Tensor Tensor::arange(Number end, At at) { return arange(0, end, 1, at); }

Tensor Tensor::arange(Number begin, Number end, Number step, At at) {
  const OriginScope scope("arange", at);
  const auto check = [&](bool holds) {
    STRATA_CHECK(holds, domain, "[arange] from ", begin.value().text(), " to ", end.value().text(),
                 " by ", step.value().text());
  };
  if (is_real(begin) || is_real(end) || is_real(step)) {
    const double from = begin.value().as_double(), by = step.value().as_double();
    const double turns = std::ceil((end.value().as_double() - from) / by);
    check(by != 0 && turns >= 0 && turns < 0x1p62);
    return (count_up(static_cast<std::int64_t>(turns), dtypes::float64) * by + from).cast(dtypes::float32);
  }
  const std::int64_t from = begin.value().as_int(), by = step.value().as_int();
  std::int64_t way = 0;
  check(!is_beyond_i64(begin) && !is_beyond_i64(end) && by != 0 &&
        try_sub(end.value().as_int(), from, way) && way != kNegInf &&
        (way == 0 || (way > 0) == (by > 0)));
  return count_up(-floor_div(-way, by), dtypes::int64) * by + from;
}

Tensor Tensor::linspace(double begin, double end, std::int64_t steps, DType dtype, At at) {
  const OriginScope scope("linspace", at);
  STRATA_CHECK(steps >= 0, domain, "[linspace] ", steps, " steps");
  if (steps < 2) return full({steps}, begin, dtypes::float64, at).cast(dtype);
  const std::int64_t last = steps - 1;
  const auto parts = static_cast<double>(last);
  // Their difference may be beyond the largest number where both are not.
  const double by = std::isfinite(end - begin) ? (end - begin) / parts : end / parts - begin / parts;
  const Tensor k = count_up(steps, dtypes::float64);
  return k.lt(std::floor(static_cast<double>(steps) / 2))
      .where(k * by + begin, end - (parts - k) * by)
      .cast(dtype);
}

Tensor Tensor::eye(std::int64_t rows, std::optional<std::int64_t> columns, DType dtype, At at) {
  const OriginScope scope("eye", at);
  const std::int64_t n = columns.value_or(rows);
  STRATA_CHECK(rows >= 0 && n >= 0, shape, "[eye] ", rows, " rows and ", n, " columns");
  return count_up(rows, dtypes::int64).unsqueeze(1).eq(count_up(n, dtypes::int64)).cast(dtype);
}

}  // namespace strata
