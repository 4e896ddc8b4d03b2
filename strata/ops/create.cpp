// Creation of Values from numbers: constants, tables, ranges.

#include <array>
#include <cmath>
#include <numbers>

#include "strata/base/int_math.h"
#include "strata/ops/indexed.h"
#include "strata/ops/operand_promotion.h"

namespace strata::ops {

namespace {

DType default_dtype(const Number& n) {
  const DType d = n.value().dtype();
  return d.is_bool() ? dtypes::boolean : d.is_float() ? dtypes::float32 : dtypes::int64;
}

bool is_real(const Number& n) { return n.value().dtype().is_float(); }
bool is_beyond_i64(const Number& n) { return n.value().dtype() == dtypes::uint64 && (n.value().as_uint() >> 63) != 0; }

/// 0, 1, ..., count - 1 in `dtype`.
Value count_up(std::int64_t count, DType dtype) {
  return Value(LazyOp::iota(dtype, ShapeTracker::from_shape({count})));
}

/// A realized table in host memory.
template <class T>
Value table(std::span<const T> elements, const Ints& shape, DType dtype) {
  const LazyOp out = LazyOp::empty(dtype, shape);
  out.realize_as(std::make_shared<HostTable>(elements));
  return out.copied();  // to the device of the kernel that reads it
}

}  // namespace

Value Value::from(std::span<const std::int64_t> elements, const Ints& shape) {
  return table(elements, shape, dtypes::int64);
}
Value Value::from(std::span<const double> elements, const Ints& shape) {
  return table(elements, shape, dtypes::float64);
}

Value Value::full(const Ints& shape, Number value) { return full(shape, value, default_dtype(value)); }

Value Value::full(const Ints& shape, Number value, DType dtype) {
  STRATA_CHECK(!dtype.is_none() && dtype == dtype.scalar(), domain, "[full] ", dtype.name(),
               " is not the dtype of an element");
  return LazyOp::constant(scalar_of(value, dtype), shape);
}

Value Value::zeros(const Ints& shape, DType dtype) { return full(shape, 0, dtype); }
Value Value::ones(const Ints& shape, DType dtype) { return full(shape, 1, dtype); }

Value Value::full_like(Number value) const { return LazyOp::constant(scalar_of(value, dtype()), shape()); }
Value Value::zeros_like() const { return full_like(0); }
Value Value::ones_like() const { return full_like(1); }

Value Value::arange(Number end) { return arange(0, end, 1); }

Value Value::arange(Number begin, Number end, Number step) {
  const auto check = [&](bool holds) {
    STRATA_CHECK(holds, domain, "[arange] from ", begin.value().text(), " to ", end.value().text(), " by ",
                 step.value().text());
  };
  if (is_real(begin) || is_real(end) || is_real(step)) {
    const double from = begin.value().as_double(), by = step.value().as_double();
    const double count = std::ceil((end.value().as_double() - from) / by);
    check(by != 0 && count >= 0 && count < 0x1p62);
    return (count_up(static_cast<std::int64_t>(count), dtypes::float64) * by + from).cast(dtypes::float32);
  }
  const std::int64_t from = begin.value().as_int(), by = step.value().as_int();
  std::int64_t way = 0;
  check(!is_beyond_i64(begin) && !is_beyond_i64(end) && by != 0 && try_sub(end.value().as_int(), from, way) &&
        way != kNegInf && (way == 0 || (way > 0) == (by > 0)));
  return count_up(-floor_div(-way, by), dtypes::int64) * by + from;
}

Value Value::of(const Expr& integer) {
  if (integer.is_constant()) return full({}, integer.value());
  const std::int64_t least = integer.vmin();
  const View at = View::create({}, Ints{}, Int(integer - least));
  return Value(LazyOp::iota(dtypes::int64, ShapeTracker({at}))) + least;
}

namespace {

/// linspace() of a symbolic number of steps: each element by the formula of numbers.
Value spaced_by_size(double begin, double end, const Int& steps, DType dtype) {
  const Value count = Value::of(steps.expr()), parts = (count - 1).maximum(1).cast(dtypes::float64);
  const Value k = counting(steps), at = k.cast(dtypes::float64);
  const auto shared = [&](double whole) { return Value::full({}, whole, dtypes::float64) / parts; };
  const Value by = std::isfinite(end - begin) ? shared(end - begin) : shared(end) - shared(begin);
  const Value is_first = (k * 2).lt(count - count.remainder(2)) | k.eq(0);
  return is_first.where(at * by + begin, (parts - at) * -by + end).cast(dtype);
}

}  // namespace

Value Value::linspace(double begin, double end, const Int& steps, DType dtype) {
  if (steps.is_number()) return linspace(begin, end, steps.value(), dtype);
  STRATA_CHECK(known(is_at_most(0, steps)), domain, "[linspace] ", steps.render(), " steps");
  return spaced_by_size(begin, end, steps, dtype);
}

Value Value::linspace(double begin, double end, std::int64_t steps, DType dtype) {
  STRATA_CHECK(steps >= 0, domain, "[linspace] ", steps, " steps");
  if (steps < 2) return full({steps}, begin, dtypes::float64).cast(dtype);
  const std::int64_t last = steps - 1;
  const auto parts = static_cast<double>(last);
  // The difference of two finite ends may overflow.
  const double by = std::isfinite(end - begin) ? (end - begin) / parts : end / parts - begin / parts;
  const Value k = count_up(steps, dtypes::float64);
  return k.lt(std::floor(static_cast<double>(steps) / 2)).where(k * by + begin, end - (parts - k) * by).cast(dtype);
}

Value Value::eye(std::int64_t rows, std::optional<std::int64_t> columns, DType dtype) {
  const std::int64_t n = columns.value_or(rows);
  STRATA_CHECK(rows >= 0 && n >= 0, shape, "[eye] ", rows, " rows and ", n, " columns");
  return count_up(rows, dtypes::int64).unsqueeze(1).eq(count_up(n, dtypes::int64)).cast(dtype);
}

namespace {

/// The sum of factors[j] * cos(2 pi j k / period) for k from 0 to size - 1. A symmetric window's period ends at its
/// last element.
Value cosine_window(const char* name, std::int64_t size, bool is_periodic, DType dtype,
                    std::span<const double> factors) {
  STRATA_CHECK(size >= 0, domain, "[", name, "] a window of ", size, " elements");
  STRATA_CHECK(dtype.is_float(), domain, "[", name, "] ", dtype.name(), " is no dtype of floats");
  if (size < 2) return Value::ones({size}, dtype);
  const Value angle =
      count_up(size, dtypes::float64) * (2 * std::numbers::pi / static_cast<double>(size - (is_periodic ? 0 : 1)));
  Value out = angle * 0 + factors[0];
  for (std::size_t j = 1; j < factors.size(); ++j) out = out + (angle * static_cast<double>(j)).cos() * factors[j];
  return out.cast(dtype);
}

}  // namespace

Value Value::hann_window(std::int64_t size, bool periodic, DType dtype) {
  return cosine_window("hann_window", size, periodic, dtype, std::array{0.5, -0.5});
}
Value Value::hamming_window(std::int64_t size, bool periodic, DType dtype) {
  return cosine_window("hamming_window", size, periodic, dtype, std::array{0.54, -0.46});
}
Value Value::blackman_window(std::int64_t size, bool periodic, DType dtype) {
  return cosine_window("blackman_window", size, periodic, dtype, std::array{0.42, -0.5, 0.08});
}

Value Value::new_full(const Ints& to, Number value) const {
  return Value(LazyOp::constant(scalar_of(value, dtype()), to));
}
Value Value::new_zeros(const Ints& to) const { return new_full(to, 0); }
Value Value::new_ones(const Ints& to) const { return new_full(to, 1); }

Value Value::logspace(double begin, double end, std::int64_t steps, double base, DType dtype) {
  const Value powers = full({}, base, dtypes::float64).pow(linspace(begin, end, steps, dtypes::float64));
  const Value k = arange(steps);
  const Value to_last = k.lt(steps - 1).where(powers, std::pow(base, end));
  return k.lt(1).where(std::pow(base, begin), to_last).cast(dtype);
}

}  // namespace strata::ops
