// The whole compiler in front of the renderers: names, variables, passes; and random kernels against the oracle.
#include "strata/codegen/kernel.h"

#include <gtest/gtest.h>

#include "tests/codegen/kernel_ranges.h"
#include "tests/codegen/kernels.h"
#include "tests/codegen/random_kernel.h"

namespace strata {
namespace {

using namespace kernels;

TEST(Kernel, NamesSayWhatIsComputed) {
  EXPECT_EQ(kernel_name(two_plus_three()), "E_1");
  EXPECT_EQ(kernel_name(added({64, 128})), "E_64_128");
  EXPECT_EQ(kernel_name(matmul(64, 128, 32)), "r_64_32_128");
  EXPECT_EQ(kernel_name(added({Variable("n", 1, 9), 3})), "E_n_3");
  EXPECT_EQ(kernel_name(added({})), "E_1");
}

TEST(Kernel, HoldsWhatADeviceNeeds) {
  const Kernel k = compile_kernel(matmul(4, 6, 8), Target(), parse_opts("PARALLEL 0, LANES 2 4"));
  EXPECT_EQ(text_of(k.opts), "PARALLEL 0, LANES 2 4");
  EXPECT_TRUE(has(k.axes, "0 output 4: parallel 4\n")) << k.axes;
  ASSERT_EQ(k.buffers.size(), 3U);
  EXPECT_EQ(k.buffers[0].size, Int(32));
  ASSERT_EQ(k.variables.size(), 2U);
  EXPECT_EQ(k.variables[0].name(), "begin0");
  EXPECT_EQ(k.variables[1].name(), "end0");
  EXPECT_EQ(*k.parallel, Int(4));
  EXPECT_EQ(k.proof.accesses, 3U);
  std::vector<std::string> passes;
  for (const auto& [name, seconds] : k.times) {
    passes.push_back(name);
    EXPECT_GE(seconds, 0);
  }
  EXPECT_EQ(passes, (std::vector<std::string>{"absorb", "opts", "lower", "bounds", "linearize", "verify"}));
}

TEST(Kernel, AllVariablesAreThereOfSizesAloneToo) {
  const Variable n("n", 1, 9), m("m", 1, 9);
  // m is in the size of a buffer and nowhere else.
  const LazyOp x = LazyOp::load(1, dtypes::float32, plain({n}), Int(n) + Int(m));
  const Kernel k = compile_kernel(kernel(x), Target(), parse_opts(""));
  ASSERT_EQ(k.variables.size(), 2U);
  EXPECT_EQ(k.variables[0].name(), "n");
  EXPECT_EQ(k.variables[1].name(), "m");
}

TEST(Kernel, OptsThatAreNotLegalAreRefused) {
  EXPECT_TRUE(has(complaint([] { compile_kernel(added({4}), Target(), parse_opts("UPCAST 1 2")); }), "[UPCAST 1 2]"));
  EXPECT_TRUE(has(complaint([] { compile_kernel(input(1, {4}), Target()); }), "is not a kernel"));
}

TEST(Kernel, SlotsWithoutAUseAreAllowed) {
  const Kernel k = compile_kernel(LazyOp::sink({output(input(5, {4}), 2)}), Target());
  ASSERT_EQ(k.buffers.size(), 6U);
  EXPECT_TRUE(k.buffers[0].dtype.is_none());
  EXPECT_EQ(count(k.uops, UOps::DEFINE_GLOBAL), 2U);
}

// --- against the oracle ---

using oracle::Buffers;

Buffers filled(const LazyOp& kernel, const oracle::KernelValues& values, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Buffers out;
  for (const BufferUse& use : buffers_of(kernel)) {
    out.emplace_back(use.dtype, use.dtype.is_none() ? 0 : oracle::number_of(use.size, values));
    for (std::int64_t k = 0; k < out.back().size(); ++k)
      out.back().put(k, use.dtype.is_bool() ? Scalar(random() % 2 == 0)
                                            : Scalar::of(use.dtype, static_cast<std::int64_t>(random() % 9)));
  }
  return out;
}

/// What the list of `k` gets wrong, run over `chunks` of its parallel range; "" for nothing.
std::string difference(const LazyOp& kernel, std::string_view opts, const oracle::KernelValues& values = {},
                       std::vector<std::pair<std::int64_t, std::int64_t>> chunks = {{0, 0}}) {
  Target target = Target().deterministic();
  for (const OpRow& r : op_rows())
    if (is_elementwise(r.op)) target.native.insert(r.op);
  const Kernel k = compile_kernel(kernel, target, parse_opts(opts));
  const Buffers before = filled(kernel, values, 1);
  Buffers after = before;
  for (const auto& [begin, end] : chunks) {
    oracle::KernelValues all = values;
    all.emplace_back("begin0", begin);
    all.emplace_back("end0", end);
    interpret(k.uops, oracle::memory_of(after), all);
  }
  oracle::KernelRanges ranges(before, values, {false, false, false});
  return oracle::compare(before, after, ranges(kernel)).fault;
}

TEST(KernelAgainstOracle, EveryKindOfLoop) {
  for (const std::string_view opts :
       {"", "SPLIT 0 2", "UPCAST 0 2, UPCAST 2 3", "LANES 2 4", "UNROLL 2 4", "REORDER 2 1 0",
        "CUT 0 1, LANES 2 3, CUT 0 3 @1", "SPLIT 2 3, UPCAST 2 3, UNROLL 0 5"})
    EXPECT_EQ(difference(matmul(5, 7, 6), opts), "") << opts;
}

// What is left over of a split parallel loop is for the call that ends the range.
TEST(KernelAgainstOracle, ParallelRangesInAnyChunks) {
  const LazyOp k = kernel(input(0, {11, 3}) + input(1, {11, 3}));  // in place: nothing may be done twice
  for (const std::string_view opts : {"PARALLEL 0", "PARALLEL 0, LANES 1 2", "CUT 0 4, PARALLEL 0"}) {
    const std::int64_t n = opts.starts_with("CUT") ? 4 : 11;
    EXPECT_EQ(difference(k, opts, {}, {{0, n}}), "") << opts;
    EXPECT_EQ(difference(k, opts, {}, {{2, n}, {0, 0}, {0, 1}, {1, 1}, {1, 2}}), "") << opts;
  }
  EXPECT_EQ(difference(k, "PARALLEL 0, UPCAST 0 4", {}, {{1, 2}, {0, 0}, {0, 1}}), "");
  EXPECT_EQ(difference(k, "UPCAST 0 4, PARALLEL 0", {}, {{0, 1}, {1, 1}, {1, 2}}), "");
}

TEST(KernelAgainstOracle, SymbolicSizesAtEveryValue) {
  const Variable n("n", 0, 9);
  for (std::int64_t value = 0; value <= 9; ++value)
    for (const std::string_view opts : {"", "LANES 0 4", "UPCAST 0 3", "UPCAST 2 2, UNROLL 2 2"}) {
      const LazyOp k = kernel(input(1, {n, 5}) - LazyOp::reduce(Ops::SUM, input(2, {n, 5}), {0}).expand({n, 5}));
      if (has(opts, "UPCAST 2")) continue;  // another order of a float's sum
      EXPECT_EQ(difference(k, opts, {{"n", value}}), "") << opts << ", n = " << value;
    }
}

// What an outer sum goes over is used in an inner one, whose loops are the same wherever it is asked for.
TEST(KernelAgainstOracle, SumsWithinSumsOfSymbolicSizes) {
  const Variable n("n", 1, 40);
  const Ints shape = {3, n};
  const LazyOp x = input(1, shape);
  const LazyOp e = LazyOp::alu(Ops::ABS, {x - LazyOp::reduce(Ops::REDUCE_MAX, x, {1}).expand(shape)});
  const LazyOp q = e * LazyOp::reduce(Ops::SUM, e, {1}).expand(shape);
  const LazyOp k = kernel(LazyOp::reduce(Ops::SUM, q * q, {1}));
  for (const std::int64_t value : {1, 2, 5, 17, 40}) EXPECT_EQ(difference(k, "", {{"n", value}}), "") << value;
}

TEST(KernelAgainstOracle, StoresOfDifferentShapesShareLoops) {
  const LazyOp x = input(3, {6, 5});
  const LazyOp k = LazyOp::sink({output(x + x, 0), output(LazyOp::reduce(Ops::SUM, x, {1}), 1),
                                 output(LazyOp::reduce(Ops::REDUCE_MAX, x, {0, 1}), 2)});
  for (const std::string_view opts : {"", "UPCAST 0 4", "LANES 1 4", "REORDER 1 0"})
    EXPECT_EQ(difference(k, opts), "") << opts;
}

// A vector that is stored backwards and read again is read before any of it is stored.
TEST(KernelAgainstOracle, BackwardsInPlace) {
  const ShapeTracker back = plain({17}).flip({0});
  const LazyOp k = LazyOp::sink(
      {LazyOp::store(0, back, input(2, {17})), output(LazyOp::load(0, dtypes::float32, back) + input(2, {17}), 1)});
  for (const std::string_view opts : {"", "LANES 0 4", "LANES 0 3, UPCAST 0 2 @1", "UPCAST 0 4"})
    EXPECT_EQ(difference(k, opts), "") << opts;
}

TEST(KernelAgainstOracle, RandomKernels) {
  std::size_t compared = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    oracle::Choices choices(seed), of_opts(seed + 1000);
    const oracle::RandomKernel random = oracle::random_kernel(choices);
    std::vector<Opt> opts;
    for (const Opt& opt : oracle::random_opts(of_opts, random.sink, 5).opts)
      if (opt.kind != Opt::Kind::PARALLEL) opts.push_back(opt);
    std::string fault;
    try {
      fault = difference(random.sink, text_of(opts), random.values);
    } catch (const InternalError& error) {
      ADD_FAILURE() << error.what() << "\nseed " << seed << ", opts " << text_of(opts) << "\n" << random.sink.text();
      continue;
    } catch (const Error& error) {
      const bool is_announced = has(error.what(), "keeps the defined order") ||
                                has(error.what(), "is written by the kernel and read at") ||
                                has(error.what(), "[STAGE ") || has(error.what(), "lanes along an axis") ||
                                has(error.what(), "cannot be shown to stay inside");
      EXPECT_TRUE(is_announced) << error.what() << "\nseed " << seed;
      continue;
    }
    EXPECT_EQ(fault, "") << "seed " << seed << ", opts " << text_of(opts) << "\n" << random.sink.text();
    ++compared;
  }
  EXPECT_GT(compared, 90U);
}

}  // namespace
}  // namespace strata
