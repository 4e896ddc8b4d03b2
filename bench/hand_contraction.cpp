// By hand: matrix products with tiles of sums in registers, convolution and attention on top of them.
#include <algorithm>
#include <vector>

#include "bench/hand.h"
#include "bench/lanes.h"

namespace strata::bench {

namespace {

/// The tile of c that stays in registers: rows times two vectors.
constexpr int kRows = kVectorRegisters == 32 ? 14 : 6;
constexpr std::int64_t kTileColumns = 2 * kLanes;

/// One tile: c = (kAdd ? c : 0) + a @ b. Element (r, p) of a is at a[r * a_row + p * a_column].
template <int kCount, bool kAdd>
void tile(const float* a, std::int64_t a_row, std::int64_t a_column, const float* b, std::int64_t b_row, float* c,
          std::int64_t c_row, std::int64_t k) {
  Floats sums[kCount][2] = {};
  for (std::int64_t p = 0; p < k; ++p) {
    const Floats b0 = load(b + p * b_row), b1 = load(b + p * b_row + kLanes);
#pragma GCC unroll 14
    for (int r = 0; r < kCount; ++r) {
      const Floats x = splat(a[r * a_row + p * a_column]);
      sums[r][0] = x * b0 + sums[r][0];
      sums[r][1] = x * b1 + sums[r][1];
    }
  }
#pragma GCC unroll 14
  for (int r = 0; r < kCount; ++r) {
    float* const to = c + r * c_row;
    store(to, kAdd ? load(to) + sums[r][0] : sums[r][0]);
    store(to + kLanes, kAdd ? load(to + kLanes) + sums[r][1] : sums[r][1]);
  }
}

using Tile = void (*)(const float*, std::int64_t, std::int64_t, const float*, std::int64_t, float*, std::int64_t,
                      std::int64_t);
template <bool kAdd, int... kCount>
constexpr std::array<Tile, sizeof...(kCount)> tiles_of(std::integer_sequence<int, kCount...>) {
  return {tile<kCount + 1, kAdd>...};
}
/// The tile of `rows` rows, 1 to kRows.
Tile tile_of(std::int64_t rows, bool add) {
  constexpr auto fresh = tiles_of<false>(std::make_integer_sequence<int, kRows>());
  constexpr auto more = tiles_of<true>(std::make_integer_sequence<int, kRows>());
  return (add ? more : fresh)[static_cast<std::size_t>(rows - 1)];
}

/// Rows cut into pieces of at most kRows that are as even as can be: the first row of piece i of `pieces`.
std::int64_t piece(std::int64_t rows, std::int64_t pieces, std::int64_t i) { return rows * i / pieces; }
std::int64_t pieces_of(std::int64_t rows) { return (rows + kRows - 1) / kRows; }

// --- large ones: both sides packed, so that every load of the inner loop is the next one ---

constexpr std::int64_t kDepth = 256;   // a panel of b is 32 KiB: with one of a in the nearest cache
constexpr std::int64_t kWidth = 1024;  // a block of b is 1 MiB: in the cache behind it

/// Rows [0, depth) of b as panels of kTileColumns columns.
void pack_columns(const float* b, std::int64_t b_row, std::int64_t depth, std::int64_t width, float* to) {
  for (std::int64_t p = 0; p < depth; ++p)
    for (std::int64_t j = 0; j < width; j += kTileColumns) {
      float* const at = to + j * depth + p * kTileColumns;
      store(at, load(b + p * b_row + j));
      store(at + kLanes, load(b + p * b_row + j + kLanes));
    }
}

void pack_rows(const float* a, std::int64_t a_row, std::int64_t rows, std::int64_t depth, float* to) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t p = 0; p < depth; ++p) to[p * rows + r] = a[r * a_row + p];
}

