// plan_arena(): offsets for lives in one piece of memory, first fit.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "strata/schedule/memory_plan.h"

namespace strata {

namespace {

constexpr std::int64_t kArenaAlignment = 64;
constexpr std::size_t kManyLives = 4096;  // with more lives one order has to do

std::int64_t aligned_bytes(std::int64_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

bool meet(const MemoryLife& a, const MemoryLife& b) { return a.first <= b.last && b.first <= a.last; }

/// Places the lives in the given order, each at the lowest offset that is free during its life.
template <class Order>
ArenaPlan place_lives(std::span<const MemoryLife> lives, const Order& order) {
  ArenaPlan out;
  out.offsets.resize(lives.size());
  std::vector<std::size_t> placed;  // by offset
  for (const auto& [key, k] : order) {
    std::int64_t at = 0;
    const std::int64_t bytes = aligned_bytes(lives[k].bytes);
    for (const std::size_t other : placed) {
      if (!meet(lives[k], lives[other])) continue;
      if (out.offsets[other] - at >= bytes) break;
      at = std::max(at, out.offsets[other] + aligned_bytes(lives[other].bytes));
    }
    out.offsets[k] = at;
    out.bytes = std::max(out.bytes, at + bytes);
    const auto behind = std::upper_bound(placed.begin(), placed.end(), at, [&](std::int64_t offset, std::size_t other) {
      return offset < out.offsets[other];
    });
    placed.insert(behind, k);
  }
  return out;
}

/// The bytes of the lives of one step, at most.
std::int64_t most_at_once(std::span<const MemoryLife> lives) {
  std::vector<std::pair<std::size_t, std::int64_t>> changes;  // a step, and the bytes more from it on
  for (const MemoryLife& life : lives) {
    changes.emplace_back(life.first, aligned_bytes(life.bytes));
    changes.emplace_back(life.last + 1, -aligned_bytes(life.bytes));
  }
  std::sort(changes.begin(), changes.end());  // at one step, ends come first
  std::int64_t now = 0, most = 0;
  for (const auto& [step, bytes] : changes) most = std::max(most, now += bytes);
  return most;
}

}  // namespace

ArenaPlan plan_arena(std::span<const MemoryLife> lives) {
  // Each order is by two numbers, larger ones first.
  using Key = std::array<std::int64_t, 2>;
  const auto bytes = [&](std::size_t k) { return lives[k].bytes; };
  const auto steps = [&](std::size_t k) { return static_cast<std::int64_t>(lives[k].last - lives[k].first); };
  const auto early = [&](std::size_t k) { return -static_cast<std::int64_t>(lives[k].first); };
  const std::int64_t least = most_at_once(lives);
  std::optional<ArenaPlan> best;
  const auto attempt = [&](const auto& key, const auto& next) {
    if (best && (best->bytes == least || lives.size() > kManyLives)) return;
    std::vector<std::pair<Key, std::size_t>> order;
    for (std::size_t k = 0; k < lives.size(); ++k) order.push_back({{-key(k), -next(k)}, k});
    std::sort(order.begin(), order.end());
    ArenaPlan plan = place_lives(lives, order);
    if (!best || plan.bytes < best->bytes) best = std::move(plan);
  };
  attempt(bytes, early);
  attempt(bytes, steps);
  attempt(steps, bytes);
  attempt(early, bytes);
  return std::move(*best);
}

}  // namespace strata
