// joined_memory(): joins of memory without a kernel, beside the same joins as kernels.
#include "strata/engine/joined_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "strata/engine/buffer_storage.h"
#include "strata/engine/kernel_cache.h"
#include "strata/engine/realize.h"

namespace strata {
namespace {

LazyOp numbered_memory(const Ints& shape, DType dtype = dtypes::float32) {
  const std::int64_t n = product(shape).value();
  Buffer out = Buffer::allocate(n, dtype);
  auto* const bytes = static_cast<std::byte*>(out.data());
  for (std::int64_t k = 0; k < n; ++k) {
    const std::uint64_t bits = Scalar::of(dtype, k % 100).bits();
    std::memcpy(bytes + k * static_cast<std::int64_t>(dtype.itemsize()), &bits, dtype.itemsize());
  }
  return leaf_of(out, shape);
}

std::vector<double> elements(const Buffer& b) {
  std::vector<double> out;
  for (std::int64_t k = 0; k < b.size(); ++k) out.push_back(b[k].as_double());
  return out;
}

/// The join as kernels compute it: of parts that are no memory.
std::vector<double> by_kernels(const std::vector<LazyOp>& parts, std::optional<std::int64_t> axis) {
  std::vector<LazyOp> computed;
  for (const LazyOp& part : parts) computed.push_back(LazyOp::alu(Ops::MAX, {part, part}));
  const LazyOp all = axis ? LazyOp::concatenated(computed, *axis) : LazyOp::concatenated(computed);
  EXPECT_EQ(joined_memory(all).has_value(), product(all.shape()) == Int(0));
  realize(all);
  return elements(buffer_of(all));
}

TEST(JoinedMemory, RandomViewsAreWhatKernelsJoin) {
  std::mt19937 random(7);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
  std::size_t copied = 0;
  for (int turn = 0; turn < 200; ++turn) {
    SCOPED_TRACE(turn);
    const DType dtype = turn % 3 == 0 ? dtypes::float64 : turn % 3 == 1 ? dtypes::float32 : dtypes::int8;
    const std::int64_t ndim = 1 + below(3);
    std::optional<std::int64_t> axis;
    if (below(4) != 0) axis = below(ndim);
    Ints shape;
    for (std::int64_t k = 0; k < ndim; ++k) shape.push_back(k + 1 == ndim ? 16 + below(40) : 1 + below(4));
    std::vector<LazyOp> parts;
    for (std::int64_t p = 0, n = 1 + below(5); p < n; ++p) {
      Ints own = shape;
      if (axis) own[static_cast<std::size_t>(*axis)] = below(20);
      Ints wide = own;
      Mask inside;
      for (Int& size : wide) size += 3;
      for (const Int& size : own) inside.push_back({1, size + 1});
      switch (below(5)) {
        case 0: parts.push_back(numbered_memory(own, dtype)); break;
        case 1: parts.push_back(numbered_memory(wide, dtype).shrink(inside)); break;
        case 2: parts.push_back(numbered_memory(own, dtype).flip({0})); break;
        case 3: {
          Ints one = own;
          one[0] = 1;
          parts.push_back(numbered_memory(one, dtype).expand(own));
          break;
        }
        default: {
          Axes order;
          for (std::int64_t k = 0; k < ndim; ++k) order.push_back(k);
          if (ndim > 2) std::swap(order[0], order[1]);
          Ints from;
          for (const std::int64_t k : order) from.push_back(own[static_cast<std::size_t>(k)]);
          parts.push_back(numbered_memory(from, dtype).permute(order));
        }
      }
    }
    const LazyOp all = axis ? LazyOp::concatenated(parts, *axis) : LazyOp::concatenated(parts);
    if (const auto joined = joined_memory(all)) {
      ++copied;
      EXPECT_EQ(elements(*joined), by_kernels(parts, axis));
    }
    realize(all);
    EXPECT_EQ(elements(buffer_of(all)), by_kernels(parts, axis));
  }
  EXPECT_GT(copied, 80U);
}

TEST(JoinedMemory, HundredsOfPiecesCompileNothing) {
  std::vector<LazyOp> parts;
  for (std::int64_t k = 0; k < 200; ++k) parts.push_back(numbered_memory({3, 20 + k % 7}));
  const std::uint64_t before = KernelCache::instance().statistics().misses;
  const LazyOp all = LazyOp::concatenated(parts, 1);
  realize(all);
  EXPECT_EQ(KernelCache::instance().statistics().misses, before);
}

TEST(JoinedMemory, ShortRunsAreKernels) {
  const LazyOp x = numbered_memory({32, 8});
  EXPECT_FALSE(joined_memory(LazyOp::concatenated(std::vector{x.permute({1, 0}), x.permute({1, 0})}, 0)).has_value());
  EXPECT_TRUE(joined_memory(LazyOp::concatenated(std::vector{x, x}, 0)).has_value());
}

}  // namespace
}  // namespace strata
