// Exchanges that simulated ranks execute, beside enumeration. Memory is poisoned: what a rank neither owns nor received
// has a value of its own.
#include "strata/mesh/exchange_plan.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <numeric>
#include <optional>

#include "tests/sample.h"
#include "tests/shard/random_sharding.h"

namespace strata {
namespace {

using shard_oracle::Random;

constexpr std::int64_t kPoison = -7;

/// An element of `itemsize` bytes that says its number.
void put(std::vector<std::byte>& memory, std::int64_t at, std::int64_t itemsize, std::int64_t number) {
  for (std::int64_t b = 0; b < itemsize; ++b)
    memory[static_cast<std::size_t>(at * itemsize + b)] =
        static_cast<std::byte>((number * 131 + b * 17) >> (b % 2 * 8));
}

std::vector<std::byte> element(std::int64_t itemsize, std::int64_t number) {
  std::vector<std::byte> out(static_cast<std::size_t>(itemsize));
  put(out, 0, itemsize, number);
  return out;
}

std::vector<std::byte> element_at(const std::vector<std::byte>& memory, std::int64_t at, std::int64_t itemsize) {
  const auto begin = memory.begin() + at * itemsize;
  return {begin, begin + itemsize};
}

/// A rank's memory: each element that it owns is its row-major number, padding is poison.
std::vector<std::byte> memory_of(const Sharding& s, std::int64_t rank, std::int64_t itemsize) {
  const std::int64_t locals = s.layout().mode(1).size().value();
  std::vector<std::byte> out(static_cast<std::size_t>(locals * itemsize));
  for (std::int64_t l = 0; l < locals; ++l) {
    const std::optional<Index> at = s.element(rank, l);
    put(out, l, itemsize, at ? shard_oracle::ravelled(*at, s.shape()) : kPoison);
  }
  return out;
}

std::vector<std::byte> poisoned(std::int64_t bytes, std::int64_t itemsize) {
  std::vector<std::byte> out(static_cast<std::size_t>(bytes));
  for (std::int64_t l = 0; l < bytes / itemsize; ++l) put(out, l, itemsize, kPoison);
  return out;
}

/// Plans of all ranks, and their memory.
struct Job {
  std::vector<ExchangePlan> plans;
  std::vector<std::vector<std::byte>> tensors, results;

