// By hand: sums, and the rows of softmax and layernorm.
#include <algorithm>
#include <cmath>

#include "bench/hand.h"
#include "bench/lanes.h"

namespace strata::bench {

namespace {

/// A turn of a whole array is this many elements; it leaves two partial sums in the scratch memory.
constexpr std::int64_t kIteration = 1 << 16;

/// The sum of f(i) at every vector of [0, n), eight accumulators wide. @pre n is a multiple of kLanes
template <class F>
Floats sum_vectors(std::int64_t n, F f) {
  Floats total[8] = {};
  std::int64_t i = 0;
  for (; i + 8 * kLanes <= n; i += 8 * kLanes)
#pragma GCC unroll 8
    for (int v = 0; v < 8; ++v) total[v] += f(i + v * kLanes);
  for (; i + kLanes <= n; i += kLanes) total[0] += f(i);
  return ((total[0] + total[1]) + (total[2] + total[3])) + ((total[4] + total[5]) + (total[6] + total[7]));
}

void sum(const Operands& o, std::int64_t begin, std::int64_t end) {
  for (std::int64_t t = begin; t < end; ++t) {
    const std::int64_t n = std::min(kIteration, o.m - t * kIteration);
    const float* const a = o.in[0] + t * kIteration;
    o.scratch[t] = sum_lanes(sum_vectors(n, [a](std::int64_t i) { return load(a + i); }));
  }
}

void finish_sum(const Operands& o) {
  double total = 0;
  for (std::int64_t t = 0; t * kIteration < o.m; ++t) total += static_cast<double>(o.scratch[t]);
  o.out[0] = static_cast<float>(total);
}

/// One pass: the sums of x - x0 and of its square. The shift keeps the difference of the two exact enough.
void var(const Operands& o, std::int64_t begin, std::int64_t end) {
  const Floats shift = splat(o.in[0][0]);
  for (std::int64_t t = begin; t < end; ++t) {
    const std::int64_t n = std::min(kIteration, o.m - t * kIteration);
    const float* const a = o.in[0] + t * kIteration;
    Floats sums[4] = {}, squares[4] = {};
    for (std::int64_t i = 0; i + kLanes <= n; i += kLanes) {
      const Floats x = load(a + i) - shift;
      Floats &s = sums[i / kLanes % 4], &q = squares[i / kLanes % 4];
      s += x;
      q = x * x + q;
    }
    o.scratch[2 * t] = sum_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
    o.scratch[2 * t + 1] = sum_lanes((squares[0] + squares[1]) + (squares[2] + squares[3]));
  }
}

void finish_var(const Operands& o) {
  double sum = 0, squares = 0;
  for (std::int64_t t = 0; t * kIteration < o.m; ++t) {
    sum += static_cast<double>(o.scratch[2 * t]);
    squares += static_cast<double>(o.scratch[2 * t + 1]);
  }
  const auto count = static_cast<double>(o.m);
  o.out[0] = static_cast<float>(squares / count - sum / count * (sum / count));
}

void row_sum(const Operands& o, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const float* const a = o.in[0] + i * o.n;
    o.out[i] = sum_lanes(sum_vectors(o.n, [a](std::int64_t j) { return load(a + j); }));
  }
}

/// A turn is this many columns: eight rows are added at a time to sums that stay in the nearest cache.
constexpr std::int64_t kColumns = 512;
void col_sum(const Operands& o, std::int64_t begin, std::int64_t end) {
  const std::int64_t from = begin * kColumns, to = std::min(end * kColumns, o.n);
  std::fill(o.out + from, o.out + to, 0.0F);
  for (std::int64_t i = 0; i < o.m; i += 8)
    for (std::int64_t j = from; j < to; j += kLanes) {
      const float* const a = o.in[0] + i * o.n + j;
      Floats rows[8];
      for (int r = 0; r < 8; ++r) rows[r] = load(a + r * o.n);
      const Floats total = ((rows[0] + rows[1]) + (rows[2] + rows[3])) + ((rows[4] + rows[5]) + (rows[6] + rows[7]));
      store(o.out + j, load(o.out + j) + total);
    }
}

float largest(const float* x, std::int64_t n) {
  Floats most[4];
  for (Floats& v : most) v = load(x);
  std::int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes)
    for (int v = 0; v < 4; ++v) most[v] = max(most[v], load(x + i + v * kLanes));
  for (; i < n; i += kLanes) most[0] = max(most[0], load(x + i));
  return max_lanes(max(max(most[0], most[1]), max(most[2], most[3])));
}

constexpr std::int64_t kMostRow = 8192;

template <bool kPastCaches>
void softmax_into(const float* x, float scale, float* out, std::int64_t n) {
  alignas(64) float powers[kMostRow];
  const Floats most = splat(largest(x, n));
  const Floats total = sum_vectors(n, [&](std::int64_t j) {
    const Floats p = exp((load(x + j) - most) * scale);
    store(powers + j, p);
    return p;
  });
  const Floats part = splat(1.0F / sum_lanes(total));
  for (std::int64_t j = 0; j < n; j += kLanes) put<kPastCaches>(out + j, load(powers + j) * part);
}

void softmax(const Operands& o, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) softmax_into<true>(o.in[0] + i * o.n, 1, o.out + i * o.n, o.n);
  fence();
}

void logsumexp(const Operands& o, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const float* const a = o.in[0] + i * o.n;
    const float most = largest(a, o.n);
    const Floats total = sum_vectors(o.n, [a, most](std::int64_t j) { return exp(load(a + j) - most); });
    o.out[i] = most + std::log(sum_lanes(total));
  }
}

void layernorm(const Operands& o, std::int64_t begin, std::int64_t end) {
  const auto count = static_cast<float>(o.n);
  for (std::int64_t i = begin; i < end; ++i) {
    const float* const a = o.in[0] + i * o.n;
    const float mean = sum_lanes(sum_vectors(o.n, [a](std::int64_t j) { return load(a + j); })) / count;
    const Floats squares = sum_vectors(o.n, [a, mean](std::int64_t j) {
      const Floats d = load(a + j) - mean;
      return d * d;
    });
    const float scale = 1 / std::sqrt(sum_lanes(squares) / count + 1e-5F);
    for (std::int64_t j = 0; j < o.n; j += kLanes)
      store_past_caches(o.out + i * o.n + j, (load(a + j) - mean) * scale * load(o.in[1] + j) + load(o.in[2] + j));
  }
  fence();
}

}  // namespace

void softmax_row(const float* x, float scale, float* out, std::int64_t n) { softmax_into<false>(x, scale, out, n); }

HandKernel hand_reduction(Work work, const Operands& o) {
  const std::int64_t iterations = (o.m + kIteration - 1) / kIteration;
  switch (work) {
    case Work::sum: return {iterations, 4, sum, nullptr, finish_sum};
    case Work::var: return {iterations, 4, var, nullptr, finish_var};
    case Work::row_sum: return {o.m, 4, row_sum};
    case Work::col_sum: return {(o.n + kColumns - 1) / kColumns, 1, col_sum};
    case Work::softmax: return {o.m, 4, softmax};
    case Work::logsumexp: return {o.m, 4, logsumexp};
    default: return {o.m, 4, layernorm};
  }
}

}  // namespace strata::bench
