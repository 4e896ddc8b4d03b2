// Loops as data: what each Opt does to them, and what is refused.
#include "strata/codegen/axes.h"

#include <gtest/gtest.h>

#include "tests/codegen/kernels.h"
#include "tests/codegen/random_kernel.h"

namespace strata {
namespace {

using namespace kernels;

std::string axes_after(const LazyOp& kernel, std::string_view opts) {
  KernelAxes axes(kernel);
  axes.apply(parse_opts(opts));
  return axes.text();
}
/// The complaint about the last of the Opts, which has to name it and to leave all as it was.
std::string refusal(const LazyOp& kernel, std::string_view legal, std::string_view refused) {
  KernelAxes axes(kernel);
  axes.apply(parse_opts(legal));
  const std::string before = axes.text();
  const auto order = axes.order();
  const std::string text = complaint([&] { axes.apply(parse_opts(refused)); });
  EXPECT_EQ(axes.text(), before);
  EXPECT_EQ(axes.order(), order);
  EXPECT_TRUE(has(text, detail::message("[", refused, "]"))) << text;
  return text;
}

TEST(KernelAxes, OutputsComeFirstThenTheReductionsByGroup) {
  EXPECT_EQ(axes_after(matmul(5, 6, 7), ""),
            "0 output 5: loop 5\n1 output 1: loop 1\n2 output 7: loop 7\n3 reduce 6: loop 6\n");
  const KernelAxes axes(softmax(4, 9));
  EXPECT_EQ(axes.text(), "0 output 4: loop 4\n1 output 9: loop 9\n2 reduce 9: loop 9\n3 reduce 9: loop 9\n");
  ASSERT_EQ(axes.groups().size(), 2U);
  EXPECT_EQ(axes.groups()[0].level, 0);
  EXPECT_EQ(axes.groups()[1].level, 1);
  EXPECT_EQ(axes.outputs(), 2U);
}

TEST(KernelAxes, ReductionsOfOneLevelAndSizeShareAGroup) {
  const LazyOp x = input(1, {4, 9}), y = input(2, {4, 9}), z = input(3, {4, 8});
  const auto total = [](const LazyOp& of) { return LazyOp::reduce(Ops::SUM, of, {1}); };
  EXPECT_EQ(KernelAxes(kernel(total(x) + total(y))).groups().size(), 1U);
  EXPECT_EQ(KernelAxes(kernel(total(x) + total(z))).groups().size(), 2U);
}

TEST(KernelAxes, SplitsLeaveTheRestAsASegment) {
  const LazyOp k = added({10});
  EXPECT_EQ(axes_after(k, "UPCAST 0 5"), "0 output 10: loop 2, upcast 5\n");
  EXPECT_EQ(axes_after(k, "UPCAST 0 4"), "0 output 10: loop 2, upcast 4 | loop 2\n");
  EXPECT_EQ(axes_after(k, "LANES 0 4"), "0 output 10: loop 2, lanes 4 | loop 2\n");
  EXPECT_EQ(axes_after(k, "UNROLL 0 2"), "0 output 10: loop 5, upcast 2\n");
  EXPECT_EQ(axes_after(k, "SPLIT 0 5, SPLIT 0 5"), "0 output 10: loop 2, loop 1, loop 5\n");
  EXPECT_EQ(axes_after(k, "CUT 0 3, LANES 0 7 @1"), "0 output 10: loop 3 | loop 1, lanes 7\n");
  EXPECT_EQ(axes_after(k, "PARALLEL 0, LANES 0 4"), "0 output 10: parallel 2, lanes 4 | loop 2\n");
  EXPECT_EQ(axes_after(matmul(2, 6, 2), "UNROLL 3 3"),
            "0 output 2: loop 2\n1 output 1: loop 1\n2 output 2: loop 2\n3 reduce 6: loop 2, unroll 3\n");
}

/// The axes after these, and what stopped them.
std::pair<std::string, std::string> merged(const LazyOp& kernel, const std::vector<Opt>& opts, bool one_by_one) {
  KernelAxes axes(kernel);
  const std::string said = complaint([&] {
    if (!one_by_one) return axes.apply(opts);
    for (const Opt& opt : opts) axes.apply(opt);
  });
  std::string text = axes.text() + detail::message(axes.outputs(), " outputs:");
  for (const std::size_t a : axes.order()) text += detail::message(" ", a);
  for (const ReduceGroup& g : axes.groups()) text += detail::message("; ", g.first, " ", g.count);
  for (const LoopAxis& axis : axes.axes()) {
    text += detail::message("; ", axis.group, ":");
    for (const std::size_t t : axis.dims) text += detail::message(" ", t);
  }
  return {text, said};
}

TEST(KernelAxes, ManyMergesAreWhatTheyAreOneByOne) {
  const LazyOp x = input(1, {2, 1, 3, 4, 5, 6}), y = input(2, {2, 1, 3, 1, 1, 1});
  const LazyOp both = LazyOp::sink({output(LazyOp::reduce(Ops::SUM, x, {3, 4, 5})), output(y, 3)});
  const LazyOp wide = LazyOp::sink({output(x), output(y, 3)});  // y does not run over the last three
  int refused = 0;
  for (const LazyOp& k : {both, wide, added({7})})
    for (std::uint64_t seed = 0; seed < 4096; ++seed) {
      std::vector<Opt> opts;
      for (std::uint64_t left = seed; left > 0; left /= 8) opts.push_back({Opt::Kind::MERGE, left % 8, 0, 0, {}});
      const auto [text, said] = merged(k, opts, false);
      const auto [expected, refusal] = merged(k, opts, true);
      ASSERT_EQ(text, expected) << text_of(opts);
      ASSERT_EQ(said, refusal) << text_of(opts);
      refused += said.empty() ? 0 : 1;
    }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 3 * 4096 - 20);
}

// At a walk over all axes for each of them it would take minutes.
TEST(KernelAxes, MergesOfManyAxesAreOneWalk) {
  constexpr std::size_t kRank = 100'000;
  KernelAxes axes(added(Ints(kRank, Int(1))));
  axes.apply(std::vector<Opt>(kRank - 1, Opt{Opt::Kind::MERGE, 0, 0, 0, {}}));
  ASSERT_EQ(axes.axes().size(), 1U);
  EXPECT_EQ(axes.axes()[0].dims.size(), kRank);
  EXPECT_EQ(axes.order(), std::vector<std::size_t>{0});
}

// Whatever is done to it, an axis keeps each of its coordinates once.
TEST(KernelAxes, SegmentsPartitionTheirAxis) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    oracle::Choices choices(seed);
    const LazyOp k = added({static_cast<std::int64_t>(1 + seed % 40), static_cast<std::int64_t>(seed % 7)});
    KernelAxes axes(k);
    const oracle::RandomOpts random = oracle::random_opts(choices, k, 12);
    EXPECT_EQ(random.fault, "");
    axes.apply(random.opts);
    for (const LoopAxis& axis : axes.axes()) {
      std::int64_t next = 0;
      for (const Segment& s : axis.segments) {
        EXPECT_EQ(s.begin.value(), next) << text_of(random.opts);
        next += s.size().value();
      }
      EXPECT_GE(next, axis.size.value()) << text_of(random.opts);
      EXPECT_TRUE(axis.padded || next == axis.size.value()) << text_of(random.opts);
    }
  }
}

