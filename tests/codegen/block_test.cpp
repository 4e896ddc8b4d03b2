// BLOCK: kernels in blocks, as lists and on devices, against the interpreter, to the bit.
#include "strata/codegen/block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "strata/codegen/kernel.h"
#include "strata/graph/absorb.h"
#include "strata/ops/kernel_text.h"
#include "strata/runtime/device.h"
#include "tests/base/errors.h"
#include "tests/codegen/exact_kernels.h"
#include "tests/codegen/kernel_trial.h"
#include "tests/codegen/kernels.h"

namespace strata {
namespace {

using oracle::Buffers, oracle::memory_for, oracle::memory_of;

/// Without exp(), which devices round otherwise.
const char* const kChain =
    "q: f32[2,3,20,4]; k: f32[2,3,9,4]; v: f32[2,3,9,5];"
    "s = (matmul(q, k.permute(0,1,3,2)) * 0.5).contiguous(); d = (s - s.max(3)).contiguous(); o = matmul(d, v)";
const char* const kExps =
    "a: f32[40,24]; x = (a * a).contiguous(); y = (x / x.sum(1)).contiguous(); z = y.max(1) + a.sum(1)";

/// As the gradients of attention by the queries, keys and values: of integers, whose sums are the same in any order.
const char* const kAddedUp =
    "q: i32[2,20,4]; k: i32[2,9,4]; v: i32[2,9,5]; o: i32[2,20,5];"
    "r = matmul(q, k.permute(0,2,1)).contiguous(); p = (r - r.max(2)).contiguous();"
    "d = matmul(o, v.permute(0,2,1)).contiguous(); s = (p * (d - (p * d).sum(2))).contiguous();"
    "dq = matmul(s, k); dk = matmul(s.permute(0,2,1), q); dv = matmul(p.permute(0,2,1), o)";

LazyOp parsed(const char* text) { return parse_kernel(text).kernel; }

Buffers with_temporaries(const Kernel& k, Buffers given) {
  for (std::size_t slot = given.size(); slot < k.buffers.size(); ++slot)
    given.emplace_back(k.buffers[slot].dtype, oracle::number_of(k.buffers[slot].size, {}));
  return given;
}

TEST(Block, ListsAreTheKernelToTheBit) {
  for (const char* text : {kChain, kExps})
    for (const std::int64_t rows : {1, 4, 7, 16, 20}) {
      const LazyOp ast = parsed(text);
      const std::size_t axis = *best_block_axis(absorb_movement(ast));
      const Kernel kernel = compile_kernel(ast, Target().deterministic(), {{{Opt::Kind::BLOCK, axis, rows, 0, {}}}});
      EXPECT_EQ(kernel.scratch.size() >= 2, true);
      Buffers wanted = memory_for(ast, {}, 3), found = with_temporaries(kernel, wanted);
      const std::size_t given = wanted.size();
      interpret(ast, memory_of(wanted), {});
      // In chunks, which begin anywhere: what blocks share is computed again.
      const std::int64_t count = kernel.parallel->value();
      for (std::int64_t begin = 0; begin < count; begin += 3)
        interpret(
            kernel.uops, memory_of(found),
            std::vector<std::pair<std::string, std::int64_t>>{{"begin0", begin}, {"end0", std::min(begin + 3, count)}});
      found.erase(found.begin() + static_cast<std::ptrdiff_t>(given), found.end());
      oracle::expect_same(found, wanted, std::string(text) + " " + text_of(kernel.opts), false);
    }
}

TEST(Block, DevicesRunThemOnThreads) {
  for (const char* text : {kChain, kExps, kAddedUp})
    for (const char* name : {"LLVM", "CLANG", "INTERP"})
      for (const std::int64_t rows : {3, 8}) {
        const LazyOp ast = parsed(text);
        const std::size_t axis = *best_block_axis(absorb_movement(ast));
        const CompiledKernel kernel = compile(ast, Device::get(name), {{{Opt::Kind::BLOCK, axis, rows, 0, {}}}}, true);
        Buffers wanted = memory_for(ast, {}, 5), found = wanted;
        interpret(ast, memory_of(wanted), {});
        std::vector<Buffer> buffers;
        for (auto& b : found) buffers.push_back(Buffer::from_pointer(b.data(), b.size(), b.dtype(), [](void*) {}));
        for (int turn = 0; turn < 20; ++turn) kernel.run(buffers);
        oracle::expect_same(found, wanted, std::string(name) + " " + text, false);
      }
}

TEST(Block, TheHeuristicKeepsBlocksInTheCache) {
  const LazyOp ast = parsed(
      "q: f32[8,512,64]; k: f32[8,512,64]; v: f32[8,512,64]; s = matmul(q, k.permute(0,2,1)).contiguous();"
      "p = s.softmax(2).contiguous(); o = matmul(p, v)");
  const Kernel kernel = compile_kernel(ast, Target());
  ASSERT_EQ(kernel.opts.size(), 1U);
  EXPECT_EQ(kernel.opts[0].kind, Opt::Kind::BLOCK);
  EXPECT_EQ(kernel.opts[0].axis, 1U);
  EXPECT_EQ(kernel.opts[0].amount, 64);
  EXPECT_EQ(*kernel.parallel, Int(64));
  // The keys and values of a head are packed once, not for each block.
  EXPECT_NE(kernel.axes.find("once for all its blocks"), std::string::npos) << kernel.axes;
  std::int64_t bytes = 0;
  for (const int slot : kernel.scratch) {
    const BufferUse& use = kernel.buffers[static_cast<std::size_t>(slot)];
    bytes += use.size.value() * static_cast<std::int64_t>(use.dtype.itemsize());
  }
  EXPECT_LE(bytes, 1 << 20);
}

TEST(Block, BlocksThatAreAddedUp) {
  for (const std::int64_t rows : {1, 4, 7, 16, 20}) {
    const LazyOp ast = parsed(kAddedUp);
    const Kernel kernel = compile_kernel(ast, Target().deterministic(), {{{Opt::Kind::BLOCK, 1, rows, 0, {}}}});
    EXPECT_EQ(*kernel.parallel, Int(2));  // all blocks of a head are added up by one thread
    Buffers wanted = memory_for(ast, {}, 3), found = with_temporaries(kernel, wanted);
    const std::size_t given = wanted.size();
    interpret(ast, memory_of(wanted), {});
    for (std::int64_t head = 0; head < 2; ++head)
      interpret(kernel.uops, memory_of(found),
                std::vector<std::pair<std::string, std::int64_t>>{{"begin0", head}, {"end0", head + 1}});
    found.erase(found.begin() + static_cast<std::ptrdiff_t>(given), found.end());
    oracle::expect_same(found, wanted, std::to_string(rows), false);
  }
  const LazyOp floats = parsed("a: f32[4,8]; x = (a * a).contiguous(); y = x.sum(1); z = x.sum(0)");
  const std::vector<Opt> block = {{Opt::Kind::BLOCK, 0, 2, 0, {}}};
  EXPECT_NO_THROW(compile_kernel(floats, Target(), block));
  EXPECT_NE(error_of(ErrorKind::domain, [&] { compile_kernel(floats, Target().deterministic(), block); })
                .find("keeps the defined order"),
            std::string::npos);
  EXPECT_EQ(text_of(compile_kernel(floats, Target().deterministic()).opts).find("BLOCK"), std::string::npos);
}

TEST(Block, RandomKernelsHaveBlocksThatAreAddedUp) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    oracle::Choices choices(seed);
    const LazyOp kernel = absorb_movement(oracle::made_kernel(choices).sink);
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (const BlockPlan plan = block_axes(kernel, axis); plan.axes && plan.axes->add_up()) ++found;
  }
  EXPECT_GE(found, 20);
}

