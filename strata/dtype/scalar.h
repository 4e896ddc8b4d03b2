// Scalar: one value of a scalar dtype, its conversions, its text and its bits in memory. Constants of graphs and
// kernels are Scalars, and the interpreters compute with them.
//
// Conversion rules:
// - integer to integer wraps modulo 2^bits;
// - float to integer truncates towards zero, clamps to the integer's range, and gives 0 for NaN;
// - to a float rounds to nearest, ties to even; values beyond the largest finite one become infinity;
// - float to float keeps a NaN a NaN, with its sign;
// - to bool gives `v != 0`, so NaN is true;
// - f16 and bf16 values are held in wider floats, which is exact.
#pragma once

#include <cstdint>
#include <string>

#include "strata/dtype/dtype.h"

namespace strata {

/// One value of a scalar dtype. Two Scalars are equal iff dtype and bits are: -0.0 is not 0.0, and a NaN equals itself.
class Scalar {
 public:
  Scalar() : Scalar(false) {}
  explicit Scalar(bool v) : dtype_(dtypes::boolean), i_(v ? 1 : 0) {}
  explicit Scalar(std::int32_t v) : dtype_(dtypes::int32), i_(v) {}
  explicit Scalar(std::int64_t v) : dtype_(dtypes::int64), i_(v) {}
  explicit Scalar(float v);
  explicit Scalar(double v) : dtype_(dtypes::float64), f_(v) {}
  /// `v` converted to `dtype`, rounded at most once. @throws Error (domain) unless `dtype` is a scalar.
  static Scalar of(DType dtype, std::int64_t v);
  static Scalar of(DType dtype, std::uint64_t v);
  static Scalar of(DType dtype, double v);
  /// The value whose representation in memory is the low bits of `bits`; a bool is true unless its low 8 bits are all
  /// 0.
  /// @throws Error (domain) unless `dtype` is a scalar.
  static Scalar from_bits(DType dtype, std::uint64_t bits);

  DType dtype() const { return dtype_; }
  /// The representation in memory, in the low bits; the others are 0.
  std::uint64_t bits() const;
  /// The value converted to `to`. @throws Error (domain) unless `to` is a scalar.
  Scalar cast(DType to) const;
  /// The value of dtype `to` with the same bits. @throws Error (domain) for different sizes, or unless `to` is a
  /// scalar.
  Scalar bitcast(DType to) const;

  bool as_bool() const;
  std::int64_t as_int() const;    ///< cast to i64
  std::uint64_t as_uint() const;  ///< cast to u64
  double as_double() const;       ///< cast to f64
  bool is_nan() const;

  /// The shortest text that reads back to the same value of this dtype: "2.0", "-0.0", "3", "True", "inf", "1e-45".
  /// Every NaN is "nan".
  std::string text() const;
  friend bool operator==(const Scalar& a, const Scalar& b) { return a.dtype_ == b.dtype_ && a.bits() == b.bits(); }

 private:
  DType dtype_;
  union {
    std::int64_t i_;   // bool, and signed integers sign-extended
    std::uint64_t u_;  // unsigned integers
    double f_;         // floats, widened to double
  };
};

/// Reads or writes one element in memory, in the byte order of the host. @pre `at` points to dtype.itemsize() bytes;
/// any alignment. @throws Error (domain) unless `dtype` is a scalar.
Scalar load_scalar(DType dtype, const void* at);
void store_scalar(const Scalar& value, void* at);

// Conversions of 16-bit floats. Widening is exact; narrowing rounds once, to nearest, ties to even.
float f16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_f16(float value);
std::uint16_t f64_to_f16(double value);
float bf16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_bf16(float value);
std::uint16_t f64_to_bf16(double value);

/// The number of steps, from one float to the next, between two values of one float dtype: 0 for equal values, 1 for
/// neighbours. +0 and -0 are one value here; infinity is the neighbour of the largest finite value. Two NaN have
/// distance 0; a NaN and a number have the largest std::uint64_t.
/// @throws Error (domain) unless both have the same float dtype.
std::uint64_t ulp_distance(const Scalar& a, const Scalar& b);

}  // namespace strata