TEST(KernelAxes, SymbolicSizesAreSplit) {
  const Variable n("n", 1, 100);
  KernelAxes axes(added({n}));
  axes.apply(parse_opts("LANES 0 8"));
  ASSERT_EQ(axes.axes()[0].segments.size(), 2U);
  EXPECT_EQ(axes.text(), "0 output n: loop (n//8), lanes 8 | loop (n%8)\n");
}

TEST(KernelAxes, ReorderAndParallel) {
  KernelAxes axes(added({3, 4, 5}));
  axes.apply(parse_opts("REORDER 2 0 1, PARALLEL 2"));
  EXPECT_EQ(axes.order(), (std::vector<std::size_t>{2, 0, 1}));
  EXPECT_EQ(axes.parallel_axis(), 2);
  EXPECT_EQ(KernelAxes(added({3})).parallel_axis(), -1);
}

TEST(KernelAxes, RefusalsNameTheOptAndTheReason) {
  const LazyOp k = added({10, 3}), m = matmul(4, 6, 8);
  EXPECT_TRUE(has(refusal(k, "", "UPCAST 2 2"), "there is no axis 2: the kernel has 2"));
  EXPECT_TRUE(has(refusal(k, "", "UPCAST 0 2 @1"), "axis 0 has 1 segments"));
  EXPECT_TRUE(has(refusal(k, "", "UPCAST 0 1"), "the amount is from 2 to"));
  EXPECT_TRUE(has(refusal(k, "", "UPCAST 0 0"), "the amount is from 2 to"));
  EXPECT_TRUE(has(refusal(k, "", "SPLIT 1 4"), "only 3 iterations"));
  EXPECT_TRUE(has(refusal(k, "", "LANES 0 65"), "at most 64 lanes"));
  EXPECT_TRUE(has(refusal(k, "LANES 0 2", "LANES 1 3"), "axis 0 has the lanes already"));
  EXPECT_TRUE(has(refusal(k, "LANES 0 2", "LANES 0 5"), "has lanes"));
  EXPECT_TRUE(has(refusal(k, "SPLIT 0 5", "UPCAST 0 2"), "does not divide the 5 iterations"));
  EXPECT_TRUE(has(refusal(k, "", "CUT 0 0"), "not inside"));
  EXPECT_TRUE(has(refusal(k, "", "CUT 0 10"), "not inside"));
  EXPECT_TRUE(has(refusal(k, "SPLIT 0 5", "CUT 0 5"), "cut a segment before splitting"));
  EXPECT_TRUE(has(refusal(k, "", "PARALLEL 1"), "the loop of axis 0 is outside of the axis"));
  EXPECT_TRUE(has(refusal(k, "PARALLEL 0", "PARALLEL 0"), "parallel already"));
  EXPECT_TRUE(has(refusal(m, "", "PARALLEL 3"), "axis 3 is reduced"));
  EXPECT_TRUE(has(refusal(k, "", "REORDER 0 0"), "not a permutation of the 2 output axes"));
  EXPECT_TRUE(has(refusal(k, "", "REORDER 0"), "not a permutation of the 2 output axes"));
  EXPECT_TRUE(has(refusal(k, "PARALLEL 0", "REORDER 1 0"), "the parallel axis 0 stays outermost"));
  EXPECT_TRUE(has(refusal(added({4096, 4096}), "UPCAST 0 1024", "UPCAST 1 2"), "copies of the body"));
}

