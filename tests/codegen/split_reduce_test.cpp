// Reductions in parts: the two kernels together mean what the one means.
#include "strata/codegen/split_reduce.h"

#include <gtest/gtest.h>

#include "strata/codegen/kernel.h"
#include "strata/graph/interpret.h"
#include "strata/ops/kernel_text.h"
#include "tests/codegen/kernel_ranges.h"
#include "tests/codegen/kernels.h"
#include "tests/codegen/random_kernel.h"

namespace strata {
namespace {

Opt split(std::size_t axis, std::int64_t parts) { return {Opt::Kind::SPLITREDUCE, axis, parts, 0, {}}; }
SplitReduction split_text(std::string_view text, std::size_t axis, std::int64_t parts) {
  return split_reduction(parse_kernel(text).kernel, split(axis, parts), Target());
}

/// Runs the kernels one after another on `memory`, and temporaries behind it.
oracle::Buffers run_parts(const SplitReduction& parts, oracle::Buffers memory, const oracle::KernelValues& values) {
  const std::vector<BufferUse> uses = buffers_of(parts.rest);
  for (const int slot : parts.temporaries) {
    const BufferUse& use = uses[static_cast<std::size_t>(slot)];
    memory.emplace_back(use.dtype, oracle::number_of(use.size, values));
  }
  for (const LazyOp& first : parts.first) interpret(first, oracle::memory_of(memory), values);
  interpret(parts.rest, oracle::memory_of(memory), values);
  return memory;
}

TEST(SplitReduce, PartsAndWhatIsLeft) {
  const SplitReduction parts = split_text("a: i32[3,1000003]; y = a.sum(1)", 2, 64);
  ASSERT_EQ(parts.first.size(), 1U);
  ASSERT_EQ(parts.temporaries, std::vector<int>{2});
  EXPECT_EQ(parts.first[0].src(0).shape(), (Ints{3, 64}));
  const KernelAxes first(parts.first[0]), rest(parts.rest);
  EXPECT_EQ(first.axes().back().size, Int(15616));  // a multiple of 64
  EXPECT_EQ(rest.axes()[2].size, Int(64));
  EXPECT_EQ(rest.axes()[3].size, Int(1000003 - 64 * 15616));
}

TEST(SplitReduce, NothingIsLeftOfWhatDivides) {
  const SplitReduction parts = split_text("a: f32[4096]; y = a.max()", 1, 64);
  EXPECT_EQ(KernelAxes(parts.rest).groups().size(), 1U);
}

TEST(SplitReduce, ReductionsOfOneShapeShareAKernel) {
  EXPECT_EQ(split_text("a: f32[4096]; y = a.sum(); z = (a*a).sum() + a.max()", 1, 8).first.size(), 1U);
  EXPECT_EQ(split_text("a: f32[8,64]; b: f32[64]; y = a.sum(1); z = b.reshape(1,64).sum(1)", 2, 8).first.size(), 2U);
}

TEST(SplitReduce, Refusals) {
  const auto refusal = [](std::string_view text, std::size_t axis, std::int64_t parts) {
    return complaint([&] { split_text(text, axis, parts); });
  };
  EXPECT_NE(refusal("a: f32[64]; y = a.sum()", 0, 8).find("axis 0 is not reduced"), std::string::npos);
  EXPECT_NE(refusal("a: f32[64]; y = a.sum()", 9, 8).find("axis 9 is not reduced"), std::string::npos);
  EXPECT_NE(refusal("a: f32[64]; y = a.sum()", 1, 33).find("fewer than two per part"), std::string::npos);
  EXPECT_NE(refusal("a: f32[64]; y = a.sum()", 1, 1).find("[SPLITREDUCE 1 1]"), std::string::npos);
  EXPECT_NE(refusal("n: 2..64; a: f32[n]; y = a.sum()", 1, 2).find("symbolic size n"), std::string::npos);
  EXPECT_NE(refusal("a: f32[64]; y = (a - a.mean()).max()", 2, 8).find("other reductions below"), std::string::npos);
}

TEST(SplitReduce, FloatSumsKeepTheirOrderWhereTheTargetSaysSo) {
  const LazyOp sum = parse_kernel("a: f32[64]; y = a.sum()").kernel;
  const LazyOp max = parse_kernel("a: f32[64]; y = a.max()").kernel;
  const LazyOp long_sum = parse_kernel("a: f32[1000000]; y = a.sum()").kernel;
  const Target exact = Target().deterministic();
  const std::vector<Opt> opts = {split(1, 8)};
  EXPECT_NE(complaint([&] { compile_kernel(sum, exact, opts); }).find("keeps the defined order"), std::string::npos);
  const auto parts = [&](std::int64_t n) {
    return compile_kernel(long_sum, exact, std::vector<Opt>{split(1, n)}).before.size();
  };
  EXPECT_EQ(parts(31), 1U);   // of 32,768
  EXPECT_EQ(parts(245), 1U);  // of 4,096
  EXPECT_NE(complaint([&] { parts(64); }).find("does not split into 64 parts of axis 1"), std::string::npos);
  EXPECT_EQ(compile_kernel(max, exact, opts).before.size(), 1U);
  EXPECT_EQ(compile_kernel(sum, Target(), opts).before.size(), 1U);
}

TEST(SplitReduce, TheKernelSaysWhatItIsMadeOf) {
  const LazyOp k = parse_kernel("n: 1..9; a: i32[n,4096]; y = a.sum(1)").kernel;
  const Kernel made = compile_kernel(k, Target(), std::vector<Opt>{split(2, 8)});
  ASSERT_EQ(made.before.size(), 1U);
  EXPECT_EQ(made.ast, k);
  EXPECT_EQ(made.temporaries, std::vector<int>{2});
  ASSERT_EQ(made.buffers.size(), 3U);
  EXPECT_EQ(made.buffers[1].size, buffers_of(k)[1].size);  // though only the first kernel loads it
  EXPECT_NE(complaint([&] {
              compile_kernel(k, Target(), parse_opts("MERGE 0, SPLITREDUCE 1 8"));
            }).find("before all other Opts"),
            std::string::npos);
}

// Parts that are long enough to be split themselves: nobody would have memory for what they hand over.
TEST(SplitReduce, PartsAreNotSplitAgain) {
  const auto first = [](const char* text, const Target& target, std::optional<std::vector<Opt>> opts) {
    const Kernel k = compile_kernel(parse_kernel(text).kernel, target, std::move(opts));
    return k.before.at(0)->before.size() + k.before.at(0)->temporaries.size();
  };
  EXPECT_EQ(first("a: f32[10000000]; y = a.sum()", Target(), std::vector<Opt>{split(1, 8)}), 0U);
  EXPECT_EQ(first("a: f32[10000000]; y = a.sum()", Target().deterministic(), std::nullopt), 0U);
}

TEST(SplitReduce, TheHeuristicSplitsLongReductionsOfFewOutputs) {
  const auto splits = [](std::string_view text, const Target& target = {}) {
    return !compile_kernel(parse_kernel(text).kernel, target).before.empty();
  };
  EXPECT_TRUE(splits("a: f32[1000000]; y = a.sum()"));
  EXPECT_TRUE(splits("a: f32[1000,1000]; y = a.max()"));
  EXPECT_FALSE(splits("a: f32[1000]; y = a.sum()"));
  EXPECT_FALSE(splits("a: f32[1000,1000]; y = a.sum(1)"));
  EXPECT_TRUE(splits("a: f32[1000000]; y = a.sum()", Target().deterministic()));
  EXPECT_TRUE(splits("a: f32[1000,1000]; y = a.sum()", Target().deterministic()));
}

TEST(SplitReduce, SixteenBitSumsAreHandedOverInF32) {
  const SplitReduction parts = split_text("a: bf16[3,1000003]; y = a.sum(1); z = a.max(1)", 2, 64);
  std::vector<DType> handed;
  const std::vector<BufferUse> uses = buffers_of(parts.rest);
  for (const int slot : parts.temporaries) handed.push_back(uses[static_cast<std::size_t>(slot)].dtype);
  EXPECT_EQ(handed, (std::vector<DType>{dtypes::float32, dtypes::bfloat16}));
  EXPECT_EQ(uses[1].dtype, dtypes::bfloat16);
}

// By the interpreter, which adds up as the order says.
TEST(SplitReduce, PartsInOrderGiveTheBitsOfTheWhole) {
  const auto check = [](const std::string& text, std::size_t axis, std::size_t least) {
    const LazyOp kernel = parse_kernel(text).kernel;
    const KernelAxes axes(kernel);
    const std::vector<std::int64_t> all = parts_in_order(axes, axis);
    EXPECT_GE(all.size(), least) << text;
    std::mt19937_64 random(11);
    oracle::Buffers before;
    for (const BufferUse& use : buffers_of(kernel)) {
      before.emplace_back(use.dtype, use.size.value());
      for (std::int64_t j = 0; j < before.back().size(); ++j)
        before.back().put(j, Scalar::of(use.dtype, std::ldexp(static_cast<double>(random() % 4001) - 2000,
                                                              static_cast<int>(random() % 20) - 20)));
    }
    oracle::Buffers whole = before;
    interpret(kernel, oracle::memory_of(whole), {});
    for (const std::int64_t parts : all) {
      if (parts > axes.axes()[axis].size.value() / 2) continue;
      const oracle::Buffers got =
          run_parts(split_reduction(kernel, split(axis, parts), Target().deterministic()), before, {});
      for (std::int64_t j = 0; j < whole[0].size(); ++j)
        ASSERT_EQ(got[0][j].bits(), whole[0][j].bits()) << text << ", parts " << parts << ", at " << j;
    }
  };
  for (const char* type : {"f32", "f16", "bf16", "f64"})
    for (const std::int64_t n : {4097, 8192, 33000})
      check(detail::message("a: ", type, "[", n, "]; y = a.sum()"), 1, 1);
  check("a: f32[3,40000]; y = (a*0.001 + 1).prod(1)", 2, 1);
  check("a: f32[130,60]; y = a.sum()", 2, 3);
  check("a: f32[65,2,40]; y = a.sum()", 3, 2);
  check("a: f32[4000,3,3]; y = a.sum()", 3, 1);
  check("a: f32[5000,8]; b: f32[8,5000]; y = (a.permute(1,0)*b).sum(1); z = b.max(1)", 2, 1);
}

// Random kernels, whose integer results are equal to the bit, and whose floats are inside of their ranges.
TEST(SplitReduce, RandomKernelsMeanTheSame) {
  std::mt19937_64 random(7);
  int split_count = 0;
  for (int n = 0; n < 400; ++n) {
    oracle::Choices choices(random());
    const oracle::RandomKernel k = oracle::random_kernel(choices);
    const KernelAxes axes(k.sink);
    for (std::size_t axis = axes.outputs(); axis < axes.axes().size(); ++axis) {
      std::optional<SplitReduction> parts;
      try {
        parts = split_reduction(k.sink, split(axis, 2), Target());
      } catch (const Error&) {
        continue;
      }
      oracle::Buffers before;
      for (const BufferUse& use : buffers_of(k.sink)) {
        before.emplace_back(use.dtype, use.dtype.is_none() ? 0 : oracle::number_of(use.size, k.values));
        for (std::int64_t j = 0; j < before.back().size(); ++j)
          before.back().put(j, Scalar::of(use.dtype, static_cast<std::int64_t>(random() % 9) - 4));
      }
      const auto allowed = oracle::KernelRanges(before, k.values, {true, true, true})(k.sink);
      oracle::Buffers after = run_parts(*parts, before, k.values);
      after.erase(after.begin() + static_cast<std::ptrdiff_t>(before.size()), after.end());
      const oracle::Comparison c = oracle::compare(before, after, allowed);
      ++split_count;
      ASSERT_EQ(c.fault, "") << "kernel " << n << ", axis " << axis << "\n" << k.sink.text();
    }
  }
  EXPECT_GT(split_count, 60);
}

}  // namespace
}  // namespace strata
