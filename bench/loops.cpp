// Loops over tensors beside the loops one writes by hand, as ratios; prints Markdown.
//
//   bench_loops
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness.h"
#include "strata/loops/tiled.h"
#include "strata/runtime/tbb_executor.h"

namespace strata::bench {

namespace {

/// One thing done by hand and by a loop of tiled.h, `bytes` read and written.
struct Pair {
  std::string name;
  double bytes;
  Row by_hand, ours;
};

void print_pairs(const std::vector<Pair>& pairs) {
  std::printf("\n| loop | by hand | Strata | ratio | GB/s |\n|---|---|---|---|---|\n");
  for (const Pair& p : pairs) {
    const std::vector<Timing> t = measure({p.by_hand, p.ours}, {2.0, 15, 1000});
    std::printf("| %s | %s | %s | %s | %.1f |\n", p.name.c_str(), format_ns(t[0].median_ns).c_str(),
                format_ns(t[1].median_ns).c_str(), format_ratio(paired_ratio(t[1], t[0])).c_str(),
                p.bytes / t[1].min_ns);
    std::fflush(stdout);
  }
}

constexpr std::int64_t kSize = 4096;

/// A number that the compiler does not know.
std::int64_t opaque(std::int64_t n) {
  const volatile std::int64_t read = n;
  return read;
}

/// Calls f(i, j) for i < rows, j < columns, in that order: the compiler may not exchange the two loops, nor know the
/// sizes.
template <class F>
void by_hand(std::int64_t rows, std::int64_t columns, F f) {
  rows = opaque(rows);
  columns = opaque(columns);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) f(i, j);
    keep(i);
  }
}

/// Rows and columns of one matrix, in the counters' order.
std::vector<Pair> matrix_pairs(std::vector<float>& storage) {
  float* const m = storage.data();
  const TiledTensor<float> t = tiled(storage, {kSize, kSize});
  const double bytes = 2.0 * sizeof(float) * kSize * kSize;
  const auto hand = [m](auto f) {
    return row("", [m, f] { by_hand(kSize, kSize, [m, f](std::int64_t i, std::int64_t j) { f(m, i, j); }); });
  };
  const auto ours = [t, m](const char* first, const char* second, auto f) {
    return row("", [=] {
      t.complexLoops({first, second}, f);
      keep(m);
    });
  };
  const auto scale = [](float& x) { x *= 1.5F; };
  const auto increment = [](float& x) { x += 1; };
  return {
      {"x *= 1.5, row by row", bytes, hand([](float* x, std::int64_t i, std::int64_t j) { x[i * kSize + j] *= 1.5F; }),
       ours("_0", "_1", scale)},
      {"x *= 1.5, transposed", bytes, hand([](float* x, std::int64_t i, std::int64_t j) { x[j * kSize + i] *= 1.5F; }),
       ours("_1", "_0", scale)},
      {"x = i - j, with offsets", bytes / 2,
       hand([](float* x, std::int64_t i, std::int64_t j) { x[i * kSize + j] = static_cast<float>(i - j); }),
       ours("_0", "_1", [](float& x, auto at) { x = static_cast<float>(at[0] - at[1]); })},
      {"x = i - j, transposed, with offsets", bytes / 2,
       hand([](float* x, std::int64_t i, std::int64_t j) { x[j * kSize + i] = static_cast<float>(j - i); }),
       ours("_1", "_0", [](float& x, auto at) { x = static_cast<float>(at[0] - at[1]); })},
      {"x += 1, columns j // 64 * 64", bytes,
       hand([](float* x, std::int64_t i, std::int64_t j) { x[i * kSize + j / 64 * 64] += 1; }),
       ours("_0", "_1 // 64 * 64", increment)},
      {"x += 1, columns j // 3", bytes,
       hand([](float* x, std::int64_t i, std::int64_t j) { x[i * kSize + j / 3] += 1; }),
       ours("_0", "_1 // 3", increment)},
      {"x += 1, columns j % 48, rows i * j % 4096, point by point", bytes,
       hand([](float* x, std::int64_t i, std::int64_t j) { x[i * j % 4096 * kSize + j % 48] += 1; }),
       ours("_0 * _1 % 4096", "_1 % 48", increment)},
  };
}

/// Tensors whose last dimension is short, and small ones.
std::vector<Pair> small_pairs(std::vector<float>& storage) {
  float* const m = storage.data();
  constexpr std::int64_t n = 1 << 16;
  const TiledTensor<float> thin = tiled(storage, {n, 4, 3}), tiny = tiled(storage, {4, 4});
  const auto scale = [](float& x) { x *= 1.5F; };
  const auto thin_by_hand = [m](std::int64_t a, std::int64_t b, std::int64_t c) {
    a = opaque(a);
    b = opaque(b);
    c = opaque(c);
    for (std::int64_t i = 0; i < a; ++i)
      for (std::int64_t j = 0; j < b; ++j)
        for (std::int64_t k = 0; k < c; ++k) m[(i * b + (b - 1 - j)) * c + k] *= 1.5F;
  };
  return {
      {"(65536, 4, 3), the second dimension backwards", 2.0 * sizeof(float) * n * 12,
       row("",
           [=] {
             thin_by_hand(n, 4, 3);
             keep(m);
           }),
       row("",
           [=] {
             thin.complexLoops({"_0", "3 - _1", "_2"}, scale);
             keep(m);
           })},
      {"(4, 4), transposed, plan included", 128,
       row("", [=] { by_hand(4, 4, [m](std::int64_t i, std::int64_t j) { m[j * 4 + i] *= 1.5F; }); }),
       row("",
           [=] {
             tiny.complexLoops({"_1", "_0"}, scale);
             keep(m);
           })},
  };
}

std::vector<Pair> row_pairs(std::vector<float>& storage, Executor& executor) {
  float* const m = storage.data();
  const TiledTensor<float> t = tiled(storage, {kSize, kSize});
  constexpr std::int64_t half = kSize * kSize / 2;
  const double bytes = 2.0 * sizeof(float) * kSize * kSize;
  const auto scale = [](std::span<float> r) {
    for (float& x : r) x *= 1.5F;
  };
  return {
      {"rows, one thread", bytes,
       row("",
           [m] {
             for (std::int64_t i = 0; i < kSize * kSize; ++i) m[i] *= 1.5F;
             keep(m);
           }),
       row("",
           [t, m, scale] {
             t.parallelLoops(0, scale);
             keep(m);
           })},
      {"rows, " + std::to_string(executor.concurrency()) + " threads, beside one memcpy of the bytes", bytes,
       row("",
           [m] {
             std::memcpy(m, m + half, sizeof(float) * half);
             std::memcpy(m + half, m, sizeof(float) * half);
             keep(m);
           }),
       row("",
           [t, m, scale, &executor] {
             t.parallelLoops(0, scale, executor);
             keep(m);
           })},
  };
}

void run() {
  std::vector<float> storage(static_cast<std::size_t>(kSize * kSize), 0);
  const std::unique_ptr<Executor> executor = threads(0);
  std::printf("%s\n", describe_machine().c_str());
  pin_to_one_processor();
  print_pairs(matrix_pairs(storage));
  print_pairs(small_pairs(storage));
  unpin();
  print_pairs(row_pairs(storage, *executor));
}

}  // namespace

}  // namespace strata::bench

int main() {
  return strata::bench::run_bench("bench_loops", nullptr, [&] {
    strata::bench::run();
    return 0;
  });
}
