// Conversions of 16-bit floats. Widening is exact and keeps the payload of a NaN. Narrowing rounds once, from f64 too:
// a detour by f32 would round 1 + 2^-11 + 2^-40 to a tie first, and then to 1.
#include <bit>

#include "strata/dtype/float_bits.h"
#include "strata/dtype/scalar.h"

namespace strata {

namespace {

constexpr FloatFormat kF16 = float_format(dtypes::float16);
constexpr FloatFormat kBf16 = float_format(dtypes::bfloat16);
constexpr FloatFormat kF32 = float_format(dtypes::float32);

float widen(std::uint16_t bits, FloatFormat from) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(convert_float(bits, from, kF32)));
}
std::uint16_t narrow(float value, FloatFormat to) {
  return static_cast<std::uint16_t>(convert_float(std::bit_cast<std::uint32_t>(value), kF32, to));
}
std::uint16_t narrow(double value, FloatFormat to) {
  return static_cast<std::uint16_t>(convert_float(std::bit_cast<std::uint64_t>(value), kF64, to));
}

}  // namespace

float f16_to_f32(std::uint16_t bits) { return widen(bits, kF16); }
std::uint16_t f32_to_f16(float value) { return narrow(value, kF16); }
std::uint16_t f64_to_f16(double value) { return narrow(value, kF16); }
float bf16_to_f32(std::uint16_t bits) { return widen(bits, kBf16); }
std::uint16_t f32_to_bf16(float value) { return narrow(value, kBf16); }
std::uint16_t f64_to_bf16(double value) { return narrow(value, kBf16); }

}  // namespace strata
