// Errors in units of the last place, and the true values to measure them against: libm, one precision up.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "strata/ir/ops.h"

namespace strata::test {

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;

template <class T>
using BitsOf = std::conditional_t<std::is_same_v<T, float>, std::uint32_t, std::uint64_t>;
/// The float whose bits are these; above 32 bits those of f32 do not count.
template <class T>
T from_bits(std::uint64_t bits) {
  const auto narrow = static_cast<BitsOf<T>>(bits);
  T out;
  std::memcpy(&out, &narrow, sizeof out);
  return out;
}
template <class T>
std::uint64_t bits_of(T value) {
  BitsOf<T> out;
  std::memcpy(&out, &value, sizeof out);
  return out;
}

/// A binary floating-point format, in the terms of std::numeric_limits.
struct Places {
  int digits, min_exponent, max_exponent;
};
template <class T>
constexpr Places places_of() {
  using Limits = std::numeric_limits<T>;
  return {Limits::digits, Limits::min_exponent, Limits::max_exponent};
}

/// |got - want| in units of the last place of the format at `want`; 0 for two NaN or two equal infinities, infinity
/// where a NaN, an infinity or a sign is not as it should be. An infinite `got` is the first number beyond the largest.
template <class W>
double ulp_error(W got, W want, const Places& format) {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(want)) return std::isnan(got) ? 0 : wrong;
  if (std::isnan(got) || std::signbit(got) != std::signbit(want)) return wrong;
  if (want == 0) return got == 0 ? 0 : wrong;
  if (std::isinf(want)) return std::isinf(got) ? 0 : wrong;
  const int exponent = std::clamp(std::ilogb(want), format.min_exponent - 1, format.max_exponent - 1);
  const W unit = std::ldexp(W(1), exponent - format.digits + 1);
  const W beyond = std::ldexp(W(1), format.max_exponent);
  if (std::isinf(got) && std::fabs(want) >= beyond) return 0;
  const W value = std::isinf(got) ? std::copysign(beyond, got) : got;
  return static_cast<double>(std::fabs(value - want) / unit);
}
template <class T>
double ulp_error(T got, Wide<T> want) {
  return ulp_error<Wide<T>>(got, want, places_of<T>());
}

/// The functions with decompositions, on any float type. @pre `op` is one of them
template <class W>
W true_value(Ops op, W x, W y) {
  switch (op) {
    case Ops::EXP2: return std::exp2(x);
    case Ops::EXP: return std::exp(x);
    case Ops::EXPM1: return std::expm1(x);
    case Ops::LOG2: return std::log2(x);
    case Ops::LOG: return std::log(x);
    case Ops::LOG1P: return std::log1p(x);
    case Ops::SIN: return std::sin(x);
    case Ops::COS: return std::cos(x);
    case Ops::TAN: return std::tan(x);
    case Ops::ATAN: return std::atan(x);
    case Ops::ATAN2: return std::atan2(x, y);
    case Ops::TANH: return std::tanh(x);
    case Ops::ERF: return std::erf(x);
    case Ops::POW: return std::pow(x, y);
    case Ops::RECIP: return 1 / x;
    case Ops::MOD: return std::fmod(x, y);
    default: return std::numeric_limits<W>::quiet_NaN();
  }
}

}  // namespace strata::test
