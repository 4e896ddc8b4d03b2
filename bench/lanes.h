// Vectors of f32 for the kernels written by hand: as wide as the machine that this is compiled for (-march=native).
//
// Everything is GNU vector code, which clang and GCC both have; a product next to a sum in one expression is one FMA.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__SSE__) && !defined(__clang__)
#include <immintrin.h>
#endif

namespace strata::bench {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64, kVectorRegisters = 32;
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32, kVectorRegisters = 16;
#elif defined(__aarch64__)
inline constexpr int kVectorBytes = 16, kVectorRegisters = 32;
#else
inline constexpr int kVectorBytes = 16, kVectorRegisters = 16;
#endif
inline constexpr std::int64_t kLanes = kVectorBytes / 4;

using Floats = float __attribute__((vector_size(kVectorBytes)));
using Bits = std::int32_t __attribute__((vector_size(kVectorBytes)));

inline Floats load(const float* p) {
  Floats v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void store(float* p, Floats v) { std::memcpy(p, &v, sizeof v); }
inline Floats splat(float x) { return x - Floats{}; }

/// A store past the caches. @pre p is aligned to kVectorBytes
inline void store_past_caches(float* p, Floats v) {
#if defined(__clang__)
  __builtin_nontemporal_store(v, reinterpret_cast<Floats*>(p));
#elif defined(__AVX512F__)
  _mm512_stream_ps(p, reinterpret_cast<__m512>(v));
#elif defined(__AVX__)
  _mm256_stream_ps(p, reinterpret_cast<__m256>(v));
#elif defined(__SSE__)
  _mm_stream_ps(p, reinterpret_cast<__m128>(v));
#else
  store(p, v);
#endif
}
/// Stores before this are seen before stores after it, those past the caches too.
inline void fence() {
#if defined(__SSE__)
  __builtin_ia32_sfence();
#endif
}

template <bool kPastCaches>
void put(float* p, Floats v) {
  if constexpr (kPastCaches)
    store_past_caches(p, v);
  else
    store(p, v);
}

inline Floats max(Floats a, Floats b) { return a > b ? a : b; }
inline Floats min(Floats a, Floats b) { return a < b ? a : b; }

namespace detail {
/// Lane 0 of `op` over all lanes, by turns of halves, quarters, ...
template <std::size_t kWidth>
float fold_lanes(Floats v, auto op) {
  if constexpr (kWidth == 1) {
    return v[0];
  } else {
    const auto rotated = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return __builtin_shufflevector(v, v, ((I + kWidth / 2) % static_cast<std::size_t>(kLanes))...);
    };
    return fold_lanes<kWidth / 2>(op(v, rotated(std::make_index_sequence<static_cast<std::size_t>(kLanes)>())), op);
  }
}
}  // namespace detail

inline float sum_lanes(Floats v) {
  return detail::fold_lanes<static_cast<std::size_t>(kLanes)>(v, [](Floats a, Floats b) { return a + b; });
}
inline float max_lanes(Floats v) {
  return detail::fold_lanes<static_cast<std::size_t>(kLanes)>(v, [](Floats a, Floats b) { return max(a, b); });
}

/// The lanes in reverse order.
inline Floats reverse(Floats v) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return __builtin_shufflevector(v, v, (static_cast<std::size_t>(kLanes) - 1 - I)...);
  }(std::make_index_sequence<static_cast<std::size_t>(kLanes)>());
}

/// e^x within 2 ULP. @pre x in [-87.3, 88.7]
inline Floats exp_in_range(Floats x) {
  constexpr float kShift = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer, in the low bits
  const Floats shifted = x * 1.44269504F + kShift;
  const Floats n = shifted - kShift;
  Floats r = x - n * 0.693359375F;
  r = r + n * 2.12194440e-4F;
  Floats p = r * 1.3888889e-3F + 8.3333333e-3F;
  p = p * r + 4.1666667e-2F;
  p = p * r + 1.6666667e-1F;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  return reinterpret_cast<Floats>(reinterpret_cast<Bits>(p) + (reinterpret_cast<Bits>(shifted) << 23));
}

/// The same for any x: the values at the ends of the range beyond it.
inline Floats exp(Floats x) { return exp_in_range(min(max(x, splat(-87.3F)), splat(88.7F))); }

/// A square of kLanes rows of kLanes lanes.
using Square = std::array<Floats, static_cast<std::size_t>(kLanes)>;

/// Its transpose: log2(kLanes) rounds of perfect shuffles.
inline void transpose(Square& rows) {
  constexpr auto lanes = static_cast<std::size_t>(kLanes);
  const auto interleave = []<std::size_t... I>(Floats a, Floats b, auto high, std::index_sequence<I...>) {
    return __builtin_shufflevector(a, b, (I / 2 + (high ? lanes / 2 : 0) + (I % 2 == 1 ? lanes : 0))...);
  };
  for (std::size_t width = 1; width < lanes; width *= 2) {
    Square next;
    for (std::size_t i = 0; i < lanes / 2; ++i) {
      constexpr auto all = std::make_index_sequence<lanes>();
      next[2 * i] = interleave(rows[i], rows[i + lanes / 2], std::false_type(), all);
      next[2 * i + 1] = interleave(rows[i], rows[i + lanes / 2], std::true_type(), all);
    }
    rows = next;
  }
}

}  // namespace strata::bench
