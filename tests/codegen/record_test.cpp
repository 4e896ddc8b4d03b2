// What compile_kernel writes down for those who look at a kernel.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "strata/codegen/kernel.h"
#include "strata/ops/kernel_text.h"
#include "tests/codegen/random_kernel.h"
#include "tests/sample.h"

namespace strata {
namespace {

struct Recorded {
  Kernel kernel;
  KernelRecord record;
};

Recorded recorded(const LazyOp& sink, const Target& target, std::optional<std::vector<Opt>> opts) {
  KernelRecord record;
  Kernel kernel = compile_kernel(sink, target, std::move(opts), &record);
  return {std::move(kernel), std::move(record)};
}

TEST(KernelRecord, AccessesLoopsAndAxes) {
  const LazyOp sink = parse_kernel("n: 1..9; a: f32[n,8]; c = a + 1").kernel;
  const auto [kernel, record] = recorded(sink, Target(), parse_opts("LANES 1 4"));
  ASSERT_EQ(record.axes->text(), kernel.axes);
  ASSERT_EQ(record.counters.size(), 2U);
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_EQ(kernel.uops[record.counters[k].uop].op(), UOps::LOOP);
    EXPECT_EQ(record.counters[k].axis, k);
  }
  ASSERT_EQ(record.accesses.size(), 2U);
  const KernelRecord::ProvenAccess &load = record.accesses[0], &store = record.accesses[1];
  EXPECT_EQ(load.access.index.render(), "(((ridx0*8)+(ridx1*4))+lane_a1s0p1)");
  EXPECT_EQ(load.by, ProvenBy::algebra);  // the size is symbolic
  EXPECT_FALSE(load.access.is_store);
  EXPECT_TRUE(store.access.is_store);
  ASSERT_EQ(load.uops.size(), 1U);
  EXPECT_EQ(kernel.uops[load.uops[0]].op(), UOps::LOAD);
  EXPECT_EQ(kernel.uops[store.uops.at(0)].op(), UOps::STORE);
}

// A stride that is not 1: a load for each lane.
TEST(KernelRecord, LanesThatAreLoadedOneByOne) {
  const LazyOp sink = parse_kernel("a: f32[4,8]; c = a.permute(1,0) + 1").kernel;
  const auto [kernel, record] = recorded(sink, Target(), parse_opts("LANES 1 4"));
  ASSERT_EQ(record.accesses.size(), 2U);
  EXPECT_EQ(record.accesses[0].uops.size(), 4U);
  EXPECT_EQ(record.accesses[1].uops.size(), 1U);
}

TEST(KernelRecord, KernelsThatRunFirst) {
  const LazyOp sink = parse_kernel("a: i32[100]; b = a.sum()").kernel;
  const auto [kernel, record] = recorded(sink, Target(), parse_opts("SPLITREDUCE 1 4"));
  ASSERT_EQ(record.before.size(), kernel.before.size());
  EXPECT_EQ(record.before.at(0).axes->text(), kernel.before[0]->axes);
  EXPECT_EQ(record.before[0].accesses.size(), kernel.before[0]->proof.accesses);
}

void check_record(const Recorded& made) {
  const auto& [kernel, record] = made;
  EXPECT_EQ(record.axes->text(), kernel.axes);
  ASSERT_EQ(record.accesses.size(), kernel.proof.accesses);
  std::size_t by_bounds = 0;
  std::vector<bool> accessed(kernel.uops.size());
  for (const auto& [access, by, uops] : record.accesses) {
    by_bounds += by == ProvenBy::bounds ? 1 : 0;
    for (const std::size_t k : uops) {
      const UOp u = kernel.uops[k];
      accessed[k] = true;
      ASSERT_EQ(u.op(), access.is_store ? UOps::STORE : UOps::LOAD);
      const auto* const global = std::get_if<Global>(&u.src(0).arg());
      EXPECT_EQ(global == nullptr ? -1 : global->slot, access.slot);
    }
  }
  EXPECT_EQ(by_bounds, kernel.proof.by_bounds);
  // Each access of the list is one that was proven.
  for (const UOp u : kernel.uops) {
    if (u.op() != UOps::LOAD && u.op() != UOps::STORE) continue;
    EXPECT_TRUE(accessed[u.num()]);
  }
}

TEST(KernelRecord, EachAccessOfRandomKernelsIsProven) {
  std::size_t checked = 0;
  for (std::uint64_t seed = 1; seed <= test::sample(300U); ++seed) {
    oracle::Choices choices(seed), of_opts(seed ^ 0x9e3779b97f4a7c15U);
    const oracle::RandomKernel made = oracle::random_kernel(choices);
    const std::vector<Opt> opts = oracle::random_opts(of_opts, made.sink, 6).opts;
    for (const Target& target : {Target(), Target::of_instances(), Target().deterministic()}) {
      std::string text;
      try {
        text = compile_kernel(made.sink, target, opts).uops.text();
      } catch (const Error&) {
        continue;  // Opts that the target forbids
      }
      const Recorded with_record = recorded(made.sink, target, opts);
      EXPECT_EQ(with_record.kernel.uops.text(), text) << seed;
      check_record(with_record);
      ++checked;
    }
  }
  EXPECT_GT(checked, test::sample(600U));
}

}  // namespace
}  // namespace strata
