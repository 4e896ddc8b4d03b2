// A typed scalar, and the meaning of arithmetic's edges:
//
// - integers wrap modulo 2^bits;
// - to an integer from a float: towards zero, the nearest end where it does not fit, 0 for NaN;
// - to a float: to nearest, ties to even, beyond the largest to infinity;
// - to bool: whether it is not 0 (NaN is not);
// - f16 and bf16 values are held widened, exactly.
#pragma once

#include <cstdint>
#include <string>

#include "strata/dtype/dtype.h"

namespace strata {

/// One value of a scalar dtype. Compares by dtype and bits: -0.0 is not 0.0, a NaN equals itself.
class Scalar {
 public:
  Scalar() : Scalar(false) {}
  explicit Scalar(bool v) : dtype_(dtypes::boolean), i_(v ? 1 : 0) {}
  explicit Scalar(std::int32_t v) : dtype_(dtypes::int32), i_(v) {}
  explicit Scalar(std::int64_t v) : dtype_(dtypes::int64), i_(v) {}
  explicit Scalar(float v);
  explicit Scalar(double v) : dtype_(dtypes::float64), f_(v) {}
  /// `v` converted to `dtype`. @throws Error (domain) unless dtype is a scalar.
  static Scalar of(DType dtype, std::int64_t v);
  static Scalar of(DType dtype, std::uint64_t v);
  static Scalar of(DType dtype, double v);
  /// The value whose representation in memory is the low bits of `bits`.
  static Scalar from_bits(DType dtype, std::uint64_t bits);

  DType dtype() const { return dtype_; }
  /// The representation in memory, in the low bits.
  std::uint64_t bits() const;
  Scalar cast(DType to) const;
  /// The same bits. @throws Error (domain) where sizes differ.
  Scalar bitcast(DType to) const;

  bool as_bool() const;
  std::int64_t as_int() const;    ///< cast to i64
  std::uint64_t as_uint() const;  ///< cast to u64
  double as_double() const;       ///< cast to f64
  bool is_nan() const;

  /// Shortest text that reads back to the same value: "2.0", "-0.0", "3", "True", "nan", "inf", "1e-45".
  std::string text() const;
  friend bool operator==(const Scalar& a, const Scalar& b) {
    return a.dtype_ == b.dtype_ && a.bits() == b.bits();
  }

 private:
  DType dtype_;
  union {
    std::int64_t i_;   // bool and signed, sign-extended
    std::uint64_t u_;  // unsigned
    double f_;         // floats, widened
  };
};

/// Reads and writes one element in memory. @pre `at` holds dtype.itemsize() bytes; need not be aligned
Scalar load_scalar(DType dtype, const void* at);
void store_scalar(const Scalar& value, void* at);

// Conversions between representations, exact or to nearest even.
float f16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_f16(float value);
std::uint16_t f64_to_f16(double value);
float bf16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_bf16(float value);
std::uint16_t f64_to_bf16(double value);

/// Distance in units of the last place of `dtype` between two values of it, as floats are ordered; 0 for two NaN, the
/// largest number for a NaN and another; +0 and -0 are 0 apart. @pre both are of the same float dtype
std::uint64_t ulp_distance(const Scalar& a, const Scalar& b);

}  // namespace strata
