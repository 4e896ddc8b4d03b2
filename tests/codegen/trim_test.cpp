// TRIM: kernels mean the same to the bit, whatever the buffers hold; which iterations are left; refusals.
#include "strata/codegen/trim.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "strata/codegen/heuristic.h"
#include "strata/codegen/kernel.h"
#include "strata/graph/absorb.h"
#include "strata/graph/interpret.h"
#include "strata/ops/kernel_text.h"
#include "tests/codegen/kernel_ranges.h"
#include "tests/codegen/kernels.h"
#include "tests/codegen/random_kernel.h"
#include "tests/codegen/trims.h"

namespace strata {
namespace {

using oracle::kColumns;
using oracle::kRows;
using oracle::trim_opt;

/// The loops whose bounds are chosen by data.
std::size_t trimmed_loops(const Kernel& k) {
  std::size_t out = 0;
  for (const UOp u : k.uops)
    out += u.op() == UOps::LOOP && u.src(0).op() == UOps::ALU && u.src(0).alu() == Ops::WHERE ? 1 : 0;
  return out;
}

/// The iterations that are left for each coordinate of output axis `output`, all others being 0.
std::string iterations(const LazyOp& kernel, std::size_t axis, std::size_t output) {
  const Trim found = trim(kernel, trim_opt(axis, 2), 3);
  std::string out;
  for (std::int64_t i = 0; i < KernelAxes(kernel).axes()[output].size.value(); ++i) {
    Values at;
    for (const Expr& e : found.outputs)
      if (e.is_variable()) at.emplace_back(Variable::from(e), same(e, found.outputs[output]) ? i : 0);
    out += detail::message(i == 0 ? "" : " ", evaluate(found.begin, at), "-", evaluate(found.end, at));
  }
  return out;
}

TEST(Trim, TheIterationsThatAreLeft) {
  // (outputs, rows, columns), and channels and windows that are reduced.
  EXPECT_EQ(iterations(kernels::convolution({2, 4, 4}, 3, 1, {3, 1, 1}), 7, 2), "1-3 0-3 0-3 0-2");
  EXPECT_EQ(iterations(kernels::convolution({2, 4, 4}, 3, 1, {3, 1, 1}), 8, 3), "1-3 0-3 0-3 0-2");
  EXPECT_EQ(iterations(kernels::convolution({2, 8, 8}, 3, 3, {7, 2, 1}), 7, 2), "3-7 1-7 0-7 0-5");
  EXPECT_EQ(iterations(kernels::convolution({2, 4, 4}, 3, 2, {3, 1, 2}), 7, 2), "1-3 1-3 0-2 0-2");
  // None of a window is inside of the image.
  EXPECT_EQ(iterations(kernels::convolution({2, 2, 2}, 3, 3, {2, 1, 1}), 7, 2), "2-2 2-2 1-2 0-2 0-1 0-0 0-0");
}

TEST(Trim, Refusals) {
  const LazyOp conv = kernels::convolution({2, 4, 4}, 3, 1, {3, 1, 1});
  EXPECT_EQ(trim_refusal(conv, 7, 2), "");
  EXPECT_EQ(trim_refusal(conv, 7, 1), "no PAD makes terms along axis 7 0");
  EXPECT_EQ(trim_refusal(conv, 6, 2), "no PAD makes terms along axis 6 0");
  EXPECT_EQ(trim_refusal(conv, 1, 2), "axis 1 is not a reduce axis");
  EXPECT_EQ(trim_refusal(conv, 19, 2), "axis 19 is not a reduce axis");
  EXPECT_EQ(trim_refusal(conv, 7, 0), "the terms of the SUM are no products of buffer 0 and another one");
  EXPECT_EQ(trim_refusal(kernels::convolution({2, 4, 4}, 3, 0, {3, 1, 1}), 7, 2), "no PAD makes terms along axis 7 0");
  const auto text = [](std::string_view of) { return absorb_movement(parse_kernel(of).kernel); };
  EXPECT_EQ(trim_refusal(text("x: i32[2,3]; w: i32[4,3]; y = (x.pad(((0,2),(0,0))) * w).sum(0)"), 2, 2),
            "the kernel has not one store of one SUM of floats");
  EXPECT_EQ(trim_refusal(text("x: f32[2,3]; w: f32[4,3]; y = (x.pad(((0,2),(0,0))) * w).max(0)"), 2, 2),
            "the kernel has not one store of one SUM of floats");
  EXPECT_EQ(trim_refusal(text("x: f32[2,3]; w: f32[4,3]; y = (x.pad(((0,2),(0,0))) + w).sum(0)"), 2, 2),
            "the terms of the SUM are no products");
  EXPECT_EQ(trim_refusal(text("x: f32[2,3]; w: f32[4,3]; y = (x.pad(((0,2),(0,0))) * w).sum(0)"), 2, 2), "");
  EXPECT_EQ(trim_refusal(text("x: f32[2,3]; y = (x.pad(((0,2),(0,0))) * x.pad(((2,0),(0,0)))).sum(0)"), 2, 1),
            "the terms of the SUM are no products of buffer 1 and another one");
  // A cast that makes finite elements infinite, and one that does not.
  EXPECT_EQ(trim_refusal(text("x: f32[2,3]; w: f64[4,3]; y = (x.pad(((0,2),(0,0))) * w.cast(f32)).sum(0)"), 2, 2),
            "the terms of the SUM are no products of buffer 2 and another one");
  EXPECT_EQ(
      trim_refusal(text("x: u8[2,3]; w: f16[4,3]; y = (x.pad(((0,2),(0,0))).cast(f32) * w.cast(f32)).sum(0)"), 2, 2),
      "");
  EXPECT_EQ(trim_refusal(text("x: f32[2,3]; w: i8[4,3]; y = (x.pad(((0,2),(0,0))) * w.cast(f32)).sum(0)"), 2, 2),
            "the terms of the SUM are no products of buffer 2 and another one");
  // No elements at all.
  EXPECT_EQ(trim_refusal(text("x: f32[2,0]; w: f32[4,0]; y = (x.pad(((0,2),(0,0))) * w).sum(0)"), 2, 2),
            "the kernel has not one store of one SUM of floats");
  // Not where exp(0) = 1 takes the place of padding.
  EXPECT_EQ(trim_refusal(text("x: f32[2,3]; w: f32[4,3]; y = (exp(x.pad(((0,2),(0,0)))) * w).sum(0)"), 2, 2),
            "the terms of the SUM are no products of buffer 2 and another one");
}

TEST(Trim, IsInFrontOfOtherOptsBesidePacks) {
  const LazyOp conv = kernels::convolution({4, 4, 4}, 4, 1, {3, 1, 1});
  const std::string text = "PACK 0 2 2, TRIM 7 2, TRIM 8 2, LANES 0 2";
  EXPECT_EQ(text_of(parse_opts(text)), text);
  const Kernel made = compile_kernel(conv, Target(), parse_opts(text));
  EXPECT_EQ(made.before.size(), 2U);  // one looks at buffer 2, for both
  EXPECT_EQ(made.temporaries, (std::vector<int>{3, 4}));
  EXPECT_EQ(made.buffers[4].dtype, dtypes::int32);
  EXPECT_EQ(trimmed_loops(made), 2U);
  const Kernel swapped = compile_kernel(conv, Target(), parse_opts("TRIM 7 2, PACK 0 2 2, TRIM 8 2, LANES 0 2"));
  EXPECT_EQ(swapped.uops.text(), made.uops.text());
  // The loop over rows is around no copy: its bounds depend on counters. That over columns is copied.
  EXPECT_EQ(trimmed_loops(compile_kernel(conv, Target(), parse_opts("TRIM 7 2, TRIM 8 2, UPCAST 3 4"))), 1U);
  EXPECT_EQ(trimmed_loops(compile_kernel(conv, Target(), parse_opts("TRIM 7 2, MERGE 2"))), 1U);
  for (const char* wrong : {"LANES 0 2, TRIM 7 2", "SPLITREDUCE 6 2, TRIM 7 2"})
    EXPECT_NE(complaint([&] { compile_kernel(conv, Target(), parse_opts(wrong)); }).find("must come before all other"),
              std::string::npos)
        << wrong;
  EXPECT_EQ(complaint([&] { compile_kernel(conv, Target(), parse_opts("TRIM 6 2")); }),
            "[TRIM 6 2] no PAD makes terms along axis 6 0");
  EXPECT_EQ(complaint([&] { compile_kernel(conv, Target().deterministic(), parse_opts("TRIM 7 2")); }),
            "[TRIM 7 2] a SUM of floats keeps the defined order");
}

// The bounds are taken to hold: a loop of 3 iterations does not count as one of unknown length.
TEST(Trim, PredictedTimes) {
  const LazyOp conv = kernels::convolution({8, 7, 7}, 16, 1, {3, 1, 1});
  const auto cycles = [&](std::string_view opts) {
    return compile_kernel(conv, Target(), parse_opts(opts)).cycles.total();
  };
  const double whole = cycles("LANES 0 8"), trimmed = cycles("TRIM 7 2, TRIM 8 2, LANES 0 8");
  EXPECT_GT(trimmed, 0.5 * whole);
  EXPECT_LT(trimmed, 1.1 * whole);
}

TEST(Trim, TheHeuristicTrims) {
  const auto trims = [](const std::vector<Opt>& opts) {
    return std::count_if(opts.begin(), opts.end(), [](const Opt& o) { return o.kind == Opt::Kind::TRIM; });
  };
  Target target;
  target.vector_bytes = 64, target.vector_registers = 32, target.shuffles = true;
  const LazyOp conv = kernels::convolution({64, 7, 7}, 64, 1, {3, 1, 1});
  EXPECT_EQ(trims(heuristic_opts(conv, target, std::vector<int>{2})), 1);
  EXPECT_EQ(trims(loop_opts(conv, target, std::vector<int>{2})), 0);
  EXPECT_EQ(trims(heuristic_opts(conv, target.deterministic(), std::vector<int>{2})), 0);
  EXPECT_EQ(trims(heuristic_opts(conv, Target::of_instances(), std::vector<int>{2})), 0);
  EXPECT_EQ(trims(heuristic_opts(kernels::convolution({64, 7, 7}, 64, 0, {3, 1, 1}), target, std::vector<int>{2})), 0);
}

TEST(Trim, ConvolutionsMeanTheSame) {
  std::mt19937_64 random(11);
  int trimmed = 0, inside = 0, wild_weights = 0;
  constexpr DType dtypes[] = {dtypes::float32, dtypes::float64, dtypes::bfloat16, dtypes::float16};
  for (int n = 0; n < 600; ++n) {
    const LazyOp kernel = oracle::random_convolution(random, dtypes[n % 4]);
    std::vector<Opt> opts;
    if (random() % 2 == 0)
      for (const std::size_t axis : pack_axes(kernel, 2, Target())) {
        Opt pack{Opt::Kind::PACK, axis, 2 + static_cast<std::int64_t>(random() % 3), 0, {}};
        pack.slot = 2;
        opts.push_back(pack);
        break;
      }
    for (const std::size_t axis : {kRows, kColumns})
      if (trim_refusal(kernel, axis, 2).empty()) opts.push_back(trim_opt(axis, 2));
    if (opts.empty() || opts.back().kind != Opt::Kind::TRIM) continue;
    ++trimmed;
    oracle::Choices choices(random());
    const std::vector<Opt> loops = oracle::random_opts(choices, kernel, 6).opts;
    std::copy_if(loops.begin(), loops.end(), std::back_inserter(opts),
                 [](const Opt& opt) { return opt.kind != Opt::Kind::GUARD; });  // of a buffer that may be packed
    std::vector<int> wild;
    for (const int slot : {1, 2})
      if (random() % 3 == 0) wild.push_back(slot);
    wild_weights += !wild.empty() && wild.back() == 2 ? 1 : 0;
    const oracle::Buffers before = oracle::memory_of_integers(kernel, random, wild);
    oracle::Buffers expected = before, after = before;
    interpret(kernel, oracle::memory_of(expected), {});
    std::optional<Kernel> compiled;
    try {
      compiled = compile_kernel(kernel, Target(), opts);
    } catch (const Error& error) {
      ASSERT_EQ(std::string_view(error.what()).substr(0, 7), "[STAGE ") << text_of(opts) << "\n" << kernel.text();
      continue;
    }
    const Kernel& made = *compiled;
    inside += trimmed_loops(made) > 0 ? 1 : 0;
    oracle::run_lists(made, after);
    for (std::int64_t j = 0; j < expected[0].size(); ++j) {
      const Scalar a = expected[0][j], b = after[0][j];
      ASSERT_TRUE(a == b || (a.is_nan() && b.is_nan())) << "convolution " << n << ", element " << j << ": " << a.text()
                                                        << ", with " << text_of(opts) << " " << b.text() << "\n"
                                                        << kernel.text();
    }
  }
  EXPECT_GT(trimmed, 200);
  EXPECT_GT(inside, 100);
  EXPECT_GT(wild_weights, 50);
}

}  // namespace
}  // namespace strata