/// Small numbers in the buffers from `first` on.
void fill(Buffers& buffers, std::size_t first) {
  for (std::size_t b = first; b < buffers.size(); ++b)
    for (std::int64_t j = 0; j < buffers[b].size(); ++j)
      buffers[b].put(j, Scalar(static_cast<float>((j * 37 + static_cast<std::int64_t>(b)) % 101) / 50 - 1));
}
/// Runs the list of the kernel in blocks, all of them; the buffers, and how often memory was accessed.
std::pair<Buffers, double> run_counted(const LazyOp& ast, const char* opts, const Buffers& given) {
  const Kernel kernel = compile_kernel(ast, Target(), parse_opts(opts));
  Buffers found = with_temporaries(kernel, given);
  double accesses = 0;
  interpret(kernel.uops, memory_of(found),
            std::vector<std::pair<std::string, std::int64_t>>{{"begin0", 0}, {"end0", kernel.parallel->value()}},
            std::uint64_t{1} << 32, [&](UOp, std::int64_t) { ++accesses; });
  return {std::move(found), accesses};
}
/// The same elements, but for rounding, are numbers, infinities and NaNs.
void expect_alike(const Buffers& found, const Buffers& wanted, std::size_t outputs, const std::string& what) {
  for (std::size_t b = 0; b < outputs; ++b)
    for (std::int64_t j = 0; j < wanted[b].size(); ++j) {
      const double a = found[b][j].as_double(), c = wanted[b][j].as_double();
      ASSERT_EQ(std::isnan(a), std::isnan(c)) << what << ", buffer " << b << ": " << j << ": " << a << " " << c;
      if (std::isinf(c) || std::isinf(a)) {
        ASSERT_EQ(a, c) << what << ", buffer " << b << ": " << j;
      } else if (std::isfinite(c)) {
        ASSERT_NEAR(a, c, 1e-4 * std::max(1.0, std::fabs(c))) << what << ", buffer " << b << ": " << j;
      }
    }
}