/// Rows [top, bottom) and columns [left, right) of the product.
void matmul_packed(const Operands& o, std::int64_t top, std::int64_t bottom, std::int64_t left, std::int64_t right) {
  static thread_local std::vector<float> storage(static_cast<std::size_t>(kDepth * kWidth + kRows * kDepth + kLanes));
  float* const b = storage.data();
  float* const a = b + kDepth * kWidth;
  const std::int64_t rows = bottom - top, pieces = pieces_of(rows);
  for (std::int64_t j = left; j < right; j += kWidth) {
    const std::int64_t width = std::min(kWidth, right - j);
    for (std::int64_t p = 0; p < o.k; p += kDepth) {
      const std::int64_t depth = std::min(kDepth, o.k - p);
      pack_columns(o.in[1] + p * o.n + j, o.n, depth, width, b);
      for (std::int64_t i = 0; i < pieces; ++i) {
        const std::int64_t first = piece(rows, pieces, i), count = piece(rows, pieces, i + 1) - first;
        pack_rows(o.in[0] + (top + first) * o.k + p, o.k, count, depth, a);
        const Tile run = tile_of(count, p > 0);
        for (std::int64_t t = 0; t < width; t += kTileColumns)
          run(a, 1, count, b + t * depth, kTileColumns, o.out + (top + first) * o.n + j + t, o.n, depth);
      }
    }
  }
}

/// b fits in a cache and is read where it lies.
bool is_small(const Operands& o) { return o.n * o.k <= (1 << 16); }

void matmul_rows(const Operands& o, std::int64_t begin, std::int64_t end) {
  const std::int64_t pieces = pieces_of(o.m), top = piece(o.m, pieces, begin), bottom = piece(o.m, pieces, end);
  if (is_small(o))
    matmul_in_place(o.in[0] + top * o.k, o.k, o.in[1], o.n, o.out + top * o.n, o.n, bottom - top, o.n, o.k);
  else
    matmul_packed(o, top, bottom, 0, o.n);
}

/// A turn is this many columns.
constexpr std::int64_t kColumns = 512;
void matmul_columns(const Operands& o, std::int64_t begin, std::int64_t end) {
  matmul_packed(o, 0, o.m, begin * kColumns, std::min(end * kColumns, o.n));
}

/// One row: eight rows of b at a time, added to sums that stay in the nearest cache.
void matvec(const Operands& o, std::int64_t begin, std::int64_t end) {
  const std::int64_t from = begin * kColumns, to = std::min(end * kColumns, o.n);
  std::fill(o.out + from, o.out + to, 0.0F);
  for (std::int64_t p = 0; p < o.k; p += 8) {
    Floats x[8];
    for (int r = 0; r < 8; ++r) x[r] = splat(o.in[0][p + r]);
    for (std::int64_t j = from; j < to; j += kLanes) {
      const float* const b = o.in[1] + p * o.n + j;
      Floats even = load(o.out + j), odd = {};
      for (int r = 0; r < 8; r += 2) {
        even = x[r] * load(b + r * o.n) + even;
        odd = x[r + 1] * load(b + (r + 1) * o.n) + odd;
      }
      store(o.out + j, even + odd);
    }
  }
}

// --- convolution: with its zeros around it an image is one line, and so is each tap of the window ---

constexpr std::int64_t kImage = 56, kPadded = kImage + 2, kLine = kImage * kPadded;
constexpr std::int64_t kPlane = kPadded * kPadded + 64;  // what the last vector reads too much
constexpr std::int64_t kMaps = 8;                        // output channels at a time
constexpr int kLineVectors = kVectorRegisters == 32 ? 3 : 1;
constexpr std::int64_t kBlock = kLineVectors * kLanes;
constexpr std::int64_t kSums = (kLine + kBlock - 1) / kBlock * kBlock;

/// Scratch memory: the padded image, the weights by blocks of kMaps, the sums of each output channel.
struct ConvScratch {
  explicit ConvScratch(const Operands& o)
      : image(o.scratch), weights(image + o.m * kPlane), sums(weights + o.m * o.n * 9) {}
  float *image, *weights, *sums;
};

void start_conv(const Operands& o) {
  const ConvScratch s(o);
  std::fill(s.image, s.image + o.m * kPlane, 0.0F);
  for (std::int64_t c = 0; c < o.m; ++c)
    for (std::int64_t i = 0; i < kImage; ++i)
      std::copy_n(o.in[0] + (c * kImage + i) * kImage, kImage, s.image + c * kPlane + (i + 1) * kPadded + 1);
  for (std::int64_t f = 0; f < o.n; ++f)
    for (std::int64_t t = 0; t < o.m * 9; ++t)
      s.weights[f / kMaps * kMaps * o.m * 9 + t * kMaps + f % kMaps] = o.in[1][f * o.m * 9 + t];
}

