// PACK: the kernel that packs and the rest together mean what the kernel means; the packed order; refusals.
#include "strata/codegen/pack.h"

#include <gtest/gtest.h>

#include "strata/codegen/heuristic.h"
#include "strata/codegen/kernel.h"
#include "strata/graph/absorb.h"
#include "strata/graph/interpret.h"
#include "strata/ops/kernel_text.h"
#include "tests/codegen/kernel_ranges.h"
#include "tests/codegen/kernels.h"
#include "tests/codegen/random_kernel.h"

namespace strata {
namespace {

Opt pack(std::size_t axis, std::int64_t width, int slot) {
  Opt out{Opt::Kind::PACK, axis, width, 0, {}};
  out.slot = slot;
  return out;
}
LazyOp kernel_of_text(std::string_view text) { return absorb_movement(parse_kernel(text).kernel); }

/// Runs both kernels on `memory`, and the packed elements behind it.
oracle::Buffers run_both(const PackedKernels& kernels, oracle::Buffers memory, const oracle::KernelValues& values) {
  const BufferUse packed = buffers_of(kernels.rest)[static_cast<std::size_t>(kernels.temporary)];
  memory.emplace_back(packed.dtype, oracle::number_of(packed.size, values));
  interpret(kernels.first, oracle::memory_of(memory), values);
  interpret(kernels.rest, oracle::memory_of(memory), values);
  return memory;
}

/// The packed elements where buffer element k is k.
std::vector<std::int64_t> packed_elements(std::string_view text, const Opt& opt) {
  const LazyOp kernel = kernel_of_text(text);
  const oracle::Buffers memory = oracle::counted_memory(kernel);
  const oracle::Buffers after = run_both(pack_buffer(kernel, opt, Target()), memory, {});
  std::vector<std::int64_t> out;
  for (std::int64_t k = 0; k < after.back().size(); ++k) out.push_back(after.back()[k].as_int());
  return out;
}

TEST(Pack, BlocksOfAMatrix) {
  // w[k][n]: columns 0 and 1 of each row, then column 2 and a zero.
  EXPECT_EQ(packed_elements("x: i32[2,2]; w: i32[2,3]; y = x @ w", pack(1, 2, 2)),
            (std::vector<std::int64_t>{0, 1, 3, 4, 2, 0, 5, 0}));
  // w[n][k]: the same of its transposed.
  EXPECT_EQ(packed_elements("x: i32[2,2]; w: i32[3,2]; y = x @ w.permute(1,0)", pack(1, 2, 2)),
            (std::vector<std::int64_t>{0, 2, 1, 3, 4, 0, 5, 0}));
  // The rows of the other operand, for tiles of copies.
  EXPECT_EQ(packed_elements("x: i32[3,2]; w: i32[2,2]; y = x @ w", pack(0, 3, 1)),
            (std::vector<std::int64_t>{0, 2, 4, 1, 3, 5}));
  // A batch stays outermost.
  EXPECT_EQ(packed_elements("x: i32[2,1,2]; w: i32[2,2,2]; y = x @ w", pack(2, 2, 2)),
            (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  // A flipped reduction: in the order of its use.
  EXPECT_EQ(packed_elements("x: i32[1,2]; w: i32[2,2]; y = x @ w.flip(0)", pack(1, 2, 2)),
            (std::vector<std::int64_t>{2, 3, 0, 1}));
}

TEST(Pack, Refusals) {
  const auto refusal = [](std::string_view text, const Opt& opt) {
    return complaint([&] { pack_buffer(kernel_of_text(text), opt, Target()); });
  };
  const auto expect = [&](std::string_view text, const Opt& opt, std::string_view words) {
    EXPECT_NE(refusal(text, opt).find(words), std::string::npos) << refusal(text, opt);
    EXPECT_NE(refusal(text, opt).find("[" + opt.text() + "]"), std::string::npos) << refusal(text, opt);
  };
  const std::string product = "x: f32[4,8]; w: f32[8,6]; y = x @ w";
  expect(product, pack(1, 2, 0), "buffer 0 is not loaded by the kernel");
  expect(product, pack(1, 2, 9), "buffer 9 is not loaded by the kernel");
  expect(product, pack(2, 2, 2), "axis 2 is not an output axis");
  expect(product, pack(7, 2, 2), "axis 7 is not an output axis");
  expect(product, pack(0, 2, 2), "buffer 2 does not move along axis 0");
  expect(product, pack(1, 1, 2), "the amount is from 2 to 1073741824");
  expect("x: f32[4,4]; y = x @ x", pack(1, 2, 1), "more than one LOAD");
  expect("n: 1..9; x: f32[4,n]; w: f32[n,6]; y = x @ w", pack(1, 2, 2), "has a symbolic size");
  expect("n: 0..9; x: f32[n,4]; w: f32[4,6]; y = x @ w", pack(1, 2, 2), "is loaded at no index where n is 0");
  EXPECT_EQ(pack_refusal(kernel_of_text("n: 1..9; x: f32[n,4]; w: f32[4,6]; y = x @ w"), 1, 2, Target()), "");
  expect("x: f32[2,4]; w: f32[3,6]; y = x @ w.pad(((0,1),(0,0)))", pack(1, 2, 2), "without a mask");
  EXPECT_EQ(pack_axes(kernel_of_text(product), 2, Target()), std::vector<std::size_t>{1});
  EXPECT_EQ(pack_axes(kernel_of_text(product), 1, Target()), std::vector<std::size_t>{0});
  EXPECT_TRUE(pack_axes(kernel_of_text("x: f32[4,4]; y = x @ x"), 1, Target()).empty());
  EXPECT_EQ(pack_refusal(kernel_of_text(product), 1, 2, Target()), "");
  // Windows: elements are read at several indices, and packing them would multiply them.
  const LazyOp conv = kernels::convolution({2, 6, 6}, 3, 1, {3, 1, 1});
  EXPECT_TRUE(pack_axes(conv, 1, Target()).empty());
  EXPECT_EQ(pack_axes(conv, 2, Target()).size(), 1U);
}

TEST(Pack, IsInFrontOfOtherOpts) {
  const std::string text = "PACK 1 32 2, PACK 0 4 1, LANES 1 8";
  const std::vector<Opt> opts = parse_opts(text);
  EXPECT_EQ(text_of(opts), text);
  EXPECT_EQ(opts[0], pack(1, 32, 2));
  EXPECT_NE(opts[0], pack(1, 32, 1));
  const LazyOp k = parse_kernel("x: f32[4,8]; w: f32[8,64]; y = x @ w").kernel;
  const Kernel made = compile_kernel(k, Target(), opts);
  ASSERT_EQ(made.before.size(), 2U);
  EXPECT_EQ(made.ast, k);
  EXPECT_EQ(made.temporaries, (std::vector<int>{3, 4}));
  ASSERT_EQ(made.buffers.size(), 5U);
  EXPECT_EQ(made.buffers[3].size, Int(8 * 64));
  EXPECT_EQ(made.buffers[2].size, Int(8 * 64));  // though only the first kernel loads it
  for (const char* wrong : {"LANES 1 8, PACK 1 32 2", "SPLITREDUCE 2 2, PACK 1 32 2", "PACK 1 32 2, SPLITREDUCE 2 2"})
    EXPECT_NE(complaint([&] { compile_kernel(k, Target(), parse_opts(wrong)); }).find("before all other Opts"),
              std::string::npos)
        << wrong;
  EXPECT_NE(complaint([&] { parse_opts("PACK 1 32"); }).find("a number is missing"), std::string::npos);
}

// Random kernels, whose integer results are equal to the bit, and whose floats are inside of their ranges.
TEST(Pack, RandomKernelsMeanTheSame) {
  std::mt19937_64 random(3);
  int packed = 0, padded = 0;
  for (int n = 0; n < 400; ++n) {
    oracle::Choices choices(random());
    const oracle::RandomKernel k = oracle::random_kernel(choices);
    const LazyOp kernel = absorb_movement(k.sink);
    const std::vector<BufferUse> uses = buffers_of(kernel);
    for (std::size_t slot = 0; slot < uses.size(); ++slot)
      for (const std::size_t axis : pack_axes(kernel, static_cast<int>(slot), Target())) {
        const auto width = static_cast<std::int64_t>(2 + random() % 5);
        const PackedKernels kernels = pack_buffer(kernel, pack(axis, width, static_cast<int>(slot)), Target());
        oracle::Buffers before;
        for (const BufferUse& use : uses) {
          before.emplace_back(use.dtype, use.dtype.is_none() ? 0 : oracle::number_of(use.size, k.values));
          for (std::int64_t j = 0; j < before.back().size(); ++j)
            before.back().put(j, Scalar::of(use.dtype, static_cast<std::int64_t>(random() % 9) - 4));
        }
        const auto allowed = oracle::KernelRanges(before, k.values, {true, true, true})(kernel);
        oracle::Buffers after = run_both(kernels, before, k.values);
        padded += after.back().size() % width == 0 && after.back().size() > uses[slot].size.value() ? 1 : 0;
        after.pop_back();
        ++packed;
        ASSERT_EQ(oracle::compare(before, after, allowed).fault, "")
            << "kernel " << n << ", axis " << axis << ", buffer " << slot << "\n"
            << k.sink.text();
      }
  }
  EXPECT_GT(packed, 100);
  EXPECT_GT(padded, 20);
}

/// A target with 64-byte vectors whose lanes can be shuffled.
Target wide_target() {
  Target out;
  out.vector_bytes = 64;
  out.vector_registers = 32;
  out.shuffles = true;
  return out;
}

// Tiles of every kind over kept buffers: odd sizes, one row, transposed weights, convolutions, groups, all dtypes.
TEST(Pack, TheHeuristicPacksWhatIsKept) {
  const auto packs = [](const std::vector<Opt>& opts) {
    return std::count_if(opts.begin(), opts.end(), [](const Opt& o) { return o.kind == Opt::Kind::PACK; });
  };
  for (const char* text :
       {"x: f32[1,300]; w: f32[300,100]; y = x @ w", "x: f32[5,300]; w: f32[300,257]; y = x @ w + 1",
        "x: f64[7,65]; w: f64[33,65]; y = x @ w.permute(1,0)", "x: bf16[6,65]; w: bf16[65,48]; y = x @ w",
        "x: i8[6,65]; w: i8[65,48]; y = cast(x, i32) @ cast(w, i32)", "x: f32[3,4,33]; w: f32[33,40]; y = x @ w",
        "x: f32[3,4,33]; w: f32[3,33,40]; y = x @ w"}) {
    const LazyOp k = kernel_of_text(text);
    const std::vector<int> kept = {2};
    const std::vector<Opt> opts = heuristic_opts(k, wide_target(), kept);
    EXPECT_EQ(packs(opts), 1) << text << ": " << text_of(opts);
    EXPECT_EQ(packs(heuristic_opts(k, wide_target())), 0) << text;
    if (text[3] != 'i') {
      EXPECT_EQ(packs(heuristic_opts(k, wide_target().deterministic(), kept)), 0) << text;
    }
    const Kernel made = compile_kernel(k, wide_target(), opts);  // proven in bounds
    EXPECT_EQ(made.temporaries.size(), 1U);
  }
  for (const std::int64_t step : {1, 2}) {
    const LazyOp conv = kernels::convolution({16, 14, 14}, 32, 1, {3, step, 1});
    const std::vector<Opt> opts = heuristic_opts(conv, wide_target(), std::vector<int>{2});
    EXPECT_EQ(packs(opts), 1) << text_of(opts);
  }
  // A sum of a kept buffer alone has nothing to gain.
  EXPECT_EQ(packs(heuristic_opts(kernel_of_text("w: f32[300,100]; y = w.sum(0)"), wide_target(), std::vector<int>{1})),
            0);
}

// No load of a kernel has a condition because an axis is padded, where memory has elements beyond the axis.
TEST(Pack, LoadsOfPaddedTilesHaveNoConditions) {
  const LazyOp k = parse_kernel("x: f32[8,33]; w: f32[33,37]; y = x @ w").kernel;
  const Kernel made = compile_kernel(k, wide_target(), parse_opts("PACK 1 32 2, PADTO 1 32, LANES 1 16, UPCAST 1 2"));
  std::size_t loads = 0, conditional = 0;
  for (const UOp u : made.uops)
    if (u.op() == UOps::LOAD) {
      ++loads;
      conditional += u.src().size() > 2 ? 1 : 0;
    }
  EXPECT_GT(loads, 1U);
  EXPECT_EQ(conditional, 0U) << made.uops.text();
}

}  // namespace
}  // namespace strata
