// Scalar: typed scalars. Every value is made from its bits, so one function wraps integers and one rounds floats
// (float_bits.h).
#include "strata/dtype/scalar.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "strata/base/check.h"
#include "strata/dtype/float_bits.h"

namespace strata {

namespace {

void check_scalar(DType dtype, std::string_view operation) {
  STRATA_CHECK(!dtype.is_none() && !dtype.is_vector() && !dtype.is_pointer(), domain, "[", operation, "] ",
               dtype.name(), " is not a scalar dtype");
}

std::uint64_t mask(int bits) { return ~std::uint64_t{0} >> (64 - bits); }

// The bits of the integer +magnitude or -magnitude, converted to `dtype`.
std::uint64_t integer_bits(DType dtype, bool negative, std::uint64_t magnitude) {
  if (dtype.is_bool()) return magnitude != 0 ? 1 : 0;
  if (dtype.is_int()) return negative ? 0 - magnitude : magnitude;
  const FloatFormat to = float_format(dtype);
  return round_to_float(magnitude, 0, to) | (negative ? to.sign_mask() : 0);
}

// The bits of v truncated towards zero; clamped to the range of `dtype`; 0 for NaN.
std::uint64_t truncated_bits(DType dtype, double v) {
  if (std::isnan(v)) return 0;
  const int value_bits = dtype.is_unsigned() ? dtype.bits() : dtype.bits() - 1;
  // NOTE: the double 2^value_bits is exact, the largest integer may not be.
  if (v >= std::ldexp(1.0, value_bits)) return mask(value_bits);
  if (v <= lowest(dtype)) return dtype.is_unsigned() ? 0 : ~mask(value_bits);
  return dtype.is_unsigned() ? static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(static_cast<std::int64_t>(v));
}

}  // namespace

Scalar::Scalar(float v) : Scalar(from_bits(dtypes::float32, std::bit_cast<std::uint32_t>(v))) {}

Scalar Scalar::of(DType dtype, std::int64_t v) {
  check_scalar(dtype, "scalar");
  const auto bits = static_cast<std::uint64_t>(v);
  return from_bits(dtype, integer_bits(dtype, v < 0, v < 0 ? 0 - bits : bits));
}

Scalar Scalar::of(DType dtype, std::uint64_t v) {
  check_scalar(dtype, "scalar");
  return from_bits(dtype, integer_bits(dtype, false, v));
}

Scalar Scalar::of(DType dtype, double v) {
  check_scalar(dtype, "scalar");
  if (dtype.is_bool()) return from_bits(dtype, v != 0 ? 1 : 0);
  if (dtype.is_int()) return from_bits(dtype, truncated_bits(dtype, v));
  return from_bits(dtype, convert_float(std::bit_cast<std::uint64_t>(v), kF64, float_format(dtype)));
}

Scalar Scalar::from_bits(DType dtype, std::uint64_t bits) {
  check_scalar(dtype, "from_bits");
  bits &= mask(dtype.bits());
  Scalar out;
  out.dtype_ = dtype;
  switch (dtype.kind()) {
    case DTypeKind::boolean: out.i_ = bits != 0 ? 1 : 0; break;
    case DTypeKind::sint: {
      const std::uint64_t sign = std::uint64_t{1} << (dtype.bits() - 1);
      out.i_ = static_cast<std::int64_t>((bits ^ sign) - sign);
      break;
    }
    case DTypeKind::uint: out.u_ = bits; break;
    case DTypeKind::floating: out.f_ = std::bit_cast<double>(convert_float(bits, float_format(dtype), kF64)); break;
  }
  return out;
}

std::uint64_t Scalar::bits() const {
  if (dtype_.is_float()) return convert_float(std::bit_cast<std::uint64_t>(f_), kF64, float_format(dtype_));
  return dtype_.is_unsigned() ? u_ : static_cast<std::uint64_t>(i_) & mask(dtype_.bits());
}

Scalar Scalar::cast(DType to) const {
  if (dtype_.is_float()) return of(to, f_);
  return dtype_.is_unsigned() ? of(to, u_) : of(to, i_);
}

Scalar Scalar::bitcast(DType to) const {
  check_scalar(to, "bitcast");
  STRATA_CHECK(dtype_.bits() == to.bits(), domain, "[bitcast] ", dtype_.name(), " and ", to.name(), " differ in size");
  return from_bits(to, bits());
}

bool Scalar::as_bool() const { return cast(dtypes::boolean).i_ != 0; }
std::int64_t Scalar::as_int() const { return cast(dtypes::int64).i_; }
std::uint64_t Scalar::as_uint() const { return cast(dtypes::uint64).u_; }
double Scalar::as_double() const { return cast(dtypes::float64).f_; }
bool Scalar::is_nan() const { return dtype_.is_float() && std::isnan(f_); }

Scalar load_scalar(DType dtype, const void* at) {
  check_scalar(dtype, "load");
  const auto read = [&]<class T>(T word) {
    std::memcpy(&word, at, sizeof(word));
    return Scalar::from_bits(dtype, word);
  };
  switch (dtype.bits()) {
    case 8: return read(std::uint8_t{});
    case 16: return read(std::uint16_t{});
    case 32: return read(std::uint32_t{});
    default: return read(std::uint64_t{});
  }
}

void store_scalar(const Scalar& value, void* at) {
  const std::uint64_t bits = value.bits();
  const auto write = [&]<class T>(T) {
    const T word = static_cast<T>(bits);
    std::memcpy(at, &word, sizeof(word));
  };
  switch (value.dtype().bits()) {
    case 8: return write(std::uint8_t{});
    case 16: return write(std::uint16_t{});
    case 32: return write(std::uint32_t{});
    default: return write(std::uint64_t{});
  }
}

std::uint64_t ulp_distance(const Scalar& a, const Scalar& b) {
  STRATA_CHECK(a.dtype() == b.dtype() && a.dtype().is_float(), domain, "[ulp_distance] ", a.dtype().name(), " and ",
               b.dtype().name(), " are not the same float dtype");
  if (a.is_nan() || b.is_nan()) return a.is_nan() && b.is_nan() ? 0 : std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t sign = float_format(a.dtype()).sign_mask();
  const std::uint64_t x = a.bits() & (sign - 1), y = b.bits() & (sign - 1);
  if (((a.bits() ^ b.bits()) & sign) != 0) return x + y;
  return x > y ? x - y : y - x;
}

}  // namespace strata
