// The Opts that are chosen: legal always, and those that kernels of known kinds want.
#include "strata/codegen/heuristic.h"

#include <gtest/gtest.h>

#include "strata/codegen/kernel.h"
#include "strata/codegen/rows.h"
#include "strata/codegen/split_reduce.h"
#include "strata/graph/absorb.h"
#include "strata/ir/uop.h"
#include "strata/ops/kernel_text.h"

#include "tests/codegen/kernel_ranges.h"
#include "tests/codegen/kernels.h"
#include "tests/codegen/random_kernel.h"

namespace strata {
namespace {

using namespace kernels;

Target wide() {
  Target out;
  out.vector_bytes = 64;
  out.vector_registers = 32;
  return out;
}
Target shuffling() {
  Target out = wide();
  out.shuffles = true;
  return out;
}
/// (m, k) by the transposed of (n, k)
LazyOp linear(std::int64_t m, std::int64_t k, std::int64_t n) {
  const LazyOp x = input(1, {m, k}).reshape({m, 1, k}).expand({m, n, k});
  const LazyOp w = input(2, {n, k}).reshape({1, n, k}).expand({m, n, k});
  return kernel(LazyOp::reduce(Ops::SUM, x * w, {2}));
}
bool has_kind(std::span<const Opt> opts, Opt::Kind kind) {
  return std::any_of(opts.begin(), opts.end(), [&](const Opt& o) { return o.kind == kind; });
}
const Opt* find(std::span<const Opt> opts, Opt::Kind kind) {
  const auto it = std::find_if(opts.begin(), opts.end(), [&](const Opt& o) { return o.kind == kind; });
  return it == opts.end() ? nullptr : &*it;
}

TEST(Heuristic, RowsOfNarrowDtypesHaveVectorsThatFit) {
  EXPECT_EQ(lanes_along_row(100, 64), 32);  // 3 vectors and 4 elements
  EXPECT_EQ(lanes_along_row(20, 64), 16);
  EXPECT_EQ(lanes_along_row(128, 64), 64);
  EXPECT_EQ(lanes_along_row(7, 64), 64);  // shorter than all of them
  EXPECT_EQ(lanes_along_row(100, 16), 16);
  EXPECT_EQ(lanes_along_row(100, 8), 8);
  const auto lanes = [](std::string_view text) {
    const std::vector<Opt> opts = heuristic_opts(absorb_movement(parse_kernel(text).kernel), wide());
    const Opt* const found = find(opts, Opt::Kind::LANES);
    return found == nullptr ? 0 : found->amount;
  };
  EXPECT_EQ(lanes("x: i8[50,40]; y = x.max(1)"), 32);
  EXPECT_EQ(lanes("x: u8[50,20]; y = x.min(1)"), 16);
  EXPECT_EQ(lanes("x: bf16[50,48]; y = x.max(1)"), 16);
  EXPECT_EQ(lanes("x: f32[50,40]; y = x.max(1)"), 16);
}

// With a parallel loop, rows and what they leave over have tiles of their own: together more than the scratch memory.
TEST(Heuristic, TilesOfThreadsFitIntoScratchMemory) {
  const LazyOp kernel = absorb_movement(
      parse_kernel("x: u8[121,106,58]; w: i32[8,58,106]; y = ((x.permute(0,2,1).cast(i32).reshape(121,1,58,106) * "
                   "w.reshape(1,8,58,106)).cast(i64)).sum(2,3).reshape(121,8).cast(i32)")
          .kernel);
  Target target = wide();
  target.shuffles = true;
  EXPECT_NE(complaint([&] {
              compile_kernel(kernel, target,
                             parse_opts("PADTO 1 16, LANES 1 16, UPCAST 0 24, REORDER 1 0, STAGE 1 2, PARALLEL 0"));
            }).find("786944 bytes of scratch memory"),
            std::string::npos);
  EXPECT_NO_THROW(compile_kernel(kernel, target));
}

TEST(Heuristic, ElementsAreVectorsAlongContiguousMemory) {
  const std::vector<Opt> opts = heuristic_opts(added({64, 256}), Target());
  const Opt* lanes = find(opts, Opt::Kind::LANES);
  ASSERT_NE(lanes, nullptr);
  EXPECT_EQ(opts[0].text(), "MERGE 0");  // both axes as one
  EXPECT_EQ(lanes->axis, 0U);
  EXPECT_EQ(lanes->amount, 8);
  EXPECT_EQ(find(heuristic_opts(added({64, 256}), wide()), Opt::Kind::LANES)->amount, 16);
}

TEST(Heuristic, VectorsAreThoseOfTheWidestElement) {
  const LazyOp k = kernel(input(1, {256}, dtypes::float64).cast(dtypes::float32));
  const std::vector<Opt> opts = heuristic_opts(k, Target());
  ASSERT_NE(find(opts, Opt::Kind::LANES), nullptr);
  EXPECT_EQ(find(opts, Opt::Kind::LANES)->amount, 4);
}

// Columns that are read element by element do not keep long arithmetic from being done in vectors.
TEST(Heuristic, LongArithmeticIsVectorsHoweverItIsLoaded) {
  const auto columns = [](int count, int functions) {
    const LazyOp x = LazyOp::load(1, dtypes::float32, plain({256, 64}).permute({1, 0}), 64 * 256);
    LazyOp sum = LazyOp::constant(Scalar(0.0F), Ints{1, 256});
    for (int k = 0; k < count; ++k) sum = sum + x.shrink({{k, k + 1}, {0, 256}});
    for (int k = 0; k < functions; ++k) sum = sum * sum + sum;
    return kernel(sum);
  };
  EXPECT_EQ(find(heuristic_opts(columns(8, 0), Target()), Opt::Kind::LANES), nullptr);
  EXPECT_NE(find(heuristic_opts(columns(8, 100), Target()), Opt::Kind::LANES), nullptr);
}

TEST(Heuristic, MatmulReusesWhatItLoads) {
  const std::vector<Opt> opts = heuristic_opts(matmul(64, 64, 64), wide());
  const Opt* lanes = find(opts, Opt::Kind::LANES);
  ASSERT_NE(lanes, nullptr);
  EXPECT_EQ(lanes->axis, 1U);  // the rows, and the axis of one element behind them, are axis 0
  const bool rows =
      std::any_of(opts.begin(), opts.end(), [](const Opt& o) { return o.kind == Opt::Kind::UPCAST && o.axis == 0; });
  EXPECT_TRUE(rows) << text_of(opts);
}

// A loop of three iterations around a tile costs what it begins and ends with; a long one is cut into runs, which end
// half as often.
TEST(Heuristic, AReductionBelowATileIsUnrolled) {
  const std::pair<std::int64_t, std::int64_t> copies[] = {{2, 2}, {3, 3}, {64, 2}, {65, 0}};
  for (const auto& [trip_count, wanted] : copies) {
    const std::vector<Opt> opts = heuristic_opts(matmul(64, trip_count, 64), wide());
    EXPECT_TRUE(has_kind(opts, Opt::Kind::UPCAST)) << text_of(opts);
    const Opt* unroll = find(opts, Opt::Kind::UNROLL);
    EXPECT_EQ(unroll == nullptr ? 0 : unroll->amount, wanted) << text_of(opts);
  }
}

// Few rows by a matrix that no cache holds: the loop over the rows stands inside, so that the matrix comes from memory
// once.
TEST(Heuristic, ALargeMatrixIsReadOnceForFewRows) {
  const auto is_inside = [](const std::vector<Opt>& opts) {
    const Opt* order = find(opts, Opt::Kind::REORDER);
    return order != nullptr && order->order == std::vector<std::size_t>{1, 0};
  };
  for (const Target& target : {wide(), wide().deterministic()}) {
    const std::vector<Opt> large = heuristic_opts(matmul(32, 2048, 2048), target);
    EXPECT_TRUE(is_inside(large)) << text_of(large);
    EXPECT_FALSE(has_kind(large, Opt::Kind::STAGE)) << text_of(large);
    const std::vector<Opt> small = heuristic_opts(matmul(32, 512, 512), target);
    EXPECT_FALSE(is_inside(small)) << text_of(small);
  }
}

// A product with a matrix that lies across: its columns are copied as rows, where enough outputs use them.
TEST(Heuristic, AMatrixThatLiesAcrossIsTurnedOnce) {
  for (const Target& target : {wide(), wide().deterministic()}) {
    const std::vector<Opt> opts = heuristic_opts(linear(128, 64, 96), target);
    const Opt* stage = find(opts, Opt::Kind::STAGE);
    ASSERT_NE(stage, nullptr) << text_of(opts);
    EXPECT_EQ(stage->amount, 2);  // the buffer of w
    EXPECT_EQ(find(opts, Opt::Kind::LANES)->axis, 1U) << text_of(opts);
  }
  EXPECT_EQ(find(heuristic_opts(linear(4, 64, 96), wide()), Opt::Kind::STAGE), nullptr);
}

// A convolution has a register tile on packed loads: no condition and no cut is left in its loops.
TEST(Heuristic, ConvolutionsPackTheirLoads) {
  const Target target = wide();
  const auto staged = [](const std::vector<Opt>& opts, int slot) {
    return std::any_of(opts.begin(), opts.end(),
                       [&](const Opt& o) { return o.kind == Opt::Kind::STAGE && o.amount == slot; });
  };
  for (const std::int64_t padding : {0, 1, 2})
    for (const std::int64_t step : {1, 2})
      for (const std::int64_t size : {14, 17, 30}) {
        const LazyOp k = convolution({20, size, size}, 64, padding, {3, step, 1});
        const std::vector<Opt> opts = heuristic_opts(k, target);
        EXPECT_TRUE(staged(opts, 1)) << text_of(opts);
        EXPECT_FALSE(has_kind(opts, Opt::Kind::CUT)) << text_of(opts);
        EXPECT_TRUE(has_kind(opts, Opt::Kind::UPCAST)) << text_of(opts);
        EXPECT_EQ(complaint([&] { compile_kernel(k, target, opts); }), "");
      }
  // Few outputs that use an element: the rows of the image are read where they are.
  EXPECT_FALSE(staged(heuristic_opts(convolution({1, 30, 30}, 1, 1, {2, 2, 1}), target), 1));
}
/// The bits of what is stored by the kernel with the Opts, on small whole numbers.
std::vector<std::uint64_t> results(const LazyOp& k, const Target& target, const std::vector<Opt>& opts) {
  oracle::Buffers memory;
  for (const BufferUse& use : buffers_of(k)) {
    memory.emplace_back(use.dtype, use.size.value());
    for (std::int64_t e = 0; e < use.size.value(); ++e) memory.back().put(e, Scalar::of(use.dtype, e * 7 % 11 - 5));
  }
  oracle::run_lists(compile_kernel(k, target, opts), memory);
  std::vector<std::uint64_t> out;
  for (std::int64_t e = 0; e < memory[0].size(); ++e) out.push_back(memory[0][e].bits());
  return out;
}
/// The kernel with the Opts that are chosen gives what it gives without Opts.
void expect_exact(const LazyOp& k, const Target& target) {
  const std::vector<Opt> chosen = heuristic_opts(k, target);
  EXPECT_EQ(results(k, target, chosen), results(k, target, {})) << text_of(chosen);
}

TEST(Heuristic, PackedConvolutionsAreExact) {
  for (const auto& [out, size, padding] : {std::tuple{40, 9, 1}, {3, 12, 2}, {33, 7, 0}, {64, 19, 1}})
    for (const std::int64_t step : {1, 2})
      for (const Target& target : {wide(), shuffling()})
        expect_exact(convolution({5, size, size}, out, padding, {3, step, 1}), target);
}

// A row that is shorter than a vector is one vector of a power of two of lanes, with a mask where masks are cheap.
TEST(Heuristic, ShortRowsAreVectors) {
  const auto rows = [](std::int64_t size) {
    return kernel(LazyOp::load(1, dtypes::float32, plain({64, 40}).shrink({{0, 64}, {0, size}}), 64 * 40) *
                  LazyOp::constant(Scalar(2.0F), Ints{64, size}));
  };
  const auto lanes_of = [](const std::vector<Opt>& opts) {
    const Opt* const lanes = find(opts, Opt::Kind::LANES);
    return lanes == nullptr ? 1 : lanes->amount;
  };
  for (const auto& [size, lanes] :
       {std::pair(2, 1), {3, 4}, {4, 4}, {5, 8}, {7, 8}, {8, 8}, {9, 16}, {15, 16}, {17, 16}}) {
    const std::vector<Opt> opts = heuristic_opts(rows(size), shuffling());
    EXPECT_EQ(lanes_of(opts), lanes) << size;
    EXPECT_EQ(has_kind(opts, Opt::Kind::PADTO), size < lanes) << size;
    EXPECT_EQ(lanes_of(heuristic_opts(rows(size), wide())), size < lanes ? 1 : lanes) << size;
    for (const Target& target : {wide(), shuffling(), shuffling().deterministic()}) expect_exact(rows(size), target);
  }
}

// Several tiles along the lanes read the same windows, which are packed once for all of them: the loop over these tiles
// is innermost. The weights of all are packed before, as far as scratch memory holds them; another loop is parallel.
TEST(Heuristic, TilesAlongTheLanesShareWindows) {
  const auto blocks_of = [](std::int64_t channels, const Target& target) {
    const std::vector<Opt> opts = heuristic_opts(convolution({channels, 28, 28}, channels, 1, {3, 1, 1}), target);
    EXPECT_TRUE(has_kind(opts, Opt::Kind::STAGE) && has_kind(opts, Opt::Kind::PARALLEL)) << text_of(opts);
    const Opt* const split = find(opts, Opt::Kind::SPLIT);
    return split == nullptr ? 1 : split->amount;
  };
  Target target = wide();
  EXPECT_GT(blocks_of(64, target), 1);
  EXPECT_LT(blocks_of(512, target), blocks_of(64, target));
  target.scratch_bytes /= 8;
  EXPECT_EQ(blocks_of(256, target), 1);
  for (const std::int64_t channels : {64, 80}) expect_exact(convolution({3, 6, 6}, channels, 1, {3, 1, 1}), wide());
}

// Scratch memory of an instance is small: its tiles are, or there are none.
TEST(Heuristic, InstancesHaveLittleScratchMemory) {
  const Target target = Target::of_instances();
  for (const std::int64_t channels : {1, 8, 64}) {
    const LazyOp k = convolution({channels, 30, 30}, 64, 1, {3, 1, 1});
    const Kernel made = compile_kernel(k, target);
    std::int64_t bytes = 0;
    for (const UOp u : made.uops)
      if (u.op() == UOps::DEFINE_LOCAL)
        bytes += std::get<Local>(u.arg()).size * static_cast<std::int64_t>(u.dtype().pointee().itemsize());
    EXPECT_LE(bytes, target.scratch_bytes) << text_of(made.opts);
  }
}

TEST(Heuristic, PackedProductsAreExact) {
  for (const auto& [m, n, k] : {std::tuple{16, 33, 35}, {17, 40, 64}, {3, 5, 7}, {48, 16, 100}})
    for (const Target& target : {wide(), shuffling()}) expect_exact(linear(m, k, n), target);
  EXPECT_TRUE(has_kind(heuristic_opts(linear(32, 64, 256), shuffling()), Opt::Kind::STAGE));
}

// A matrix that is read backwards, as the kernel of a convolution is in its gradient, is packed like others.
TEST(Heuristic, TilesThatAreReadBackwards) {
  constexpr std::int64_t m = 8, n = 48, k = 35;
  const LazyOp x = input(1, {m, k}).reshape({m, 1, k}).expand({m, n, k});
  for (const Axes& axes : {Axes{0}, Axes{1}, Axes{0, 1}}) {
    const LazyOp w = input(2, {n, k}).flip(axes).reshape({1, n, k}).expand({m, n, k});
    const LazyOp product = kernel(LazyOp::reduce(Ops::SUM, x * w, {2}));
    for (const Target& target : {wide(), shuffling()}) {
      expect_exact(product, target);
      for (const char* const opts : {"LANES 1 16, UPCAST 0 4, REORDER 1 0 2, STAGE 1 2", "LANES 1 16, STAGE 0 2",
                                     "UPCAST 1 3, REORDER 1 0 2, STAGE 1 2"})
        EXPECT_EQ(results(product, target, parse_opts(opts)), results(product, target, {})) << opts;
    }
  }
}

// Two loads of one buffer in reductions have a tile each; loads outside of reductions are not staged.
TEST(Heuristic, ABufferThatIsLoadedSeveralTimes) {
  const LazyOp c = input(2, {64, 16});
  const LazyOp squares = LazyOp::reduce(Ops::SUM, c * c, {1}).reshape({1, 64}).expand({100, 64});
  const LazyOp x = input(1, {100, 16}).reshape({100, 1, 16}).expand({100, 64, 16});
  const LazyOp y = c.reshape({1, 64, 16}).expand({100, 64, 16});
  const LazyOp both = input(1, {48, 64}).reshape({48, 1, 64}).expand({48, 48, 64});
  const LazyOp self = LazyOp::reduce(Ops::SUM, both * both.permute({1, 0, 2}), {2});
  const ops::Window w{3, 1, 1};
  const LazyOp residual =
      convolution({20, 14, 14}, 20, 1, w).src(0).src(0).reshape({20, 14, 14}) + input(1, {20, 14, 14});
  for (const Target& target : {wide(), shuffling()}) {
    expect_exact(kernel(squares + LazyOp::reduce(Ops::SUM, x * y, {2}).reshape({100, 64})), target);
    expect_exact(kernel(self), target);
    expect_exact(kernel(residual), target);
    EXPECT_TRUE(has_kind(heuristic_opts(kernel(residual), target), Opt::Kind::STAGE));
  }
}

// Memory that one store reads and another one writes: each element is read before it is written, however it is loaded.
TEST(Heuristic, StridedMemoryThatIsWritten) {
  for (const std::int64_t step : {2, 3}) {
    const ShapeTracker strided = plain({64 * step}).stride({step});
    const LazyOp before = LazyOp::load(1, dtypes::float32, strided, 64 * step);
    const LazyOp first = output(before * before), second = LazyOp::store(1, strided, input(2, {64}), 64 * step);
    for (const Target& target : {wide(), shuffling()})
      for (const LazyOp& k : {LazyOp::sink({first, second}), LazyOp::sink({second, first})})
        for (const char* opts : {"LANES 0 16", "LANES 0 16, UPCAST 0 4", "UPCAST 0 4"})
          EXPECT_EQ(results(k, target, parse_opts(opts)), results(k, target, {})) << opts;
  }
}

// The gradient of a convolution's weights: its long reduction is split, so that its panels fit.
TEST(Heuristic, LongReductionsAreSplitToBePacked) {
  const auto gradient = [](std::int64_t images, std::int64_t pixels) {
    const Ints shape = {images, 64, 64, pixels};
    const LazyOp dy = input(1, {images, 64, pixels}).reshape({images, 64, 1, pixels}).expand(shape);
    const LazyOp x = input(2, {images, 64, pixels}).reshape({images, 1, 64, pixels}).expand(shape);
    return kernel(LazyOp::reduce(Ops::SUM, dy * x, {0, 3}));
  };
  for (const Target& target : {wide(), shuffling()}) {
    const std::vector<Opt> opts = heuristic_opts(gradient(64, 196), target);
    EXPECT_EQ(opts[0].kind, Opt::Kind::SPLITREDUCE) << text_of(opts);
    EXPECT_FALSE(has_kind(heuristic_opts(gradient(8, 100), target), Opt::Kind::SPLITREDUCE));
  }
  Target order = shuffling().deterministic();
  EXPECT_FALSE(has_kind(heuristic_opts(gradient(64, 196), order), Opt::Kind::SPLITREDUCE));
  EXPECT_TRUE(splits_to_pack(kernel(LazyOp::reduce(Ops::SUM, input(1, {64, 64}), {1})), wide()).empty());
}

// Maxima of windows two steps apart: lanes are chosen from whole vectors, and the last one ends with the buffer.
TEST(Heuristic, StridedLanesAreChosenFromVectors) {
  for (const std::int64_t step : {2, 3, 4, 5}) {
    const std::int64_t count = 40, size = (count - 1) * step + 1;
    const LazyOp x = LazyOp::load(1, dtypes::float32, plain({size}).stride({step}));
    expect_exact(kernel(x * x), shuffling());
  }
  const LazyOp pool = convolution({8, 40, 40}, 1, 1, {3, 2, 1}).src(0).src(0).src(0).src(0);
  EXPECT_NE(find(heuristic_opts(kernel(LazyOp::reduce(Ops::REDUCE_MAX, pool, {4, 5})), shuffling()), Opt::Kind::LANES),
            nullptr);
  expect_exact(kernel(LazyOp::reduce(Ops::REDUCE_MAX, pool, {4, 5})), shuffling());
}

TEST(Heuristic, SumsOfRowsAreVectorsOnlyWhereTheOrderIsFree) {
  const LazyOp k = kernel(LazyOp::reduce(Ops::SUM, input(1, {16, 512}), {1}));
  const std::vector<Opt> free = heuristic_opts(k, Target());
  ASSERT_NE(find(free, Opt::Kind::LANES), nullptr);
  EXPECT_EQ(find(free, Opt::Kind::LANES)->axis, 1U);
  const std::vector<Opt> ordered = heuristic_opts(k, Target().deterministic());
  for (const Opt& opt : ordered) EXPECT_LT(opt.axis, 2U) << text_of(ordered);
}

// Two sums of a row, side by side: lanes of outputs would load each row's elements one by one.
TEST(Heuristic, LanesOfOutputsDoNotGatherRows) {
  const LazyOp x = input(2, {256, 4096});
  const LazyOp k =
      LazyOp::sink({output(LazyOp::reduce(Ops::SUM, x, {1}), 0), output(LazyOp::reduce(Ops::SUM, x * x, {1}), 1)});
  for (const Target& target : {wide(), wide().deterministic()})
    for (const Opt& opt : heuristic_opts(k, target))
      EXPECT_FALSE(opt.kind == Opt::Kind::LANES && opt.axis == 0) << opt.text();
}

TEST(Heuristic, ThreadsOnlyWhereThereIsWork) {
  EXPECT_FALSE(has_kind(heuristic_opts(added({8, 8}), Target()), Opt::Kind::PARALLEL));
  EXPECT_TRUE(has_kind(heuristic_opts(added({1024, 1024}), Target()), Opt::Kind::PARALLEL));
  EXPECT_FALSE(has_kind(heuristic_opts(two_plus_three(), Target()), Opt::Kind::PARALLEL));
  EXPECT_TRUE(has_kind(heuristic_opts(added({1, 1 << 20}), Target()), Opt::Kind::PARALLEL));
}

// The contract: what is chosen is legal, for whatever there is.
TEST(Heuristic, WhatIsChosenIsLegal) {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    oracle::Choices choices(seed);
    const LazyOp k = oracle::random_kernel(choices).sink;
    for (const Target& target : {Target(), wide(), Target().deterministic()}) {
      const std::string plain_refusal = complaint([&] { lower(k, KernelAxes(k), target); });
      if (!plain_refusal.empty()) continue;  // no kernel that anything could be chosen for
      EXPECT_EQ(complaint([&] {
                  const std::vector<Opt> opts = heuristic_opts(k, target);
                  if (has_kind(opts, Opt::Kind::BLOCK)) return void(compile_kernel(k, target, opts));
                  KernelAxes axes(k);
                  axes.apply(opts);
                  lower(k, axes, target);
                }),
                "")
          << "seed " << seed << "\n"
          << k.text();
    }
  }
}

// The sum of a row has one value for the row: lanes and accumulators are along the row that is summed, not along that
// which is written.
TEST(Heuristic, RowsThatUseTheirOwnSum) {
  for (const char* text :
       {"a: f32[64,4096]; b = a - a.sum(1).reshape(64,1)*0.25", "a: f32[64,4096]; b = a - a.max(1).reshape(64,1)",
        "n: 1..4096; a: f32[64,n]; b = a - a.mean(1).reshape(64,1)",
        "n: 1..64; a: f32[n,4096]; b = a / a.max(1).reshape(n,1)"}) {
    const std::vector<Opt> opts = heuristic_opts(absorb_movement(parse_kernel(text).kernel), wide());
    const auto is_along = [&](std::size_t axis) {
      return std::any_of(opts.begin(), opts.end(),
                         [&](const Opt& o) { return o.kind == Opt::Kind::LANES && o.axis == axis; });
    };
    EXPECT_TRUE(is_along(1) && is_along(2)) << text << ": " << text_of(opts);
  }
}

// What whole vectors leave over of a row are shorter vectors, not single elements; rows are not gathered instead.
TEST(Heuristic, RowsThatAreNoWholeVectorsEndInShorterOnes) {
  const auto opts = [](std::int64_t size, const Target& target) {
    const std::string text = detail::message("a: f32[2000,", size, "]; b = a.softmax(1)");
    return text_of(heuristic_opts(absorb_movement(parse_kernel(text).kernel), target));
  };
  const auto has = [](const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; };
  for (const std::int64_t size : {200, 264, 520}) {
    const std::string text = opts(size, wide());
    EXPECT_TRUE(has(text, "LANES 1 8 @1") && has(text, "LANES 2 8 @1")) << size << ": " << text;
    EXPECT_FALSE(has(text, "LANES 0 ")) << size << ": " << text;
    const std::string in_order = opts(size, wide().deterministic());
    EXPECT_FALSE(has(in_order, "LANES 3 8 @1")) << size << ": " << in_order;
  }
}

// Register tiles and packed operands, also where a size is symbolic: what the copies leave over is copied half as
// often.
TEST(Heuristic, SymbolicSizesHaveTiles) {
  const auto opts = [](const char* text, const std::vector<int>& kept) {
    return text_of(heuristic_opts(absorb_movement(parse_kernel(text).kernel), shuffling(), kept));
  };
  const auto has = [](const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; };
  const char* rows = "n: 1..64; a: f32[n,512]; w: f32[512,512]; b = a @ w";
  EXPECT_TRUE(has(opts(rows, {}), "UPCAST 0 8, UPCAST 0 4 @1")) << opts(rows, {});
  EXPECT_TRUE(has(opts(rows, {2}), "PACK 1 ")) << opts(rows, {2});
  EXPECT_TRUE(has(opts(rows, {2}), " @1")) << opts(rows, {2});
  const char* across = "n: 1..64; a: f32[n,512]; w: f32[512,512]; b = a @ w.permute(1,0)";
  EXPECT_TRUE(has(opts(across, {}), "STAGE 1 2")) << opts(across, {});
  const char* eights = "n: 1..50; x: f32[8*n,64]; w: f32[64,100]; y = x @ w";  // nothing is left over by 8 copies
  EXPECT_TRUE(has(opts(eights, {}), "UPCAST 0 8")) << opts(eights, {});
  EXPECT_TRUE(has(opts(eights, {2}), "PACK 1 ")) << opts(eights, {2});
  const char* sums = "n: 1..512; a: f32[64,n]; w: f32[256,n]; b = a @ w.permute(1,0)";
  EXPECT_TRUE(has(opts(sums, {}), "STAGE 1 2")) << opts(sums, {});
  const char* columns = "n: 1..512; a: f32[64,512]; w: f32[512,n]; b = a @ w";
  EXPECT_TRUE(has(opts(columns, {}), "UPCAST 1 2") && has(opts(columns, {}), "UPCAST 0 8")) << opts(columns, {});
}

TEST(Heuristic, SymbolicSizes) {
  const Variable n("n", 1, 4096);
  for (const LazyOp& k : {added({n}), added({n, 64}), matmul(n, 64, 64), softmax(n, 64), softmax(16, n)})
    EXPECT_EQ(complaint([&] {
                KernelAxes axes(k);
                axes.apply(heuristic_opts(k, wide()));
                lower(k, axes, wide());
              }),
              "");
}

}  // namespace
}  // namespace strata