/// Whether a score is left out, given the integers `row` and `column`.
using Masked = std::function<LazyOp(const LazyOp& row, const LazyOp& column)>;
LazyOp number(const LazyOp& like, std::int64_t value) {
  return LazyOp::constant(Scalar::of(like.dtype(), value), like.shape());
}
LazyOp is_less(const LazyOp& a, const LazyOp& b) { return LazyOp::alu(Ops::CMPLT, {a, b}); }

/// Attention of one head with a mask: (rows, size) queries, as many keys and values. `between` moves the scores.
LazyOp attention(
    std::int64_t rows, std::int64_t size, const Masked& is_masked,
    const std::function<LazyOp(const LazyOp&)>& between = [](const LazyOp& x) { return x; }) {
  using kernels::input;
  const Ints scores = {rows, rows};
  const LazyOp q = input(1, {rows, size}).reshape({rows, 1, size}).expand({rows, rows, size}),
               k = input(2, {rows, size}).reshape({1, rows, size}).expand({rows, rows, size}),
               v = input(3, {rows, size}).permute({1, 0}).reshape({1, size, rows}).expand({rows, size, rows});
  const LazyOp counted = LazyOp::iota(dtypes::int32, ShapeTracker::from_shape({rows}));
  const LazyOp row = counted.reshape({rows, 1}).expand(scores), column = counted.reshape({1, rows}).expand(scores);
  const LazyOp minus_infinity = LazyOp::constant(Scalar(-std::numeric_limits<float>::infinity()), scores);
  const LazyOp products = LazyOp::reduce(Ops::SUM, q * k, {2}).reshape(scores);
  const LazyOp x = between(LazyOp::alu(Ops::WHERE, {is_masked(row, column), minus_infinity, products}).contiguous());
  const LazyOp e = LazyOp::alu(Ops::EXP, {x - LazyOp::reduce(Ops::REDUCE_MAX, x, {1}).expand(scores)}).contiguous();
  const LazyOp total = LazyOp::reduce(Ops::SUM, e, {1}).contiguous();
  const LazyOp weighted = LazyOp::reduce(Ops::SUM, e.reshape({rows, 1, rows}).expand({rows, size, rows}) * v, {2});
  return kernels::kernel(weighted.reshape({rows, size}) / total.expand({rows, size}));
}
/// Queries see keys up to `ahead` behind their own.
LazyOp causal(std::int64_t rows, std::int64_t size, std::int64_t ahead) {
  return attention(rows, size,
                   [&](const LazyOp& row, const LazyOp& column) { return is_less(row + number(row, ahead), column); });
}

TEST(Block, ScoresBehindACausalMaskAreNotComputed) {
  constexpr std::int64_t rows = 128, size = 2;
  double all = 0;  // the accesses without a reach
  // Every row and every value counts; a value that is not finite is not left out.
  for (const std::int64_t ahead : {200, -1, 0, 20})
    for (const float special : {0.0F, std::numeric_limits<float>::infinity()}) {
      const LazyOp ast = causal(rows, size, ahead);
      Buffers wanted = memory_for(ast, {}, 2);
      fill(wanted, 1);
      if (special != 0) wanted[3].put(rows * size - 1, Scalar(special));
      const auto [found, accesses] = run_counted(ast, "BLOCK 0 16", wanted);
      interpret(ast, memory_of(wanted), {});
      if (ahead == 200) all = accesses;
      const bool leaves_out = accesses < 0.95 * all;
      EXPECT_EQ(leaves_out, ahead < 100 && special == 0) << ahead << ": " << accesses << " of " << all;
      expect_alike(found, wanted, 1, std::to_string(ahead) + " " + std::to_string(special));
    }
}

