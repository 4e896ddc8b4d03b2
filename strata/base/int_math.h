// 64-bit integer arithmetic with defined rounding and detected overflow.
//
// `floor_div` and `floor_mod` are floor division and floor modulus: floor_mod has the sign of the divisor. The try_*
// functions return false when the result does not fit in 64 bits; functions without the prefix require that it fits.
// The sat_* functions saturate on the extended line: INT64_MIN and INT64_MAX stand for -infinity and +infinity.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <numeric>

namespace strata {

/// For products and sums of 64-bit integers that are compared, or rounded to 64 bits later.
__extension__ using Int128 = __int128;

inline constexpr std::int64_t kNegInf = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kPosInf = std::numeric_limits<std::int64_t>::max();

[[nodiscard]] constexpr bool try_add(std::int64_t a, std::int64_t b, std::int64_t& out) {
  return !__builtin_add_overflow(a, b, &out);
}
[[nodiscard]] constexpr bool try_sub(std::int64_t a, std::int64_t b, std::int64_t& out) {
  return !__builtin_sub_overflow(a, b, &out);
}
[[nodiscard]] constexpr bool try_mul(std::int64_t a, std::int64_t b, std::int64_t& out) {
  return !__builtin_mul_overflow(a, b, &out);
}

/// floor(a / b). @pre b != 0 and not (a == INT64_MIN and b == -1)
constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}
/// a - b * floor(a / b). @pre b != 0.  @post a == b * floor_div(a, b) + floor_mod(a, b)
constexpr std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  if (b == -1) return 0;
  const std::int64_t r = a % b;
  return r + ((r != 0 && (r < 0) != (b < 0)) ? b : 0);
}
[[nodiscard]] constexpr bool try_floor_div(std::int64_t a, std::int64_t b, std::int64_t& out) {
  if (a == kNegInf && b == -1) return false;
  out = floor_div(a, b);
  return true;
}

/// |a| as an unsigned number; defined for INT64_MIN, too.
constexpr std::uint64_t magnitude(std::int64_t a) {
  return a < 0 ? ~static_cast<std::uint64_t>(a) + 1 : static_cast<std::uint64_t>(a);
}
/// The greatest common divisor of |a| and |b|; 0 when both are 0; 1 in the one case that does not fit (2^63).
constexpr std::int64_t gcd(std::int64_t a, std::int64_t b) {
  std::uint64_t x = magnitude(a), y = magnitude(b);
  while (y != 0) {
    const std::uint64_t r = x % y;
    x = y;
    y = r;
  }
  return x > static_cast<std::uint64_t>(kPosInf) ? 1 : static_cast<std::int64_t>(x);
}

/// a + b, or the largest value of T when the sum does not fit.
template <std::unsigned_integral T>
constexpr T saturating_add(T a, T b) {
  const T sum = static_cast<T>(a + b);
  return sum < a ? std::numeric_limits<T>::max() : sum;
}

constexpr bool is_inf(std::int64_t a) { return a == kNegInf || a == kPosInf; }

/// a + b on the extended line. @pre not (-infinity) + (+infinity)
constexpr std::int64_t sat_add(std::int64_t a, std::int64_t b) {
  if (is_inf(a)) return a;
  if (is_inf(b)) return b;
  std::int64_t r = 0;
  if (try_add(a, b, r)) return r;
  return a < 0 ? kNegInf : kPosInf;
}
/// a * b on the extended line, with 0 * infinity == 0.
constexpr std::int64_t sat_mul(std::int64_t a, std::int64_t b) {
  if (a == 0 || b == 0) return 0;
  std::int64_t r = 0;
  if (!is_inf(a) && !is_inf(b) && try_mul(a, b, r)) return r;
  return (a < 0) != (b < 0) ? kNegInf : kPosInf;
}
constexpr std::int64_t sat_neg(std::int64_t a) { return a == kNegInf ? kPosInf : a == kPosInf ? kNegInf : -a; }
/// a - b on the extended line. @pre not an infinity minus the same infinity
constexpr std::int64_t sat_sub(std::int64_t a, std::int64_t b) {
  if (is_inf(a)) return a;
  if (is_inf(b)) return sat_neg(b);
  std::int64_t r = 0;  // not a + (-b): -(INT64_MIN + 1) would be read as infinity
  if (try_sub(a, b, r)) return r;
  return a < 0 ? kNegInf : kPosInf;
}
/// floor(a / c) on the extended line. @pre c > 0
constexpr std::int64_t sat_floor_div(std::int64_t a, std::int64_t c) { return is_inf(a) ? a : floor_div(a, c); }

}  // namespace strata
