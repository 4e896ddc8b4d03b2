// plan_arena(): lives that meet are apart, others share bytes.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "strata/schedule/memory_plan.h"

namespace strata::test {
namespace {

bool meet(const MemoryLife& a, const MemoryLife& b) { return a.first <= b.last && b.first <= a.last; }

std::int64_t most_in_a_step(const std::vector<MemoryLife>& lives) {
  std::int64_t most = 0;
  for (const MemoryLife& at : lives) {
    std::int64_t bytes = 0;
    for (const MemoryLife& l : lives)
      if (l.first <= at.first && at.first <= l.last) bytes += (l.bytes + 63) / 64 * 64;
    most = std::max(most, bytes);
  }
  return most;
}

void expect_apart(const std::vector<MemoryLife>& lives, const ArenaPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), lives.size());
  for (std::size_t a = 0; a < lives.size(); ++a) {
    EXPECT_EQ(plan.offsets[a] % 64, 0);
    EXPECT_LE(plan.offsets[a] + lives[a].bytes, plan.bytes);
    for (std::size_t b = 0; b < a; ++b)
      EXPECT_TRUE(!meet(lives[a], lives[b]) || plan.offsets[a] + lives[a].bytes <= plan.offsets[b] ||
                  plan.offsets[b] + lives[b].bytes <= plan.offsets[a])
          << a << " and " << b;
  }
}

TEST(MemoryArena, AChainNeedsTwoAtOnce) {
  std::vector<MemoryLife> lives;
  for (std::size_t k = 0; k < 10; ++k) lives.push_back({4096, k, k + 1});
  const ArenaPlan plan = plan_arena(lives);
  expect_apart(lives, plan);
  EXPECT_EQ(plan.bytes, 2 * 4096);
}

TEST(MemoryArena, OneLargeTakesThePlaceOfManySmall) {
  const std::vector<MemoryLife> lives = {{100, 0, 1}, {100, 0, 1}, {100, 0, 1}, {384, 2, 3}, {100, 4, 4}};
  const ArenaPlan plan = plan_arena(lives);
  expect_apart(lives, plan);
  EXPECT_EQ(plan.bytes, 384);
}

TEST(MemoryArena, NothingNeedsNothing) {
  EXPECT_EQ(plan_arena({}).bytes, 0);
  EXPECT_EQ(plan_arena(std::vector<MemoryLife>{{0, 0, 0}}).bytes, 0);
}

TEST(MemoryArena, RandomLivesAreApartAndNearTheLeast) {
  std::uint64_t state = 1;
  const auto next = [&](std::uint64_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33) % below;
  };
  for (int turn = 0; turn < 50; ++turn) {
    std::vector<MemoryLife> lives;
    for (std::uint64_t k = next(80) + 1; k > 0; --k) {
      const std::size_t first = next(40);
      lives.push_back({static_cast<std::int64_t>(next(5000)), first, first + next(turn % 2 == 0 ? 4 : 30)});
    }
    const ArenaPlan plan = plan_arena(lives);
    expect_apart(lives, plan);
    EXPECT_LE(static_cast<double>(plan.bytes), 1.5 * static_cast<double>(most_in_a_step(lives)) + 64);
  }
}

}  // namespace
}  // namespace strata::test