/// a (m, k) times the transpose of b (n, k).
LazyOp products(const LazyOp& a, const LazyOp& b) {
  const Int m = a.shape()[0], n = b.shape()[0], k = a.shape()[1];
  const Ints all = {m, n, k};
  return LazyOp::reduce(Ops::SUM, a.reshape({m, 1, k}).expand(all) * b.reshape({1, n, k}).expand(all), {2})
      .reshape({m, n});
}
/// The gradients of attention(), as causal(), by queries, keys and values.
LazyOp causal_gradients(std::int64_t rows, std::int64_t size, std::int64_t ahead) {
  using kernels::input;
  const Ints scores = {rows, rows};
  const LazyOp q = input(3, {rows, size}), k = input(4, {rows, size}), v = input(5, {rows, size}),
               by = input(6, {rows, size});
  const auto transposed = [](const LazyOp& x) { return x.permute({1, 0}); };
  const auto reduced = [&](Ops op, const LazyOp& x) { return LazyOp::reduce(op, x, {1}).expand(scores); };
  const LazyOp counted = LazyOp::iota(dtypes::int32, ShapeTracker::from_shape({rows}));
  const LazyOp row = counted.reshape({rows, 1}).expand(scores), column = counted.reshape({1, rows}).expand(scores);
  const LazyOp minus_infinity = LazyOp::constant(Scalar(-std::numeric_limits<float>::infinity()), scores);
  const LazyOp s =
      LazyOp::alu(Ops::WHERE, {is_less(row + number(row, ahead), column), minus_infinity, products(q, k)}).contiguous();
  const LazyOp e = LazyOp::alu(Ops::EXP, {s - reduced(Ops::REDUCE_MAX, s)});
  const LazyOp p = (e / reduced(Ops::SUM, e)).contiguous(), by_p = products(by, v).contiguous();
  const LazyOp by_s = (p * (by_p - reduced(Ops::SUM, p * by_p))).contiguous();
  std::vector<LazyOp> stores;
  for (const LazyOp& x : {products(by_s, transposed(k)), products(transposed(by_s), transposed(q)),
                          products(transposed(p), transposed(by))})
    stores.push_back(LazyOp::store(static_cast<int>(stores.size()), ShapeTracker::from_shape(x.shape()), x));
  return LazyOp::sink(stores);
}

// A row that is not finite would make sums over all rows NaN, behind its own end, too: then nothing is left out.
TEST(Block, GradientsBehindACausalMaskAreNotComputed) {
  constexpr std::int64_t rows = 128, size = 2;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  double all = 0;  // the accesses without a reach
  const std::vector<std::pair<std::size_t, float>> specials = {{0, 0}, {3, 3e38F}, {5, kInfinity}, {6, -kInfinity}};
  for (const std::int64_t ahead : {200, 0, -1})
    for (const auto& [buffer, special] : specials) {
      if (ahead != 0 && special != 0) continue;
      const LazyOp ast = causal_gradients(rows, size, ahead);
      Buffers wanted = memory_for(ast, {}, 2);
      fill(wanted, 3);
      if (special != 0) wanted[buffer].put(rows * size - 1, Scalar(special));
      const auto [found, accesses] = run_counted(ast, "BLOCK 0 16", wanted);
      interpret(ast, memory_of(wanted), {});
      if (ahead == 200) all = accesses;
      const std::string what = std::to_string(ahead) + " " + std::to_string(special) + " ";
      EXPECT_EQ(accesses < 0.95 * all, ahead == 0 && special == 0) << what << accesses << " of " << all;
      expect_alike(found, wanted, 3, what);
    }
}