// A loop of one iteration is no loop: the one inside of it can be parallel, and stays the outermost loop.
TEST(KernelAxes, LoopsOfOneIterationMayBeOutsideOfTheParallelLoop) {
  const LazyOp k = added({8, 3}), one = added({1, 3});
  EXPECT_TRUE(has(refusal(k, "", "PARALLEL 1"), "the loop of axis 0 is outside of the axis"));
  EXPECT_TRUE(has(refusal(k, "LANES 0 4", "PARALLEL 1"), "the loop of axis 0 is outside of the axis"));
  for (const auto& [kernel, opts] : {std::pair(k, "LANES 0 8, PARALLEL 1"),
                                     {k, "UPCAST 0 2, SPLIT 0 4, PARALLEL 1"},
                                     {k, "LANES 0 8, PARALLEL 1, REORDER 1 0"},
                                     {one, "PARALLEL 1"}}) {
    KernelAxes axes(kernel);
    axes.apply(parse_opts(opts));
    EXPECT_EQ(axes.parallel_axis(), 1) << opts;
  }
  EXPECT_TRUE(has(refusal(one, "PARALLEL 1", "PADTO 0 4"), "the axis is outside of the parallel axis 1"));
}

TEST(KernelAxes, HugeAmountsAreRefused) {
  const LazyOp k = added({10});
  refusal(k, "", "UPCAST 0 9223372036854775807");
  refusal(k, "", "SPLIT 0 9223372036854775807");
  refusal(k, "", "CUT 0 9223372036854775807");
  refusal(k, "UPCAST 0 2", "SPLIT 0 9223372036854775807");
  refusal(added({10, std::int64_t{1} << 40}), "UPCAST 0 2", "UPCAST 1 4611686018427387904");
  KernelAxes axes(k);
  EXPECT_THROW(axes.apply(Opt{Opt::Kind::SPLIT, 0, -3, 0, {}}), Error);
  EXPECT_THROW(axes.apply(Opt{Opt::Kind::CUT, 0, -3, 0, {}}), Error);
  EXPECT_THROW(axes.apply(Opt{Opt::Kind::UPCAST, static_cast<std::size_t>(-1), 2, 0, {}}), Error);
}

