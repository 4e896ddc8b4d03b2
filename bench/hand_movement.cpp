// By hand: transposes, windows, pooling.
#include <algorithm>

#include "bench/hand.h"
#include "bench/lanes.h"

namespace strata::bench {

namespace {

/// The square at `from`, transposed to `to`, past the caches.
void transpose_square(const float* from, std::int64_t from_row, float* to, std::int64_t to_row) {
  Square square;
  for (std::int64_t r = 0; r < kLanes; ++r) square[static_cast<std::size_t>(r)] = load(from + r * from_row);
  transpose(square);
  for (std::int64_t r = 0; r < kLanes; ++r) store_past_caches(to + r * to_row, square[static_cast<std::size_t>(r)]);
}

/// A turn is kLanes rows of the input, which are read in order: what is written past the caches may lie anywhere.
void transpose_rows(const Operands& o, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin * kLanes; i < end * kLanes; i += kLanes)
    for (std::int64_t j = 0; j < o.n; j += kLanes)
      transpose_square(o.in[0] + i * o.n + j, o.n, o.out + j * o.m + i, o.m);
  fence();
}

constexpr std::int64_t kImage = 56, kPixels = kImage * kImage, kChannels = 64;

/// A turn is one image: (64, 3136) to (3136, 64).
void to_nhwc(const Operands& o, std::int64_t begin, std::int64_t end) {
  for (std::int64_t image = begin; image < end; ++image) {
    const float* const from = o.in[0] + image * kChannels * kPixels;
    float* const to = o.out + image * kChannels * kPixels;
    for (std::int64_t c = 0; c < kChannels; c += kLanes)
      for (std::int64_t p = 0; p < kPixels; p += kLanes)
        transpose_square(from + c * kPixels + p, kPixels, to + p * kChannels + c, kChannels);
  }
  fence();
}

/// The values of `window` at (i, j) are those of the input at (m + 7 - i, m + 7 - j), and zeros in the first 8 rows and
/// columns. A turn is a row.
void window(const Operands& o, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kZeros = 8, kHead = 16;
  for (std::int64_t i = begin; i < end; ++i) {
    float* const out = o.out + i * o.m;
    if (i < kZeros) {
      std::fill(out, out + o.m, 0.0F);
      continue;
    }
    const float* const last = o.in[0] + (o.m + 7 - i) * o.m + o.m + 7;  // of column 0
    std::fill(out, out + kZeros, 0.0F);
    for (std::int64_t j = kZeros; j < kHead; ++j) out[j] = last[-j];
    for (std::int64_t j = kHead; j < o.m; j += kLanes)
      store_past_caches(out + j, reverse(load(last - j - (kLanes - 1))));
  }
  fence();
}

/// The largest of three neighbours, for each lane.
Floats largest_of_three(const float* x) { return max(max(load(x), load(x + 1)), load(x + 2)); }

/// A turn is one image, column of vectors by column: each row's largest of three is there for three rows of the output.
/// The last column of vectors overlaps the one before.
void maxpool(const Operands& o, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kOut = kImage - 2;
  for (std::int64_t image = begin; image < end; ++image)
    for (std::int64_t v = 0; v < kOut; v += kLanes) {
      const std::int64_t j = std::min(v, kOut - kLanes);
      const float* const a = o.in[0] + image * kPixels + j;
      float* const out = o.out + image * kOut * kOut + j;
      Floats above = largest_of_three(a), here = largest_of_three(a + kImage);
      for (std::int64_t i = 0; i < kOut; ++i) {
        const Floats below = largest_of_three(a + (i + 2) * kImage);
        store(out + i * kOut, max(max(above, here), below));
        above = here;
        here = below;
      }
    }
}

}  // namespace

HandKernel hand_movement(Work work, const Operands& o) {
  switch (work) {
    case Work::transpose: return {o.m / kLanes, 4, transpose_rows};
    case Work::to_nhwc: return {o.m, 4, to_nhwc};
    case Work::window: return {o.m, 4, window};
    default: return {o.m, 4, maxpool};
  }
}

HandKernel hand_kernel(Work work, const Operands& o) {
  if (work <= Work::tanh_chain || work == Work::broadcast_add || work >= Work::copy) return hand_elements(work, o);
  if (work <= Work::layernorm) return hand_reduction(work, o);
  if (work <= Work::maxpool) return hand_movement(work, o);
  return hand_contraction(work, o);
}

}  // namespace strata::bench