// What is left out is exactly nothing, whatever a row has: an infinite factor of a row, a divisor that is 0, scores
// that overflow, and sums of weights that underflow.
TEST(Block, NothingIsLeftOutThatMayBeNaN) {
  const std::string scores = "i = iota(128).reshape(128,1); j = iota(128).reshape(1,128);",
                    given = "q: f32[128,2]; k: f32[128,2]; v: f32[128,2]; r: f32[128,1];" + scores,
                    plain = given + "s = where(j > i, -inf, matmul(q, k.permute(1,0))).contiguous();",
                    weights = plain + "e = exp(s - s.max(1)).contiguous();",
                    gradients = "y = matmul(p, v); z = matmul(p.permute(1,0), q)";
  struct Case {
    std::string text;
    std::size_t buffer;  // of those that are read
    float special;
  };
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Case& c : std::initializer_list<Case>{
           {weights + "y = matmul(e * r, v)", 3, infinity},
           {weights + "y = matmul(e / r, v)", 3, 0},
           {weights + "m = (s.max(1) * r).contiguous(); y = matmul(e * m, v)", 3, infinity},
           {given +
                "s = where(j > i, -inf, exp(matmul(q, k.permute(1,0)) * 50)).contiguous();"
                "e = exp(s - s.max(1)).contiguous(); p = (e / e.sum(1)).contiguous();" +
                gradients,
            0, 90},
           {plain + "e = exp(s).contiguous(); p = (e / e.sum(1)).contiguous();" + gradients, 0, -300},
           {plain + "e = exp(s - s.max(1)).contiguous(); p = (e / r).contiguous();" + gradients, 3, 0}}) {
    const LazyOp ast = parsed(c.text.c_str());
    const std::size_t outputs = ast.src().size();
    Buffers wanted = memory_for(ast, {}, 2);
    fill(wanted, outputs);
    Buffers::value_type& special = wanted[outputs + c.buffer];
    special.put(special.size() / 2 - 1, Scalar(c.special));  // of row 63: all columns behind it are left out
    for (const std::size_t b : {outputs + 1, outputs + 2})   // keys and values: no infinities of both signs
      for (std::int64_t j = 0; j < wanted[b].size(); ++j) wanted[b].put(j, Scalar(1.0F));
    const Buffers found = run_counted(ast, "BLOCK 0 16", wanted).first;
    interpret(ast, memory_of(wanted), {});
    expect_alike(found, wanted, outputs, c.text);
  }
}

TEST(Block, ScoresAreLeftOutWhereTheMaskSaysSoAlone) {
  constexpr std::int64_t rows = 128;
  const auto less = is_less;
  const auto as = [](const LazyOp& x, DType dtype) { return x.cast(dtype); };
  const auto causal_or = [&](const LazyOp& row, const LazyOp& column, const LazyOp& seen) {
    return LazyOp::alu(Ops::AND, {less(row, column), LazyOp::alu(Ops::NOT, {seen})});
  };
  const std::vector<std::pair<const char*, LazyOp>> kernels = {
      {"flipped", attention(
                      rows, 2, [&](const LazyOp& i, const LazyOp& j) { return less(i, j); },
                      [](const LazyOp& x) { return x.flip({1}); })},
      {"halves", attention(
                     rows, 2, [&](const LazyOp& i, const LazyOp& j) { return less(i, j); },
                     [](const LazyOp& x) { return x.reshape({128, 2, 64}).permute({0, 2, 1}).reshape({128, 128}); })},
      {"unsigned", attention(rows, 2,
                             [&](const LazyOp& i, const LazyOp& j) {
                               const LazyOp apart = as(i, dtypes::uint32) - as(j, dtypes::uint32);
                               return LazyOp::alu(Ops::NOT, {less(number(apart, 5), apart)});
                             })},
      {"wraps", attention(rows, 2,
                          [&](const LazyOp& i, const LazyOp& j) {
                            const LazyOp large = j + number(j, 1 << 30) + number(j, 1 << 30);
                            return causal_or(i, j, less(large, number(large, 0)));
                          })},
      {"rounds", attention(rows, 2,
                           [&](const LazyOp& i, const LazyOp& j) {
                             const LazyOp a = as(i, dtypes::float32), b = as(j, dtypes::float32);
                             return less(a + number(a, 1 << 24), b + number(b, 1 << 24));
                           })},
  };
  for (const auto& [name, ast] : kernels) {
    Target narrow;
    narrow.vector_bytes = 16;
    const Kernel kernel = compile_kernel(ast, narrow, parse_opts("BLOCK 0 16"));
    Buffers wanted = memory_for(ast, {}, 4);
    fill(wanted, 1);
    Buffers found = with_temporaries(kernel, wanted);
    interpret(ast, memory_of(wanted), {});
    interpret(kernel.uops, memory_of(found),
              std::vector<std::pair<std::string, std::int64_t>>{{"begin0", 0}, {"end0", kernel.parallel->value()}});
    for (std::int64_t j = 0; j < wanted[0].size(); ++j)
      ASSERT_NEAR(found[0][j].as_double(), wanted[0][j].as_double(), 1e-5) << name << ": " << j;
  }
}