TEST(KernelAxes, AStoreThatAllThreadsWouldMakeIsNotParallel) {
  const LazyOp k = LazyOp::sink({output(input(2, {4}), 0), output(input(3, {1}), 1)});
  EXPECT_TRUE(has(refusal(k, "", "PARALLEL 0"), "a store does not depend on the axis"));
}

TEST(KernelAxes, StoresOfOtherShapes) {
  const LazyOp a = output(input(2, {4, 3}), 0);
  const auto with = [&](const Ints& shape) {
    return complaint([&] { KernelAxes(LazyOp::sink({a, output(input(3, shape), 1)})); });
  };
  EXPECT_EQ(with({4, 1}), "");
  EXPECT_EQ(with({1, 3}), "");
  EXPECT_TRUE(has(with({4}), "their ranks differ"));
  EXPECT_TRUE(has(with({4, 2}), "dimension 1 of the stores has sizes 3 and 2"));
  EXPECT_TRUE(has(complaint([&] { KernelAxes{a}; }), "is not a kernel: a SINK is"));
}

TEST(KernelAxes, RankZero) { EXPECT_EQ(axes_after(added({}), ""), ""); }

// --- text ---

TEST(Opts, TextReadsBack) {
  for (const std::string_view text : {"", "SPLIT 0 4", "UPCAST 0 4, LANES 1 8 @1, REORDER 1 0, PARALLEL 1",
                                      "CUT 2 7 @3", "UNROLL 3 2, PARALLEL 0 @2"}) {
    const std::vector<Opt> opts = parse_opts(text);
    EXPECT_EQ(text_of(opts), text);
    EXPECT_EQ(parse_opts(text_of(opts)), opts);
  }
  EXPECT_EQ(text_of(parse_opts("  UPCAST  0  4 ,LANES 1 8@1")), "UPCAST 0 4, LANES 1 8 @1");
}

TEST(Opts, BadTextHasItsColumn) {
  const auto column = [](std::string_view text) -> std::size_t {
    try {
      parse_opts(text);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::parse);
      EXPECT_TRUE(has(error.what(), detail::message("column ", error.column()))) << error.what();
      return error.column();
    }
    return 0;
  };
  EXPECT_EQ(column("FLATTEN 0 4"), 1U);
  EXPECT_EQ(column("UPCAST 0 4, upcast 1 2"), 13U);
  EXPECT_EQ(column("UPCAST"), 7U);
  EXPECT_EQ(column("UPCAST 0"), 9U);
  EXPECT_EQ(column("UPCAST 0 -4"), 10U);
  EXPECT_EQ(column("UPCAST 0 99999999999999999999"), 10U);
  EXPECT_EQ(column("UPCAST 0 4 LANES 1 2"), 12U);
  EXPECT_EQ(column("UPCAST 0 4 @"), 13U);
  EXPECT_NE(column("REORDER 0 x"), 0U);
  EXPECT_NE(column("UPCAST 0 4,"), 0U);
  EXPECT_NE(column(","), 0U);
}

}  // namespace
}  // namespace strata
