// Large graphs and long runs: no recursion, nothing that grows.
#include <gtest/gtest.h>

#include <fstream>
#include <vector>

#include "strata/schedule.h"
#include "strata/tensor.h"

namespace strata {
namespace {

/// What users may do; a tenth of it where a sanitizer watches.
constexpr int scaled(int n) { return STRATA_SANITIZED ? n / 10 : n; }

/// Pages of this process that are in memory.
long resident_pages() {
  std::ifstream file("/proc/self/statm");
  long all = 0, resident = 0;
  file >> all >> resident;
  return resident;
}

TEST(Scale, ADeepGraphIsDroppedWithoutRecursion) {
  Tensor y = Tensor::from({1.0F, 2.0F});
  for (int k = 0; k < scaled(1'000'000); ++k) y = y + 1.0F;
  EXPECT_EQ(y.shape(), Ints{2});
}

TEST(Scale, ADeepGraphIsComputed) {
  const int ops = scaled(100'000);
  Tensor y = Tensor::from({0.0F, 1.0F});
  for (int k = 0; k < ops; ++k) y = k % 2 == 0 ? y + 1.0F : y - 1.0F;
  EXPECT_EQ(y.to("INTERP").to_vector<float>(), (std::vector<float>{0, 1}));
}

TEST(Scale, GradientsReachThroughADeepGraph) {
  const int ops = scaled(100'000);
  Tensor x = Tensor::from({3.0F, 4.0F}).to("INTERP").requires_grad(true);
  Tensor y = x;
  for (int k = 0; k < ops; ++k) y = y + 1.0F;
  (y * y).sum().backward();
  const float shift = static_cast<float>(ops);
  EXPECT_EQ(x.grad()->to_vector<float>(), (std::vector<float>{2 * (3 + shift), 2 * (4 + shift)}));
}

TEST(Scale, AWideGraphIsScheduledInOneGo) {
  const int branches = scaled(10'000);
  const Tensor x = Tensor::from({1.0F, 2.0F});
  Tensor total = x;
  for (int k = 0; k < branches; ++k) total = total + (x * static_cast<float>(k)).sum(0, true);
  const auto items = schedule(std::vector<LazyOp>{total.node()});
  EXPECT_LT(items.size(), static_cast<std::size_t>(branches));
}

/// NOTE: a search of the list for each axis takes half a minute here; a mark for each axis takes 0.1 s.
TEST(Scale, ListsOfAxesCostTimeLinearInTheirLength) {
  constexpr std::int64_t kRank = 200'000;
  Ints sizes(kRank, 1);
  sizes[0] = 2;
  const Tensor x = Tensor::from({1.0F, 2.0F}).reshape(sizes);
  Axes all, twice;
  for (std::int64_t k = 0; k < kRank; ++k) all.push_back(kRank - 1 - k);
  twice = all;
  twice.push_back(7);
  EXPECT_EQ(x.sum(all).shape(), Ints{});
  EXPECT_EQ(x.flip(all).shape(), sizes);
  EXPECT_EQ(x.squeeze(all).shape(), Ints{2});
  EXPECT_EQ(x.tensordot(x, all, all).shape(), Ints{});
  EXPECT_THROW(x.sum(twice), Error);
  EXPECT_THROW(x.squeeze(twice), Error);
  EXPECT_THROW(x.tensordot(x, twice, twice), Error);
}

TEST(Scale, ATrainingLoopStaysFlat) {
  const Tensor x = rand({8, 5}).to("INTERP"), t = rand({8, 3}).to("INTERP");
  x.realize(), t.realize();
  Tensor w = rand({5, 3}).to("INTERP").requires_grad(true);
  std::size_t nodes = 0;
  long pages = 0;
  const int steps = scaled(10'000), settled = steps / 5;
  for (int step = 0; step <= steps; ++step) {
    Tensor loss = (x.matmul(w) - t).square().mean();
    loss.backward();
    Tensor next = w.detach() - *w.grad() * 0.01F;
    next.realize();
    w = next.detach().requires_grad(true);
    if (step == settled) nodes = live_nodes(), pages = resident_pages();
  }
  EXPECT_EQ(live_nodes(), nodes);
  if (!STRATA_SANITIZED) {
    EXPECT_LT(resident_pages(), pages + 256);  // a sanitizer keeps what is freed
  }
}

}  // namespace
}  // namespace strata