/// The sums of kMaps channels at kBlock places from `at` on.
void conv_block(const Operands& o, const float* weights, std::int64_t at, float* out) {
  const ConvScratch s(o);
  Floats sums[kMaps][kLineVectors] = {};
  for (std::int64_t c = 0; c < o.m; ++c)
    for (std::int64_t tap = 0; tap < 9; ++tap, weights += kMaps) {
      const float* const x = s.image + c * kPlane + tap / 3 * kPadded + tap % 3 + at;
      Floats v[kLineVectors];
      for (int i = 0; i < kLineVectors; ++i) v[i] = load(x + i * kLanes);
#pragma GCC unroll 8
      for (std::int64_t f = 0; f < kMaps; ++f)
#pragma GCC unroll 3
        for (int i = 0; i < kLineVectors; ++i) sums[f][i] = weights[f] * v[i] + sums[f][i];
    }
  for (std::int64_t f = 0; f < kMaps; ++f)
    for (int i = 0; i < kLineVectors; ++i) store(out + f * kSums + i * kLanes, sums[f][i]);
}

/// A turn is kMaps output channels.
void conv(const Operands& o, std::int64_t begin, std::int64_t end) {
  const ConvScratch s(o);
  for (std::int64_t f = begin * kMaps; f < end * kMaps; f += kMaps) {
    for (std::int64_t at = 0; at < kSums; at += kBlock)
      conv_block(o, s.weights + f * o.m * 9, at, s.sums + f * kSums + at);
    for (std::int64_t map = f; map < f + kMaps; ++map)
      for (std::int64_t i = 0; i < kImage; ++i)
        std::copy_n(s.sums + map * kSums + i * kPadded, kImage, o.out + (map * kImage + i) * kImage);
  }
}

// --- attention: a turn is one head ---

constexpr std::int64_t kHead = 64, kQueries = std::int64_t{2} * kRows;

void attention(const Operands& o, std::int64_t begin, std::int64_t end) {
  std::vector<float> keys(static_cast<std::size_t>(kHead * o.n));
  std::vector<float> scores(static_cast<std::size_t>(kQueries * o.n));
  for (std::int64_t head = begin; head < end; ++head) {
    const std::int64_t at = head * o.n * kHead;
    for (std::int64_t i = 0; i < o.n; ++i)
      for (std::int64_t d = 0; d < kHead; ++d)
        keys[static_cast<std::size_t>(d * o.n + i)] = o.in[1][at + i * kHead + d];
    for (std::int64_t q = 0; q < o.n; q += kQueries) {
      const std::int64_t count = std::min(kQueries, o.n - q);
      matmul_in_place(o.in[0] + at + q * kHead, kHead, keys.data(), o.n, scores.data(), o.n, count, o.n, kHead);
      for (std::int64_t r = 0; r < count; ++r)
        softmax_row(scores.data() + r * o.n, 0.125F, scores.data() + r * o.n, o.n);
      matmul_in_place(scores.data(), o.n, o.in[2] + at, kHead, o.out + at + q * kHead, kHead, count, kHead, o.n);
    }
  }
}

}  // namespace

void matmul_in_place(const float* a, std::int64_t a_row, const float* b, std::int64_t b_row, float* c,
                     std::int64_t c_row, std::int64_t m, std::int64_t n, std::int64_t k) {
  const std::int64_t pieces = pieces_of(m);
  for (std::int64_t j = 0; j < n; j += kTileColumns)
    for (std::int64_t i = 0; i < pieces; ++i) {
      const std::int64_t first = piece(m, pieces, i), count = piece(m, pieces, i + 1) - first;
      tile_of(count, false)(a + first * a_row, a_row, 1, b + j, b_row, c + first * c_row + j, c_row, k);
    }
}

HandKernel hand_contraction(Work work, const Operands& o) {
  const std::int64_t columns = (o.n + kColumns - 1) / kColumns;
  if (work == Work::conv) return {o.n / kMaps, 1, conv, start_conv};
  if (work == Work::attention) return {o.m, 4, attention};
  if (o.m == 1) return {columns, 1, matvec};
  if (o.m < o.n) return {columns, 1, matmul_columns};
  return {pieces_of(o.m), 1, matmul_rows};
}

}  // namespace strata::bench
