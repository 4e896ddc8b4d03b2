// From a LazyOp to UOps: what is shared, what is masked, what is refused.
#include "strata/codegen/lower.h"

#include <gtest/gtest.h>

#include "strata/codegen/kernel.h"
#include "tests/codegen/kernels.h"

namespace strata {
namespace {

using namespace kernels;

Lowered lowered(const LazyOp& kernel, std::string_view opts = "", const Target& target = {}) {
  KernelAxes axes(kernel);
  axes.apply(parse_opts(opts));
  return lower(kernel, axes, target);
}
std::string refusal(const LazyOp& kernel, std::string_view opts = "", const Target& target = {}) {
  return complaint([&] { lowered(kernel, opts, target); });
}

TEST(Lower, AccessesAreIndexExpressions) {
  const Lowered out = lowered(added({4, 3}));
  ASSERT_EQ(out.accesses.size(), 3U);
  for (const Access& a : out.accesses) {
    EXPECT_EQ(a.index.render(), "((ridx0*3)+ridx1)");
    EXPECT_EQ(a.valid.render(), "1");
    EXPECT_EQ(a.size, Int(12));
    EXPECT_EQ(a.is_store, a.slot == 0);
  }
  EXPECT_EQ(out.counters.size(), 2U);
  EXPECT_EQ(out.buffers.size(), 3U);
  EXPECT_TRUE(out.buffers[0].written);
  EXPECT_FALSE(out.buffers[0].read);
}

TEST(Lower, ALoopOfOneTurnIsNone) {
  EXPECT_TRUE(lowered(two_plus_three()).counters.empty());
  EXPECT_EQ(lowered(added({1, 5, 1})).counters.size(), 1U);
}

// What does not depend on an unrolled coordinate is there once.
TEST(Lower, UnrolledCopiesShareLoads) {
  const LazyOp k = matmul(4, 6, 8);
  const auto loads = [&](std::string_view opts) { return count(lowered(k, opts).graph, UOps::LOAD); };
  EXPECT_EQ(loads(""), 2U);
  EXPECT_EQ(loads("UPCAST 0 4"), 4U + 1U);
  EXPECT_EQ(loads("UPCAST 0 2, UPCAST 2 4"), 2U + 4U);
  EXPECT_EQ(loads("LANES 2 4"), 2U);
}

TEST(Lower, TheSameTensorTwiceIsOneUOp) {
  const LazyOp x = input(1, {4, 9});
  const LazyOp twice = LazyOp::alu(Ops::SQRT, {x}) + LazyOp::alu(Ops::SQRT, {x});
  const Lowered out = lowered(kernel(twice));
  EXPECT_EQ(count(out.graph, Ops::SQRT), 1U);
  EXPECT_EQ(count(out.graph, UOps::LOAD), 1U);
}

TEST(Lower, VectorsAreOneLoadWhereMemoryIsContiguous) {
  const auto widest = [](const Lowered& out) {
    int lanes = 1;
    for (const UOp u : out.graph)
      if (u.op() == UOps::LOAD) lanes = std::max(lanes, u.dtype().lanes());
    return lanes;
  };
  EXPECT_EQ(widest(lowered(added({4, 8}), "LANES 1 8")), 8);
  EXPECT_EQ(widest(lowered(added({4, 8}), "LANES 0 4")), 1);  // strided: each lane by itself
  EXPECT_EQ(widest(lowered(added({4, 6}), "LANES 1 3")), 3);
  const LazyOp flipped = kernel(input(1, {8}).flip({0}));
  EXPECT_EQ(widest(lowered(flipped, "LANES 0 4")), 1);
}

TEST(Lower, PaddingIsAGateOnTheLoad) {
  const Lowered out = lowered(kernel(input(1, {5}).pad({{1, 2}})));
  std::size_t gated = 0;
  for (const UOp u : out.graph)
    if (u.op() == UOps::LOAD) gated += u.src().size() == 4 ? 1 : 0;
  EXPECT_EQ(gated, 1U);
  // Where the pieces are cut apart, nothing is left to ask.
  const Lowered pieces = lowered(kernel(input(1, {5}).pad({{1, 2}})), "CUT 0 1, CUT 0 6 @1");
  for (const UOp u : pieces.graph)
    if (u.op() == UOps::LOAD) {
      EXPECT_EQ(u.src().size(), 2U);
    }
}

// exp(0) is not 0: a value beside the padding has to be 0 although its operand is.
TEST(Lower, WhatIsPaddedAfterAnOpIsZero) {
  const LazyOp e = LazyOp::alu(Ops::EXP2, {input(1, {3})}).pad({{1, 1}});
  Target target;
  target.native.insert(Ops::EXP2);
  EXPECT_GE(count(lowered(kernel(e), "", target).graph, Ops::WHERE), 1U);
}

TEST(Lower, ASizeOfZeroStoresNothing) {
  EXPECT_TRUE(lowered(added({0})).stores.empty());
  EXPECT_TRUE(lowered(added({4, 0, 3})).stores.empty());
  const Lowered out = lowered(kernel(LazyOp::reduce(Ops::REDUCE_MAX, input(1, {3, 0}), {1})));
  ASSERT_EQ(out.stores.size(), 1U);
  EXPECT_TRUE(out.accesses.size() == 1 && out.accesses[0].is_store);
}

TEST(Lower, OpsThatTheTargetLacksAreWrittenOut) {
  const LazyOp k = kernel(LazyOp::alu(Ops::EXP2, {input(1, {8})}));
  EXPECT_EQ(count(lowered(k).graph, Ops::EXP2), 0U);
  Target native;
  native.native.insert(Ops::EXP2);
  EXPECT_EQ(count(lowered(k, "", native).graph, Ops::EXP2), 1U);
}

TEST(Lower, ProductsAreFusedOnlyWhereThatIsAllowed) {
  const LazyOp a = input(1, {8}), b = input(2, {8}), c = input(3, {8});
  const LazyOp k = kernel(a * b + c);
  EXPECT_EQ(count(lowered(k).graph, Ops::MULACC), 1U);
  EXPECT_EQ(count(lowered(k, "", Target().deterministic()).graph, Ops::MULACC), 0U);
  const auto i32 = [](int slot) { return input(slot, {8}, dtypes::int32); };
  EXPECT_EQ(count(lowered(kernel(i32(1) * i32(2) + i32(3))).graph, Ops::MULACC), 0U);
}

// --- in place ---

TEST(Lower, ReadingWhereItWritesIsAllowed) {
  const ShapeTracker st = plain({4, 3});
  const LazyOp x = LazyOp::load(0, dtypes::float32, st);
  EXPECT_EQ(refusal(LazyOp::sink({LazyOp::store(0, st, x + x)})), "");
  EXPECT_EQ(refusal(LazyOp::sink({LazyOp::store(0, st, x + x)}), "UPCAST 0 2, LANES 1 3"), "");
}

TEST(Lower, ReadingAnotherPlaceOfWhatItWritesIsRefused) {
  const ShapeTracker st = plain({8});
  const LazyOp x = LazyOp::load(0, dtypes::float32, st);
  const std::string flipped = refusal(LazyOp::sink({LazyOp::store(0, st, x.flip({0}))}));
  EXPECT_TRUE(says(flipped, "buffer 0 is written by the kernel and read at")) << flipped;
  const LazyOp total = LazyOp::reduce(Ops::SUM, x, {0}).expand({8});
  EXPECT_NE(refusal(LazyOp::sink({LazyOp::store(0, st, x - total)})), "");
  const LazyOp shifted = x.pad({{1, 0}}).shrink({{0, 8}});
  EXPECT_NE(refusal(LazyOp::sink({LazyOp::store(0, st, shifted)})), "");
}

// --- order ---

TEST(Lower, SumsOfFloatsKeepTheirOrderWhereThatIsAsked) {
  const LazyOp k = matmul(4, 6, 8);
  const Target ordered = Target().deterministic();
  EXPECT_EQ(refusal(k, "UPCAST 0 4, LANES 2 8, UNROLL 3 3", ordered), "");
  for (const std::string_view opts : {"UPCAST 3 2", "LANES 3 2"}) {
    const std::string text = refusal(k, opts, ordered);
    EXPECT_TRUE(says(text, "ReduceOps.SUM of floats keeps its order here; axis 3 has")) << text;
    EXPECT_EQ(refusal(k, opts), "");
  }
  const LazyOp integers = kernel(LazyOp::reduce(Ops::SUM, input(1, {4, 8}, dtypes::int32), {1}));
  EXPECT_EQ(refusal(integers, "LANES 2 4", ordered), "");
  const LazyOp largest = kernel(LazyOp::reduce(Ops::REDUCE_MAX, input(1, {4, 8}), {1}));
  EXPECT_EQ(refusal(largest, "LANES 2 4", ordered), "");
}

// --- symbolic ---

TEST(Lower, SymbolicSizesAreParametersAndConditions) {
  const Variable n("n", 1, 64);
  const Lowered out = lowered(added({n, 4}));
  ASSERT_EQ(out.variables.size(), 1U);
  EXPECT_EQ(out.variables[0].name(), "n");
  EXPECT_EQ(out.accesses[0].ranges.render(), "(((n*-1)+ridx0)<0)");
  EXPECT_EQ(count(out.graph, UOps::DEFINE_VAR), 1U);
}

TEST(Lower, ParallelLoopsRunOverARangeOfTheCaller) {
  const Lowered out = lowered(added({10, 4}), "PARALLEL 0");
  ASSERT_TRUE(out.parallel.has_value());
  EXPECT_EQ(*out.parallel, Int(10));
  EXPECT_EQ(count(out.graph, UOps::DEFINE_VAR), 2U);
  EXPECT_FALSE(lowered(added({10, 4})).parallel.has_value());
  EXPECT_EQ(*lowered(added({10, 4}), "PARALLEL 0, LANES 0 4").parallel, Int(2));
}

}  // namespace
}  // namespace strata