  void add(ExchangePlan plan, const Sharding& from, std::int64_t rank, std::int64_t itemsize) {
    tensors.push_back(memory_of(from, rank, itemsize));
    results.push_back(poisoned(plan.bytes_of_result(), itemsize));
    plans.push_back(std::move(plan));
  }
  /// One thread drives all ranks.
  void run() {
    std::vector<Pending> pending;
    for (std::size_t r = 0; r < plans.size(); ++r)
      pending.push_back(plans[r].start(tensors[r].data(), results[r].data(), "test"));
    wait_all(pending);
  }
};

Job redistribution(const std::vector<Mesh>& ranks, const Sharding& from, const Sharding& to, std::int64_t itemsize) {
  Job out;
  for (const Mesh& mesh : ranks)
    out.add(ExchangePlan::redistribution(mesh, from, to, itemsize), from, mesh.rank(), itemsize);
  return out;
}

std::vector<Mesh> ranks_of(const MeshShape& shape) { return Mesh::simulated(shape.sizes(), shape.names()); }

void expect_redistributed(const Job& job, const Sharding& to, std::int64_t itemsize) {
  for (std::size_t r = 0; r < job.results.size(); ++r)
    ASSERT_EQ(job.results[r], memory_of(to, static_cast<std::int64_t>(r), itemsize)) << "rank " << r;
}

TEST(ExchangePlan, RandomRedistributionsAreThoseOfEnumeration) {
  const std::uint64_t seed = 20261130;
  for (std::int64_t n = 0; n < test::sample(std::int64_t{300}); ++n) {
    Random random(seed + static_cast<std::uint64_t>(n));
    const MeshShape mesh = shard_oracle::random_mesh(random);
    const Index shape = shard_oracle::random_shape(random);
    const Sharding from = Sharding::create(mesh, shape, shard_oracle::random_splits(random, mesh, shape.size()));
    const Sharding to = random.pick(0, 4) == 0
                            ? replicated(mesh, shape)
                            : Sharding::create(mesh, shape, shard_oracle::random_splits(random, mesh, shape.size()));
    const std::int64_t itemsize =
        std::vector<std::int64_t>{1, 2, 3, 4, 8, 16}[static_cast<std::size_t>(random.pick(0, 5))];
    SCOPED_TRACE(detail::message("seed ", seed + static_cast<std::uint64_t>(n), ": ", render(from.layout()), " to ",
                                 render(to.layout()), " of ", render(shape)));
    Job job = redistribution(ranks_of(mesh), from, to, itemsize);
    job.run();
    expect_redistributed(job, to, itemsize);
    if (HasFatalFailure()) return;
  }
}

TEST(ExchangePlan, RandomNeedsComeIntoABox) {
  const std::uint64_t seed = 7;
  for (std::int64_t n = 0; n < test::sample(std::int64_t{200}); ++n) {
    Random random(seed + static_cast<std::uint64_t>(n));
    const MeshShape mesh = shard_oracle::random_mesh(random);
    const Index shape = shard_oracle::random_shape(random);
    ShapeTracker read = ShapeTracker::from_shape(to_ints(shape));
    const auto axis = static_cast<std::size_t>(random.pick(0, static_cast<std::int64_t>(shape.size()) - 1));
    const std::int64_t begin = random.pick(0, shape[axis]), end = random.pick(begin, shape[axis]);
    Mask ranges;
    for (std::size_t j = 0; j < shape.size(); ++j) ranges.push_back({0, shape[j]});
    ranges[axis] = {begin, end};
    read = read.shrink(ranges);
    const Sharding tensor = Sharding::create(mesh, shape, shard_oracle::random_splits(random, mesh, shape.size()));
    const Index cut = *numbers(read.shape());
    const Sharding result = Sharding::create(mesh, cut, shard_oracle::random_splits(random, mesh, cut.size()));
    const Exchange exchange(tensor, result, {read});
    SCOPED_TRACE(detail::message("seed ", seed + static_cast<std::uint64_t>(n)));
    Job job;
    for (const Mesh& rank : ranks_of(mesh)) job.add(ExchangePlan::into_box(rank, exchange, 4), tensor, rank.rank(), 4);
    job.run();
    const auto owned = shard_oracle::owned_by_layout(result);
    for (std::size_t r = 0; r < job.plans.size(); ++r) {
      const std::set<std::int64_t> needed = shard_oracle::read_by(read, cut, owned[r]);
      const StridedBox& box = job.plans[r].box();
      if (needed.empty()) {
        EXPECT_EQ(job.results[r].size(), 0U);
        continue;
      }
      const std::vector<std::int64_t> inside = shard_oracle::listed({box}, shape);
      ASSERT_EQ(inside.size() * 4, job.results[r].size());
      for (std::size_t i = 0; i < inside.size(); ++i) {
        const bool is_needed = needed.contains(inside[i]);
        ASSERT_EQ(element_at(job.results[r], static_cast<std::int64_t>(i), 4),
                  element(4, is_needed ? inside[i] : kPoison))
            << "rank " << r << ", element " << inside[i];
      }
    }
  }
}

TEST(ExchangePlan, WhatLiesTogetherIsNotPacked) {
  const MeshShape mesh({4}, {"x"});
  const Sharding rows = parse_sharding(mesh, {8, 6}, "x:0");
  const Sharding columns = parse_sharding(mesh, {8, 8}, "x:1");
  const std::vector<Mesh> ranks = ranks_of(mesh);
  const auto gather = ExchangePlan::redistribution(ranks[1], rows, replicated(mesh, {8, 6}), 4);
  EXPECT_EQ(gather.bytes_sent(), 3 * 2 * 6 * 4);
  EXPECT_EQ(gather.bytes_received(), 3 * 2 * 6 * 4);
  EXPECT_EQ(gather.packed(), 0);
  EXPECT_EQ(gather.unpacked(), 0);
  EXPECT_EQ(gather.bytes_of_tensor(), 2 * 6 * 4);
  EXPECT_EQ(gather.bytes_of_result(), 8 * 6 * 4);
  // Rows to columns: rows of two columns are packed; what comes is whole rows of the receiver's part.
  const auto turn = ExchangePlan::redistribution(ranks[1], parse_sharding(mesh, {8, 8}, "x:0"), columns, 4);
  EXPECT_EQ(turn.packed(), 3);
  EXPECT_EQ(turn.unpacked(), 0);
}

TEST(ExchangePlan, CyclicSplitsTakeFewRuns) {
  const MeshShape mesh({4}, {"x"});
  const std::int64_t size = std::int64_t{1} << 26;  // as lists of elements, 100 times the time and memory
  const Sharding blocks = parse_sharding(mesh, {size}, "x:0");
  for (const std::string to : {"x:0/cyclic(1)", "x:0/cyclic(3)", "x:0/cyclic(1024)"}) {
    const Sharding cyclic = parse_sharding(mesh, {size}, to);
    for (const Mesh& rank : ranks_of(mesh)) {
      const auto plan = ExchangePlan::redistribution(rank, blocks, cyclic, 1);
      EXPECT_GT(plan.bytes_received(), size / 6) << to;
    }
  }
}

TEST(ExchangePlan, SeveralAreUnderWayAtOnce) {
  const MeshShape mesh({2, 2}, {"x", "y"});
  const Sharding a = parse_sharding(mesh, {8, 8}, "x:0,y:1");
  const Sharding b = parse_sharding(mesh, {8, 8}, "y:0/cyclic(1),x:1");
  const std::vector<Mesh> ranks = ranks_of(mesh);
  Job first = redistribution(ranks, a, b, 4), second = redistribution(ranks, b, a, 8);
  std::vector<Pending> pending;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    pending.push_back(first.plans[r].start(first.tensors[r].data(), first.results[r].data(), "first"));
    pending.push_back(second.plans[r].start(second.tensors[r].data(), second.results[r].data(), "second"));
  }
  while (!pending[7].progress())  // the second one of the last rank first
    for (Pending& p : pending) p.progress();
  wait_all(pending);
  expect_redistributed(first, b, 4);
  expect_redistributed(second, a, 8);
}

TEST(ExchangePlan, RanksAsThreads) {
  const MeshShape mesh({3, 2}, {"x", "y"});
  const Sharding a = parse_sharding(mesh, {31, 17}, "x:0,y:1");
  const Sharding b = parse_sharding(mesh, {31, 17}, "y:0/cyclic(2),x:1/cyclic(1)");
  const std::vector<Mesh> ranks = ranks_of(mesh);
  Job there = redistribution(ranks, a, b, 4), back = redistribution(ranks, b, a, 4);
  on_each_rank(ranks, [&](const Mesh& rank) {
    const auto r = static_cast<std::size_t>(rank.rank());
    for (int turn = 0; turn < 20; ++turn) {
      there.plans[r].run(there.tensors[r].data(), there.results[r].data(), "there");
      back.plans[r].run(there.results[r].data(), back.results[r].data(), "back");
    }
  });
  expect_redistributed(there, b, 4);
  expect_redistributed(back, a, 4);
}

TEST(ExchangePlan, ManyRanks) {
  const MeshShape mesh({16, 8}, {"data", "model"});
  const Sharding a = parse_sharding(mesh, {256, 64}, "data:0,model:1");
  const Sharding b = parse_sharding(mesh, {256, 64}, "model:0,data:1");
  Job job = redistribution(ranks_of(mesh), a, b, 4);
  job.run();
  expect_redistributed(job, b, 4);
}

template <class F>
std::string error_of(const F& f, std::optional<ErrorKind> kind = {}) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind.value_or(error.kind())) << error.what();
    return error.what();
  }
  return "no error";
}

TEST(ExchangePlan, RefusesOtherMeshesAndSizes) {
  const std::vector<Mesh> ranks = Mesh::simulated({2}, {"x"});
  const MeshShape other({2}, {"y"});
  const Sharding s = replicated(other, {4});
  EXPECT_EQ(error_of([&] { ExchangePlan::redistribution(ranks[0], s, s, 4); }, ErrorKind::domain),
            "[mesh] shardings on y=2, on the mesh x=2");
  const Sharding t = replicated(ranks[0].shape(), {4});
  EXPECT_EQ(error_of([&] { ExchangePlan::redistribution(ranks[0], t, t, 0); }, ErrorKind::domain),
            "[mesh] elements of 0 bytes: at least 1");
  EXPECT_NE(error_of([&] { ExchangePlan::redistribution(ranks[0], t, replicated(ranks[0].shape(), {5}), 4); },
                     ErrorKind::shape),
            "no error");
}

}  // namespace
}  // namespace strata