// A kernel with much scratch memory, whose loops end at a value that LLVM has in the register of the stack probe: the
// probe comes before it, not behind the first branch. (The kernel ran for ever.)
TEST(Block, TheStackIsProbedBeforeValuesAreInRegisters) {
  const LazyOp ast = parsed(
      "p: f32[65,65]; q: f32[65,1]; b: f32[65,65]; c: f32[65,65]; d: f32[65,65];"
      "l = b.reshape(65,65,1) * c.permute(1,0).reshape(1,65,65); r = b.permute(1,0).reshape(1,65,65) * "
      "c.reshape(65,65,1); x = ((l + r).sum(1).reshape(65,65) * 0.124).contiguous(); u = x - (x * d).sum(1);"
      "v = u + (u * (p / q)).sum(1)");
  Target target;
  target.vector_bytes = 64;
  target.vector_registers = 32;
  const std::string text = uops_to_llvm("k", compile_kernel(ast, target, parse_opts("BLOCK 0 64")).uops);
  EXPECT_NE(text.find("store volatile i8 0, ptr %temp0"), std::string::npos);
#if STRATA_HAS_LLVM && defined(__x86_64__)
  const std::string assembly = LlvmLibrary::open()->assembly(text);
  const std::size_t entry = assembly.find("k_entry:"), probe = assembly.find("$4096, %rsp", entry);
  ASSERT_NE(probe, std::string::npos);
  EXPECT_LT(probe, assembly.find("\tj", entry)) << assembly.substr(entry, 1000);
#endif
}

TEST(Block, NamesOfVariablesAreFree) {
  const LazyOp ast = parsed(
      "temp0: 1..60; row0: 1..9; q: f32[24,32]; k: f32[temp0,32]; s = exp(q @ k.permute(1,0)).contiguous(); y = "
      "s.sum(1)");
  EXPECT_EQ(complaint([&] { compile_kernel(ast, Target(), parse_opts("BLOCK 0 8")); }), "");
}

TEST(Block, RefusesWithAReason) {
  const auto refusal = [](const char* text, const char* opts, const Target& target = Target()) {
    return complaint([&] { compile_kernel(parsed(text), target, parse_opts(opts)); });
  };
  EXPECT_NE(refusal(kChain, "BLOCK 3 2").find("[BLOCK 3 2]"), std::string::npos);
  EXPECT_NE(refusal(kChain, "BLOCK 2 21").find("20 rows"), std::string::npos);
  EXPECT_NE(refusal(kChain, "BLOCK 2 0").find("20 rows"), std::string::npos);
  EXPECT_NE(refusal(kChain, "BLOCK 2 4, LANES 0 2").find("[LANES 0 2]"), std::string::npos);
  EXPECT_NE(refusal(kChain, "SPLIT 0 2, BLOCK 2 4").find("the only Opt"), std::string::npos);
  EXPECT_NE(refusal(kChain, "BLOCK 2 4", Target::of_instances()).find("instances"), std::string::npos);
  EXPECT_NE(refusal("a: f32[4,4]; b = a + 1", "BLOCK 0 2").find("no CONTIGUOUS"), std::string::npos);
}

TEST(Block, RecordsTheAccessesOfAllParts) {
  KernelRecord record;
  const Kernel kernel = compile_kernel(parsed(kChain), Target(), parse_opts("BLOCK 2 7"), &record);
  EXPECT_EQ(record.accesses.size(), kernel.proof.accesses);
  for (const KernelRecord::ProvenAccess& access : record.accesses)
    for (const std::size_t u : access.uops) {
      const UOps op = kernel.uops[u].op();
      EXPECT_EQ(op, access.access.is_store ? UOps::STORE : UOps::LOAD);
    }
  for (const KernelRecord::Counter& counter : record.counters)
    EXPECT_EQ(kernel.uops[counter.uop].op(), UOps::LOOP) << counter.variable.name();
}

}  // namespace
}  // namespace strata
