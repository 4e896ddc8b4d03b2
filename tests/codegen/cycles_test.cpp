// Predicted times: what must be longer is longer, and every list has a prediction.
#include "strata/codegen/cycles.h"

#include <gtest/gtest.h>

#include <cmath>

#include "strata/codegen/heuristic.h"
#include "strata/codegen/kernel.h"
#include "strata/codegen/search.h"
#include "strata/graph/absorb.h"
#include "strata/ops/kernel_text.h"

#include "tests/base/errors.h"
#include "tests/codegen/kernels.h"
#include "tests/codegen/random_kernel.h"

namespace strata {
namespace {

Target of_64_bytes() {
  Target out;
  out.vector_bytes = 64;
  out.vector_registers = 32;
  return out;
}

Cycles cycles_of(std::string_view text, std::string_view opts, const Target& target = of_64_bytes()) {
  const std::vector<Opt> list = parse_opts(opts);
  return compile_kernel(parse_kernel(text).kernel, target, list).cycles;
}

TEST(Cycles, VectorsTakeLessThanElements) {
  constexpr std::string_view add = "a: f32[4096]; b: f32[4096]; c = a + b";
  const double one = cycles_of(add, "").issue, sixteen = cycles_of(add, "LANES 0 16").issue;
  EXPECT_LT(sixteen, one / 6);
  EXPECT_LT(cycles_of(add, "LANES 0 16, UPCAST 0 4").issue, sixteen);  // fewer ends of iterations
}

TEST(Cycles, ALongSumWaitsForItself) {
  constexpr std::string_view sum = "a: f32[1,65536]; c = a.sum(1)";
  const Machine& m = machine_of(64);
  const double one = cycles_of(sum, "LANES 2 16").issue;
  EXPECT_GE(one, 65536.0 / 16 * m.latency);
  EXPECT_LT(cycles_of(sum, "LANES 2 16, UPCAST 2 4").issue, one / 2);
}

TEST(Cycles, MoreSumsThanRegistersAreSpilled) {
  constexpr std::string_view product = "a: f32[64,256]; b: f32[256,64]; c = a @ b";
  const double fits = cycles_of(product, "LANES 1 16, UPCAST 0 8, UPCAST 1 2").issue;
  const double spills = cycles_of(product, "LANES 1 16, UPCAST 0 16, UPCAST 1 4").issue;
  EXPECT_LT(fits, spills);
}

TEST(Cycles, BytesBeyondTheCachesComeOnce) {
  constexpr double bytes = 2.0 * 4 * (1 << 24);
  const Machine& m = machine_of(64);
  const Cycles c = cycles_of("a: f32[16777216]; c = a * 2", "LANES 0 16");
  EXPECT_NEAR(c.caches[2], bytes / m.l3_refill, 1e3);
  EXPECT_NEAR(c.caches[0], bytes / m.l1_refill, 1e3);
  const Cycles small = cycles_of("a: f32[1024]; c = a * 2", "LANES 0 16");
  EXPECT_EQ(small.caches[0], 0);
}

TEST(Cycles, ATransposeInTheWrongOrderReadsLinesAgain) {
  constexpr std::string_view turned = "a: f32[2000,2000]; c = a.permute(1,0)";
  const double rows = cycles_of(turned, "").caches[0];
  const double tiles = cycles_of(turned, "SPLIT 0 16, SPLIT 1 16").caches[0];
  EXPECT_LT(3 * tiles, rows);
}

TEST(Cycles, BlocksOfAProductStayInACache) {
  constexpr std::string_view product = "a: f32[1024,1024]; b: f32[1024,1024]; c = a @ b";
  const double plain = cycles_of(product, "LANES 1 16, UPCAST 0 8").caches[1];
  // The columns of a tile are used for all rows.
  const double columns = cycles_of(product, "LANES 1 16, UPCAST 0 8, REORDER 1 0").caches[1];
  EXPECT_LT(1.5 * columns, plain);
}

TEST(Cycles, SymbolicSizesCountAnAssumption) {
  const Cycles c = cycles_of("n: 1..1000000; a: f32[n,64]; c = a.sum(1)", "PARALLEL 0");
  EXPECT_GT(c.total(), 256 * 64 / 8);
  EXPECT_LT(c.total(), 1e6);
}

TEST(Cycles, EveryListHasAPrediction) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    oracle::Choices choices(seed), of_opts(seed ^ 77);
    const oracle::RandomKernel random = oracle::random_kernel(choices);
    const std::vector<Opt> opts = oracle::random_opts(of_opts, random.sink, 6).opts;
    std::optional<Kernel> kernel;
    try {
      kernel = compile_kernel(random.sink, of_64_bytes(), opts);
    } catch (const Error&) {
      continue;  // other tests say which lists are refused
    }
    const Cycles& c = kernel->cycles;
    for (const double part : {c.issue, c.caches[0], c.caches[1], c.caches[2], c.total()})
      ASSERT_TRUE(std::isfinite(part) && part >= 0) << seed << "\n" << kernel->uops.text();
  }
}

