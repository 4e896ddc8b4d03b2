// From a LazyOp to UOps: what is shared, what is masked, what is refused.
#include "strata/codegen/lower.h"

#include <gtest/gtest.h>

#include "strata/codegen/bounds.h"
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
std::string lower_refusal(const LazyOp& kernel, std::string_view opts = "", const Target& target = {}) {
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

/// out[i, j] = table[index[i], j]: rows of a table.
LazyOp rows_of_table(std::int64_t rows, std::int64_t columns, std::int64_t size) {
  const LazyOp table = LazyOp::load(1, dtypes::float32, plain({size, columns}).permute({1, 0}));
  const LazyOp index = input(2, {rows, 1}, dtypes::int64).expand({rows, columns});
  const Ints every = {rows, columns, size};
  return kernel(LazyOp::gather(table.reshape({1, columns, size}).expand(every), index));
}

// No loop goes over the table, and its accesses are proven by the axis' size.
TEST(Lower, GatherIsALoadAtAComputedIndex) {
  const Lowered plain_loops = lowered(rows_of_table(5, 8, 100));
  EXPECT_EQ(count(plain_loops.graph, UOps::LOOP), 2U);
  EXPECT_EQ(count(plain_loops.graph, UOps::LOAD), 2U);
  EXPECT_EQ(prove_bounds(plain_loops).accesses, 3U);
  EXPECT_EQ(plain_loops.accesses[1].index.render(), "((_at0*8)+ridx1)");
  // A row of a table is read as vectors; what differs by lanes is read lane by lane.
  const Lowered rows = lowered(rows_of_table(5, 8, 100), "LANES 1 8");
  EXPECT_EQ(count(rows.graph, UOps::LOAD), 2U);
  const Lowered columns = lowered(rows_of_table(8, 8, 100), "LANES 0 4");
  EXPECT_EQ(count(columns.graph, UOps::LOAD), 1U + 4U);
}

// Sums below an index that is the same in both parts of an axis have loops in each of them.
TEST(Lower, GatheredSumsHaveLoopsInEachNest) {
  const LazyOp sum = LazyOp::reduce(Ops::SUM, input(1, {2, 9, 1, 2}), {0});
  const LazyOp index = LazyOp::constant(Scalar(std::int32_t{0}), Ints{1, 9, 2});
  const LazyOp k = kernel(LazyOp::gather(sum.expand({1, 9, 2, 2}), index));
  EXPECT_EQ(count(compile_kernel(k, Target(), parse_opts("SPLIT 1 2")).uops, UOps::DEFINE_ACC), 2U);
}

// A sum at an index that another sum gives, of as many elements: its loop comes behind the other one's.
TEST(Lower, GatheredSumsComeBehindSumsOfTheirIndices) {
  const LazyOp index = LazyOp::reduce(Ops::SUM, input(2, {4, 3}, dtypes::int32), {1}).reshape({4});
  const LazyOp sums = LazyOp::reduce(Ops::SUM, input(1, {4, 5, 3}), {2}).reshape({4, 5});
  const Kernel k = compile_kernel(kernel(LazyOp::gather(sums, index)), Target(), parse_opts(""));
  EXPECT_EQ(count(k.uops, UOps::LOOP), 3U);
}

TEST(Lower, GatheredBuffersAreNotStaged) {
  EXPECT_TRUE(
      has(lower_refusal(rows_of_table(8, 8, 100), "SPLIT 0 4, STAGE 0 1"), "buffer 1 is loaded at a computed index"));
}

// In the iteration that reads, the place is not written: another iteration may have done it.
TEST(Lower, WhatIsReadIsWrittenInTheSameTurn) {
  const ShapeTracker first = plain({1}).pad({{0, 1}}), last = plain({1}).pad({{1, 0}});
  const LazyOp two = LazyOp::constant(Scalar(2.0F), Ints{2});
  const auto both = [&](const ShapeTracker& read) {
    return LazyOp::sink({LazyOp::store(0, first, two), output(LazyOp::load(0, dtypes::float32, read, 1), 1)});
  };
  EXPECT_EQ(lower_refusal(both(first)), "");
  EXPECT_TRUE(has(lower_refusal(both(last)), "is written by the kernel and read at 0"));
}

// Vectors that begin at a multiple of their size go past the caches, others do not.
TEST(Lower, StreamIsOfWholeVectors) {
  const auto streamed = [](const LazyOp& k, std::string_view opts) {
    int out = 0;
    for (const PlacedStore& s : lowered(k, opts).stores)
      out += std::holds_alternative<std::int64_t>(s.store.arg()) ? 1 : 0;
    return out;
  };
  EXPECT_EQ(streamed(added({64}), "LANES 0 8, UPCAST 0 2, STREAM 0"), 2);
  EXPECT_EQ(streamed(added({64}), "LANES 0 8"), 0);
  EXPECT_EQ(streamed(added({64}), "STREAM 0"), 0);
  EXPECT_EQ(streamed(added({3, 12}), "LANES 1 8, STREAM 0"), 0);  // the second row begins at 12
  EXPECT_EQ(streamed(added({3, 16}), "LANES 1 8, STREAM 0"), 1);
  EXPECT_EQ(streamed(added({60}), "PADTO 0 8, LANES 0 8, STREAM 0"), 0);  // gated
  EXPECT_NE(lower_refusal(added({64}), "STREAM 1").find("does not store to buffer 1"), std::string::npos);
  EXPECT_NE(lower_refusal(added({64}), "STREAM 0, STREAM 0").find("streamed already"), std::string::npos);
  const LazyOp in_place = LazyOp::sink({output(input(0, {64}) + input(1, {64}))});
  EXPECT_NE(lower_refusal(in_place, "STREAM 0").find("buffer 0 is read"), std::string::npos);
}

// One vector from memory, turned round.
TEST(Lower, VectorsAreReadBackwards) {
  const Lowered out = lowered(kernel(input(1, {64}).flip({0})), "LANES 0 8");
  EXPECT_EQ(count(out.graph, UOps::LOAD), 1U);
  EXPECT_EQ(count(out.graph, UOps::VECTORIZE), 1U);
}

TEST(Lower, VectorsAreStoredBackwards) {
  const LazyOp back = LazyOp::store(0, plain({64}).flip({0}), input(1, {64}));
  const Lowered out = lowered(LazyOp::sink({back}), "LANES 0 8");
  EXPECT_EQ(out.stores.size(), 1U);
  EXPECT_EQ(count(out.graph, UOps::VECTORIZE), 1U);
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
  EXPECT_EQ(widest(lowered(flipped, "LANES 0 4")), 4);
}

// A tile that is the same in every iteration is filled anew where the loops are others: what is left over is in none of
// the first's.
TEST(Lower, TilesOfOtherLoopsAreOtherTiles) {
  const LazyOp row = LazyOp::load(3, dtypes::float32, ShapeTracker({View::create({3}, Ints{0})}));
  const LazyOp x = input(2, {3});
  const LazyOp sum = LazyOp::reduce(Ops::SUM, x, {0}).expand({3});
  const LazyOp k = LazyOp::sink({output(x + sum), output(row, 1)});
  const Target target;
  const Kernel made = compile_kernel(k, target, parse_opts("PARALLEL 0, SPLIT 1 2, SPLIT 0 2, STAGE 0 3"));
  EXPECT_EQ(count(made.uops, UOps::DEFINE_LOCAL), 2U);
}

// A tile of what the parallel loop leaves over is filled in the last call, even where padding leaves no store in it.
TEST(Lower, TilesOfWhatIsLeftOverAreInTheLastCall) {
  const Kernel padded =
      compile_kernel(kernel(input(1, {6})), Target{}, parse_opts("PADTO 0 4, PARALLEL 0, SPLIT 0 3, STAGE 0 1"));
  EXPECT_GE(count(padded.uops, UOps::DEFINE_LOCAL), 1U);
  const Kernel ragged =
      compile_kernel(kernel(input(1, {13, 2})), Target{}, parse_opts("PARALLEL 0, STAGE 1 1, SPLIT 0 2"));
  EXPECT_EQ(count(ragged.uops, UOps::DEFINE_LOCAL), 2U);
}

// What a reduction loads at one index whatever its counter may be moved in front of the loop, where there may be no
// element.
TEST(Lower, LoadsOfLoopsWithoutATurnAreGated) {
  const Variable n("n", 0, 9), m("m", 1, 9);
  const auto gated = [](const LazyOp& k) {
    prove_bounds(lowered(k));
    std::size_t out = 0;
    for (const UOp u : lowered(k).graph)
      if (u.op() == UOps::LOAD && u.src().size() == 4) ++out;
    return out;
  };
  const auto sum_of_row = [](const Variable& size) {
    const ShapeTracker same_row({View::create({size, 2}, Ints{0, 1})});
    return kernel(LazyOp::reduce(Ops::SUM, LazyOp::load(1, dtypes::float32, same_row, Int(size) * Int(2)), {0}));
  };
  EXPECT_EQ(gated(sum_of_row(n)), 1U);
  EXPECT_EQ(gated(sum_of_row(m)), 0U);                                            // has an iteration
  EXPECT_EQ(gated(kernel(LazyOp::reduce(Ops::SUM, input(1, {n, 2}), {0}))), 0U);  // stays in its loop
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

TEST(Lower, IndicesAreNotGuarded) {
  // The quotient of an index has a positive divisor; that of elements may divide by 0.
  const LazyOp x = LazyOp::load(1, dtypes::int32, plain({12}));
  const LazyOp by_row = x.reshape({3, 4}).permute({1, 0}).reshape({12});
  const auto guards = [](const LazyOp& value) { return count(lowered(kernel(value)).graph, Ops::WHERE); };
  EXPECT_GT(count(lowered(kernel(by_row)).graph, Ops::IDIV), 0U);
  EXPECT_EQ(guards(by_row), 0U);
  EXPECT_GT(guards(LazyOp::alu(Ops::IDIV, {by_row, x})), 0U);
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
  EXPECT_EQ(lower_refusal(LazyOp::sink({LazyOp::store(0, st, x + x)})), "");
  EXPECT_EQ(lower_refusal(LazyOp::sink({LazyOp::store(0, st, x + x)}), "UPCAST 0 2, LANES 1 3"), "");
}

TEST(Lower, ReadingAnotherPlaceOfWhatItWritesIsRefused) {
  const ShapeTracker st = plain({8});
  const LazyOp x = LazyOp::load(0, dtypes::float32, st);
  const std::string flipped = lower_refusal(LazyOp::sink({LazyOp::store(0, st, x.flip({0}))}));
  EXPECT_TRUE(has(flipped, "buffer 0 is written by the kernel and read at")) << flipped;
  const LazyOp total = LazyOp::reduce(Ops::SUM, x, {0}).expand({8});
  EXPECT_NE(lower_refusal(LazyOp::sink({LazyOp::store(0, st, x - total)})), "");
  const LazyOp shifted = x.pad({{1, 0}}).shrink({{0, 8}});
  EXPECT_NE(lower_refusal(LazyOp::sink({LazyOp::store(0, st, shifted)})), "");
}

// --- order ---

TEST(Lower, SumsOfFloatsKeepTheirOrderWhereThatIsAsked) {
  const LazyOp k = matmul(4, 6, 8);
  const Target ordered = Target().deterministic();
  EXPECT_EQ(lower_refusal(k, "UPCAST 0 4, LANES 2 8", ordered), "");
  for (const std::string_view opts : {"UPCAST 3 2", "LANES 3 2", "UNROLL 3 3", "SPLIT 3 2", "CUT 3 2"}) {
    const std::string text = lower_refusal(k, opts, ordered);
    EXPECT_TRUE(has(text, "ReduceOps.SUM of floats keeps the defined order; axis 3 stays whole or has LANES 16"))
        << text;
    EXPECT_EQ(lower_refusal(k, opts), "");
  }
  EXPECT_EQ(lower_refusal(matmul(4, 40, 8), "LANES 3 16", ordered), "");
  const LazyOp last_in_run = kernel(LazyOp::reduce(Ops::SUM, input(1, {64, 16}), {0, 1}));
  EXPECT_TRUE(has(lower_refusal(last_in_run, "LANES 3 16", ordered), "axis 3 stays whole"));
  EXPECT_TRUE(has(lower_refusal(last_in_run, "MERGE 2", ordered), "axis 2 stays whole"));
  const LazyOp integers = kernel(LazyOp::reduce(Ops::SUM, input(1, {4, 8}, dtypes::int32), {1}));
  EXPECT_EQ(lower_refusal(integers, "LANES 2 4", ordered), "");
  const LazyOp largest = kernel(LazyOp::reduce(Ops::REDUCE_MAX, input(1, {4, 8}), {1}));
  EXPECT_EQ(lower_refusal(largest, "LANES 2 4", ordered), "");
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
