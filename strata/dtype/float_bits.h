// Binary floats as bit patterns, for every format up to f64: `convert_float` and `round_to_float` convert between
// formats with one rounding. Scalar computes all its conversions to floats with them. Everything here works in constant
// expressions.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "strata/dtype/dtype.h"

namespace strata {

/// An IEEE 754 interchange format: a sign, an exponent, and a fraction of significand - 1 bits.
struct FloatFormat {
  int significand = 0;   ///< bits of the significand, hidden bit included
  int min_exponent = 0;  ///< exponent of the smallest normal number
  int bits = 0;

  /// The exponent of the smallest subnormal number: every finite value is a multiple of 2^quantum().
  constexpr int quantum() const { return min_exponent - (significand - 1); }
  constexpr std::uint64_t fraction_mask() const { return (std::uint64_t{1} << (significand - 1)) - 1; }
  constexpr std::uint64_t sign_mask() const { return std::uint64_t{1} << (bits - 1); }
  /// The bits of +infinity; larger ones, the sign aside, are NaNs.
  constexpr std::uint64_t infinity() const { return (sign_mask() - 1) & ~fraction_mask(); }
};

/// The format of `dtype`. @pre dtype.is_float()
constexpr FloatFormat float_format(DType dtype) {
  constexpr FloatFormat kFormats[] = {
      {},
#define STRATA_DTYPE(id, kind, bits, name, spec, c, significand, min_exponent) {significand, min_exponent, bits},
#include "strata/dtype/dtypes.def"
  };
  return kFormats[static_cast<std::size_t>(dtype.id())];
}

/// The format of double. It represents the values of all other formats exactly.
inline constexpr FloatFormat kF64 = float_format(dtypes::float64);

/// The bits of significand * 2^exponent in format `to`, with sign bit 0: rounded to nearest, ties to even; infinity
/// beyond the largest finite value. E.g. (3, -1) gives 1.5. @pre -2048 <= exponent <= 2048
constexpr std::uint64_t round_to_float(std::uint64_t significand, int exponent, FloatFormat to) {
  if (significand == 0) return 0;
  const int top = exponent + 63 - std::countl_zero(significand);
  // The exponent of the result's last place. Below the normal numbers it does not sink any further.
  const int last = std::max(top, to.min_exponent) - (to.significand - 1);
  const int dropped = last - exponent;
  if (dropped > 64) return 0;
  std::uint64_t kept = 0;
  if (dropped <= 0) {
    kept = significand << -dropped;
  } else {
    const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
    const std::uint64_t rest = significand & (half | (half - 1));
    kept = dropped == 64 ? 0 : significand >> dropped;
    kept += rest > half || (rest == half && (kept & 1) != 0) ? 1U : 0U;
  }
  // NOTE: the hidden bit of `kept` adds one to the exponent's field, and so does a carry out of the rounding.
  const std::uint64_t out = (static_cast<std::uint64_t>(last - to.quantum()) << (to.significand - 1)) + kept;
  return std::min(out, to.infinity());
}

/// The number `bits` of format `from` in format `to`, rounded once. A NaN keeps its sign and the upper bits of its
/// fraction (so a signalling NaN stays signalling); where none of those is 1, it becomes the quiet NaN.
constexpr std::uint64_t convert_float(std::uint64_t bits, FloatFormat from, FloatFormat to) {
  const std::uint64_t sign = (bits & from.sign_mask()) != 0 ? to.sign_mask() : 0;
  const std::uint64_t size = bits & (from.sign_mask() - 1);
  const std::uint64_t fraction = bits & from.fraction_mask();
  if (size > from.infinity()) {
    const int widened = to.significand - from.significand;
    const std::uint64_t payload = widened >= 0 ? fraction << widened : fraction >> -widened;
    const std::uint64_t quiet = to.fraction_mask() / 2 + 1;
    return sign | to.infinity() | (payload != 0 ? payload : quiet);
  }
  if (size == from.infinity()) return sign | to.infinity();
  const int field = static_cast<int>(size >> (from.significand - 1));
  if (field == 0) return sign | round_to_float(fraction, from.quantum(), to);
  return sign | round_to_float(fraction | (from.fraction_mask() + 1), from.quantum() + field - 1, to);
}

}  // namespace strata