TEST(Cycles, NumbersOfAMachineAreText) {
  Machine m = machine_of(16);
  m.l2_bytes = 3 << 18;
  m.latency = 2.75;
  EXPECT_EQ(parse_machine(text_of(m), machine_of(64)), m);
  EXPECT_EQ(parse_machine("latency 3\nsomething 7\n", machine_of(64))->latency, 3);
  EXPECT_EQ(parse_machine("", m), m);
  for (const std::string_view bad : {"latency", "latency ", "latency x", "latency 0", "latency -1", "latency nan",
                                     "latency inf", "latency 3 4", "latency 1e999"})
    EXPECT_EQ(parse_machine(bad, m), std::nullopt) << bad;
}

TEST(Search, LanesWhereTheDefaultHasNone) {
  // Lanes along rows would be scattered stores, lanes along columns scattered loads: no rule takes either.
  const LazyOp kernel =
      absorb_movement(parse_kernel("a: f32[72,257,32]; c = (a.permute(1,0,2).stride(1,1,2)).sum(2)").kernel);
  const Target target = of_64_bytes();
  const std::vector<Opt> before = loop_opts(kernel, target), after = heuristic_opts(kernel, target);
  const auto time = [&](const std::vector<Opt>& opts) { return compile_kernel(kernel, target, opts).cycles.total(); };
  EXPECT_LT(time(after), 0.75 * time(before));
  EXPECT_EQ(heuristic_opts(kernel, target), after);  // the same list each time
}

TEST(Search, KeepsWhatIsCloseToTheLimit) {
  const LazyOp kernel = absorb_movement(parse_kernel("a: f32[512,512]; b: f32[512,512]; c = a @ b").kernel);
  const Target target = of_64_bytes();
  EXPECT_EQ(searched(kernel, loop_opts(kernel, target), target), loop_opts(kernel, target));
}

TEST(Search, NeverTakesMoreThanItFound) {
  int replaced = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    oracle::Choices choices(seed);
    const LazyOp kernel = absorb_movement(oracle::random_kernel(choices).sink);
    for (const Target& target : {of_64_bytes(), of_64_bytes().deterministic()}) {
      if (!complaint([&] { lower(kernel, KernelAxes(kernel), target); }).empty()) continue;
      const SearchLimits all{.least_cycles = 0, .far_from_limit = 0, .cycles_of_uop = 1e-9};
      const std::vector<Opt> before = loop_opts(kernel, target), after = searched(kernel, before, target, all);
      if (before == after) continue;
      ++replaced;
      EXPECT_LT(compile_kernel(kernel, target, after).cycles.total(),
                compile_kernel(kernel, target, before).cycles.total())
          << seed;
    }
  }
  EXPECT_GE(replaced, 3);
}

TEST(MergedDims, CopiesOfAMergedAxisAreVectors) {
  // 64*i + 16 is not put together again from (64*i + 16) / 160, (64*i + 16) / 5 % 32 and (64*i + 16) % 5.
  const Kernel k = compile_kernel(parse_kernel("a: i32[32,17,32,5]; b: i32[32,17,32,5]; c = a*b + b").kernel,
                                  of_64_bytes(), parse_opts("MERGE 0, MERGE 0, MERGE 0, LANES 0 16, UPCAST 0 4"));
  std::size_t loads = 0;
  for (const UOp u : k.uops) {
    EXPECT_NE(u.op(), UOps::VECTORIZE);
    if (u.op() != UOps::LOAD) continue;
    EXPECT_EQ(u.dtype().lanes(), 16);
    ++loads;
  }
  EXPECT_EQ(loads, 8U);
}

}  // namespace
}  // namespace strata
