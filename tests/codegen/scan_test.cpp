// Scans: the order of ir/scan_order.h against a plain recursion; lists and devices against the interpreter, to the bit.
#include "strata/codegen/scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "strata/codegen/heuristic.h"
#include "strata/codegen/kernel.h"
#include "strata/graph/interpret.h"
#include "strata/ir/evaluate.h"
#include "strata/ir/scan_order.h"
#include "strata/ops/kernel_text.h"
#include "strata/runtime/device.h"
#include "tests/codegen/exact_kernels.h"
#include "tests/codegen/kernels.h"

namespace strata {
namespace {

using kernels::input, kernels::kernel, kernels::output;
using oracle::Buffers, oracle::check_exactly, oracle::is_nan, oracle::memory_for;

Scalar combined(Ops op, const Scalar& a, const Scalar& b) {
  const std::array operands{a, b};
  return scalar_function(combining_op(op), a.dtype())(operands, a.dtype());
}

/// The prefix of element `k` among the elements [begin, k] of a block of `width` from `begin` on: that of a half, with
/// the last of the half in front.
Scalar prefix(Ops op, const std::vector<Scalar>& x, std::int64_t begin, std::int64_t width, std::int64_t k) {
  if (width == 1) return x[static_cast<std::size_t>(k)];
  const std::int64_t half = width / 2;
  if (k < begin + half) return prefix(op, x, begin, half, k);
  return combined(op, prefix(op, x, begin + half, half, k), prefix(op, x, begin, half, begin + half - 1));
}
/// The total of `count` pieces of `length` elements, from `begin` on.
Scalar total(Ops op, const std::vector<Scalar>& x, std::int64_t begin, std::int64_t count, std::int64_t length) {
  Scalar out = identity_of(op, x[0].dtype());
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t at = begin + k * length;
    out = combined(op, out,
                   length == kScanGroup ? prefix(op, x, at, kScanGroup, at + kScanGroup - 1)
                                        : total(op, x, at, kScanRun, length / kScanRun));
  }
  return out;
}
/// Element `k` of a grouped scan, as scan_order.h describes it.
Scalar described(Ops op, const std::vector<Scalar>& x, std::int64_t k) {
  const auto [group, run, block] = kScanLengths;
  const Scalar blocks = total(op, x, 0, k / block, block);
  const Scalar runs = total(op, x, k / block * block, k % block / run, run);
  const Scalar groups = total(op, x, k / run * run, k % run / group, group);
  return combined(op, prefix(op, x, k / group * group, group, k), combined(op, combined(op, blocks, runs), groups));
}

LazyOp scanned(Ops op, const Ints& shape, std::int64_t axis, DType dtype) {
  if (op != Ops::MULACC) return kernel(LazyOp::scan(op, input(1, shape, dtype), axis));
  return kernel(LazyOp::recurrence(input(1, shape, dtype), input(2, shape, dtype), axis));
}

TEST(Scan, TheOrderIsTheDescribedOne) {
  std::mt19937_64 random(3);
  for (const std::int64_t n : {1, 7, 16, 17, 1024, 1041, 66600}) {
    for (const Ops op : {Ops::SUM, Ops::PROD}) {
      const LazyOp ast = scanned(op, {n}, 0, dtypes::float32);
      Buffers memory = memory_for(ast, {}, random());
      std::vector<Scalar> x;
      for (std::int64_t k = 0; k < n; ++k) {
        memory[1].put(k,
                      op == Ops::PROD ? Scalar::of(dtypes::float32, 1 + memory[1][k].as_double() / 1e4) : memory[1][k]);
        x.push_back(memory[1][k]);
      }
      interpret(ast, oracle::memory_of(memory));
      for (int j = 0; j < 60; ++j) {
        const auto k = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
        const Scalar found = memory[0][k], wanted = described(op, x, k);
        EXPECT_TRUE(found == wanted || is_nan(wanted))
            << n << ": " << k << ": " << found.text() << " " << wanted.text();
      }
    }
  }
}

TEST(Scan, EachDtypeAndOp) {
  std::uint64_t seed = 0;
  for (const DType dtype :
       {dtypes::float32, dtypes::float64, dtypes::int8, dtypes::uint8, dtypes::int16, dtypes::uint16, dtypes::int32,
        dtypes::uint32, dtypes::int64, dtypes::uint64, dtypes::boolean})
    for (const Ops op : {Ops::SUM, Ops::PROD, Ops::REDUCE_MAX, Ops::REDUCE_MIN, Ops::MULACC}) {
      if (op == Ops::MULACC && dtype.is_bool()) continue;
      check_exactly(scanned(op, {3, 37}, 1, dtype), {}, {}, ++seed, true);
      check_exactly(scanned(op, {37, 19}, 0, dtype), {}, {}, ++seed, true);
    }
  for (const DType dtype : {dtypes::float16, dtypes::bfloat16})  // extremes are not rounded
    check_exactly(scanned(Ops::REDUCE_MAX, {37, 19}, 0, dtype), {}, {}, ++seed, true);
}

TEST(Scan, LengthsAroundGroupsRunsAndBlocks) {
  std::uint64_t seed = 100;
  for (const std::int64_t n : {1, 2, 3, 4, 5, 8, 15, 16, 17, 24, 31, 32, 33, 1023, 1024, 1025, 1040, 2047, 2048, 2049})
    for (const Ops op : {Ops::SUM, Ops::REDUCE_MAX, Ops::MULACC})
      for (const bool is_row : {true, false})
        check_exactly(scanned(op, is_row ? Ints{2, n} : Ints{n, 9}, is_row ? 1 : 0, dtypes::float32), {}, {}, ++seed,
                      n % 16 < 2);
  for (const std::int64_t n : {1, 2, 3, 5, 15, 16, 17, 33, 100})
    for (const std::int64_t factors : {2, 3, 6, 16})
      for (const bool is_row : {true, false}) {
        const Ints shape = is_row ? Ints{2, n} : Ints{n, 9};
        std::vector<LazyOp> a;
        for (std::int64_t k = 0; k < factors; ++k) a.push_back(input(static_cast<int>(2 + k), shape));
        check_exactly(kernel(LazyOp::recurrence(a, input(1, shape), is_row ? 1 : 0)), {}, {}, ++seed, n == 17);
      }
  check_exactly(scanned(Ops::SUM, {65536 * 2 + 1024 * 3 + 16 * 5 + 3}, 0, dtypes::float32), {}, {}, ++seed, true);
  check_exactly(scanned(Ops::SUM, {65536 + 1024}, 0, dtypes::float32), {}, {}, ++seed, true);
}

TEST(Scan, SymbolicSizes) {
  const Variable n("n", 0, 3000), m("m", 1, 40);
  for (const std::int64_t length : {0, 1, 15, 16, 33, 1024, 1100, 3000})
    for (const Ops op : {Ops::SUM, Ops::REDUCE_MIN, Ops::MULACC}) {
      check_exactly(scanned(op, {2, n}, 1, dtypes::float32), {{"n", length}}, {},
                    200 + static_cast<std::uint64_t>(length), length % 5 == 0);
      check_exactly(scanned(op, {n, m}, 0, dtypes::float32), {{"n", length}, {"m", 17}}, {},
                    201 + static_cast<std::uint64_t>(length), length == 33);
    }
}

TEST(Scan, InsideOfAnExpression) {
  const Ints shape = {5, 40};
  const LazyOp x = input(1, shape), y = input(2, {40, 5}).permute({1, 0});
  const LazyOp sum = LazyOp::scan(Ops::SUM, x * y, 1);
  const LazyOp ast = LazyOp::sink({output(sum + x), output(x * y, 3), output(LazyOp::alu(Ops::ABS, {sum}), 4)});
  for (std::uint64_t seed = 300; seed < 306; ++seed) check_exactly(ast, {}, {}, seed, true);
  const LazyOp padded = LazyOp::scan(Ops::PROD, input(1, {5, 30}).pad({{0, 0}, {4, 6}}).flip({1}), 1);
  check_exactly(kernel(padded), {}, {}, 306, true);
  const LazyOp counts = LazyOp::iota(dtypes::int32, kernels::plain({3, 50}));
  check_exactly(kernel(LazyOp::scan(Ops::SUM, counts, 0)), {}, {}, 307, true);
  // In place: each iteration reads what it writes.
  check_exactly(kernel(LazyOp::scan(Ops::SUM, input(0, {3, 77}), 1)), {}, {}, 308, true);
}

TEST(Scan, OptsThatKeepTheOrder) {
  std::uint64_t seed = 400;
  for (const char* opts : {"", "LANES 1 8", "LANES 0 4", "LANES 2 8", "UPCAST 0 2, LANES 2 4", "PARALLEL 0", "CUT 0 3",
                           "REORDER 2 0 1, PARALLEL 2", "LANES 1 8, REORDER 2 0 1, UPCAST 2 3", "PADTO 0 4, LANES 0 4"})
    for (const Ops op : {Ops::SUM, Ops::REDUCE_MAX, Ops::MULACC})
      check_exactly(scanned(op, {6, 53, 10}, 1, dtypes::float32), {}, parse_opts(opts), ++seed, true);
}

/// SPLITSCAN: the totals in front of blocks are computed first, in the same order.
TEST(Scan, BlocksThatThreadsShare) {
  const std::vector<Opt> opts = parse_opts("SPLITSCAN 0, LANES 0 8, PARALLEL 0");
  const std::int64_t block = kScanLengths[2], n = 2 * block + 3 * kScanLengths[1] + 5 * kScanGroup + 3;
  check_exactly(scanned(Ops::SUM, {n}, 0, dtypes::float32), {}, opts, 1, true);
  check_exactly(scanned(Ops::REDUCE_MAX, {n}, 0, dtypes::float32), {}, parse_opts("SPLITSCAN 0, PARALLEL 0"), 2, true);
  check_exactly(scanned(Ops::PROD, {2 * block}, 0, dtypes::uint8), {}, opts, 4, true);
  check_exactly(scanned(Ops::SUM, {2 * block + 1}, 0, dtypes::float64), {}, parse_opts("SPLITSCAN 0"), 3, true);
  const LazyOp x = input(1, {1, n, 1}), sum = LazyOp::scan(Ops::SUM, x * x - input(2, {1, n, 1}), 1);
  check_exactly(LazyOp::sink({output(sum + x)}), {}, parse_opts("SPLITSCAN 1, LANES 1 8, PARALLEL 1"), 6, true);
}

TEST(Scan, LongRowsAreSplitWhereThreadsShareThem) {
  Target target;
  target.shuffles = true;
  const LazyOp one = scanned(Ops::SUM, {1 << 21}, 0, dtypes::float32),
               rows = scanned(Ops::SUM, {2, 1 << 21}, 1, dtypes::float32);
  const LazyOp heavy = kernel(LazyOp::scan(Ops::SUM, LazyOp::alu(Ops::EXP, {input(1, {1 << 21})}), 0));
  EXPECT_EQ(text_of(heuristic_opts(one, target)), "LANES 0 8");
  target.threads = 2;
  EXPECT_EQ(text_of(heuristic_opts(one, target)), "SPLITSCAN 0, LANES 0 8, PARALLEL 0");
  // Other axes of one place do not matter.
  const LazyOp inside = scanned(Ops::SUM, {1, 1 << 21, 1}, 1, dtypes::float32);
  EXPECT_EQ(text_of(heuristic_opts(inside, target)), "SPLITSCAN 1, LANES 1 8, PARALLEL 1");
  EXPECT_EQ(text_of(compile_kernel(inside, target).opts), "SPLITSCAN 1, LANES 1 8, PARALLEL 1");
  EXPECT_EQ(text_of(heuristic_opts(rows, target)), "LANES 1 8, STREAM 0, PARALLEL 0");
  EXPECT_EQ(text_of(heuristic_opts(heavy, target)), "LANES 0 8");
  target.threads = 8;
  EXPECT_EQ(text_of(heuristic_opts(heavy, target)), "SPLITSCAN 0, LANES 0 8, PARALLEL 0");
}

TEST(Scan, RefusesToSplit) {
  const auto refusal = [](const LazyOp& ast, const char* opts) {
    return complaint([&] { compile_kernel(ast, Target(), parse_opts(opts)); });
  };
  const LazyOp row = scanned(Ops::SUM, {1 << 18}, 0, dtypes::float32);
  EXPECT_EQ(refusal(row, "SPLITSCAN 1"), "[SPLITSCAN 1] axis 1 is not that of a scan");
  EXPECT_EQ(refusal(row, "LANES 0 8, SPLITSCAN 0"),
            "[SPLITSCAN 0] splits the kernel into three kernels: it must come before all other Opts");
  EXPECT_EQ(refusal(scanned(Ops::MULACC, {1 << 18}, 0, dtypes::float32), "SPLITSCAN 0"),
            "[SPLITSCAN 0] a recurrence goes on from element to element");
  EXPECT_EQ(refusal(scanned(Ops::PROD, {1 << 18}, 0, dtypes::float32), "SPLITSCAN 0"),
            "[SPLITSCAN 0] products of floats are not totals of blocks");
  EXPECT_EQ(refusal(scanned(Ops::SUM, {2, 1 << 18}, 1, dtypes::float32), "SPLITSCAN 1"),
            "[SPLITSCAN 1] the scan has several rows");
  EXPECT_EQ(refusal(scanned(Ops::SUM, {131071}, 0, dtypes::float32), "SPLITSCAN 0"),
            "[SPLITSCAN 0] the axis has 131071 elements, fewer than two blocks of 65536");
  EXPECT_EQ(refusal(scanned(Ops::SUM, {Variable("n", 1, 1 << 20)}, 0, dtypes::float32), "SPLITSCAN 0"),
            "[SPLITSCAN 0] the axis has the symbolic size n");
  EXPECT_EQ(refusal(kernel(LazyOp::reduce(Ops::SUM, input(1, {64}), {0})), "SPLITSCAN 0"),
            "[SPLITSCAN 0] axis 0 is not that of a scan");
}

TEST(Scan, RefusesWhatWouldChangeTheOrder) {
  const LazyOp ast = scanned(Ops::SUM, {6, 64, 10}, 1, dtypes::float32);
  const auto refusal = [&](const char* opt) {
    KernelAxes axes(ast);
    const std::string text = axes.text();
    const std::string out = complaint([&] { axes.apply(parse_opts(opt)); });
    EXPECT_EQ(axes.text(), text);
    return out;
  };
  EXPECT_EQ(refusal("UPCAST 1 2"), "[UPCAST 1 2] the axis of a scan is one loop");
  EXPECT_EQ(refusal("CUT 1 3"), "[CUT 1 3] the axis of a scan is one loop");
  EXPECT_EQ(refusal("PADTO 1 3"), "[PADTO 1 3] the axis of a scan is one loop");
  EXPECT_EQ(refusal("PARALLEL 1"), "[PARALLEL 1] the axis of a scan is one loop");
  EXPECT_EQ(refusal("UNROLL 1 2"), "[UNROLL 1 2] the axis of a scan is one loop");
  EXPECT_EQ(refusal("LANES 1 16"), "[LANES 1 16] lanes along a scan are 8, half a group");
  EXPECT_EQ(refusal("SPLIT 0 2"), "[SPLIT 0 2] each axis beside a scan has one loop");
  EXPECT_EQ(refusal("MERGE 0"), "[MERGE 0] the axis of a scan is merged with none");
  EXPECT_EQ(refusal("MERGE 1"), "[MERGE 1] the axis of a scan is merged with none");
  EXPECT_EQ(refusal("STAGE 0 1"), "[STAGE 0 1] no buffer of a scan is staged");
  EXPECT_EQ(refusal("REORDER 0 1 2"), "[REORDER 0 1 2] the axis of a scan stays innermost");
}

TEST(Scan, RefusesKernelsThatHaveMoreThanAScan) {
  const LazyOp x = input(1, {4, 6}), sum = LazyOp::scan(Ops::SUM, x, 1);
  const auto refusal = [](const LazyOp& ast) { return complaint([&] { compile_kernel(ast, Target()); }); };
  EXPECT_NE(refusal(kernel(LazyOp::scan(Ops::SUM, sum, 0))).find("is not alone in its kernel"), std::string::npos);
  EXPECT_NE(refusal(kernel(LazyOp::reduce(Ops::SUM, sum, {1}))).find("is not alone"), std::string::npos);
  EXPECT_NE(refusal(kernel(sum.flip({1}))).find("is read at another index"), std::string::npos);
  EXPECT_NE(refusal(kernel(sum.shrink({{0, 2}, {0, 6}}))).find("in a kernel that stores shape"), std::string::npos);
}

TEST(Scan, RefusesOperands) {
  const LazyOp x = input(1, {4, 6}), half = input(1, {4, 6}, dtypes::float16);
  EXPECT_NE(complaint([&] { LazyOp::scan(Ops::SUM, x, 2); }).find("[scan] axis 2 is outside of shape (4, 6)"),
            std::string::npos);
  EXPECT_NE(complaint([&] { LazyOp::scan(Ops::ADD, x, 0); }).find("is not a reduction"), std::string::npos);
  EXPECT_NE(complaint([&] { LazyOp::scan(Ops::SUM, half, 0); }).find("cast to f32"), std::string::npos);
  EXPECT_NE(complaint([&] { LazyOp::recurrence(half, half, 0); }).find("cast to f32"), std::string::npos);
  EXPECT_NE(complaint([&] { LazyOp::recurrence(x, input(2, {4, 5}), 0); }).find("(4, 6) and (4, 5)"),
            std::string::npos);
  EXPECT_NE(complaint([&] { LazyOp::recurrence(x, half, 0); }).find("f16"), std::string::npos);
}

TEST(Scan, TheWorkIsLinear) {
  const auto steps = [](std::int64_t n) {
    const LazyOp ast = scanned(Ops::SUM, {n}, 0, dtypes::float32);
    return static_cast<double>(oracle::steps_of(compile_kernel(ast, Target()).uops, memory_for(ast, {}, 1)));
  };
  EXPECT_NEAR(steps(32000) / steps(16000), 2, 0.02);
}

}  // namespace
}  // namespace strata
