// Random convolutions for the tests of TRIM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "strata/codegen/axes.h"
#include "strata/graph/absorb.h"
#include "strata/ops/products.h"
#include "tests/codegen/kernel_ranges.h"

namespace strata::oracle {

constexpr std::size_t kRows = 8, kColumns = 9;  // the reduce axes of random_convolution() with windows

inline Opt trim_opt(std::size_t axis, int slot) { return {Opt::Kind::TRIM, axis, slot, 0, {}}; }

/// A random convolution of (images, channels, rows, columns), with its movement in the loads: axes (images, outputs,
/// rows, columns, channels, window...).
inline LazyOp random_convolution(std::mt19937_64& random, DType dtype) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  const std::int64_t images = 1 + below(3), channels = 1 + below(3), out = 1 + below(5);
  const ops::Window rows{1 + below(4), 1 + below(2), 1 + below(3)}, columns{1 + below(4), 1 + below(2), 1 + below(2)};
  const std::int64_t reach[] = {rows.reach().value(), columns.reach().value()};
  const std::int64_t size[] = {1 + below(6), 1 + below(6)};
  Padding padding = {{0, 0}, {0, 0}};
  Ints counts;
  for (const std::size_t d : {std::size_t{0}, std::size_t{1}}) {
    std::int64_t before = below(4), after = below(4);
    while (size[d] + before + after < reach[d]) ++after;
    padding.push_back({before, after});
    counts.push_back((size[d] + before + after - reach[d]) / (d == 0 ? rows : columns).step + 1);
  }
  const LazyOp image = LazyOp::load(1, dtype, ShapeTracker::from_shape({images, channels, size[0], size[1]}));
  const Int all[] = {counts[0], counts[1]};
  LazyOp seen = ops::windows_of(image.pad(padding), std::vector{rows, columns}, all);  // (n, c, h, w, kh, kw)
  if (random() % 4 == 0) seen = seen.flip({4});
  const Ints shape = {images, out, counts[0], counts[1], channels, rows.size, columns.size};
  const LazyOp x = seen.permute({0, 2, 3, 1, 4, 5})
                       .reshape({images, 1, counts[0], counts[1], channels, rows.size, columns.size})
                       .expand(shape);
  const LazyOp w = LazyOp::load(2, dtype, ShapeTracker::from_shape({out, channels, rows.size, columns.size}))
                       .reshape({1, out, 1, 1, channels, rows.size, columns.size})
                       .expand(shape);
  const DType wide = dtype.itemsize() < 4 ? dtypes::float32 : dtype;
  const LazyOp product = random() % 2 == 0 ? x.cast(wide) * w.cast(wide) : w.cast(wide) * x.cast(wide);
  LazyOp sum = LazyOp::reduce(Ops::SUM, product, {4, 5, 6});
  if (random() % 3 == 0) sum = sum + sum;
  return absorb_movement(LazyOp::sink({LazyOp::store(0, ShapeTracker::from_shape(sum.shape()), sum)}));
}

/// Small integers, of which sums are exact in each order; and one infinity or NaN in each of the buffers `wild`.
inline Buffers memory_of_integers(const LazyOp& kernel, std::mt19937_64& random, std::span<const int> wild) {
  Buffers out;
  for (const BufferUse& use : buffers_of(kernel)) {
    out.emplace_back(use.dtype, use.dtype.is_none() ? 0 : use.size.value());
    for (std::int64_t j = 0; j < out.back().size(); ++j)
      out.back().put(j, Scalar::of(use.dtype, static_cast<std::int64_t>(random() % 9) - 4));
  }
  constexpr double kWild[] = {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN()};
  for (const int slot : wild) {
    GuardedMemory& b = out[static_cast<std::size_t>(slot)];
    b.put(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(b.size())),
          Scalar::of(b.dtype(), kWild[random() % 3]));
  }
  return out;
}

}  // namespace strata::oracle
