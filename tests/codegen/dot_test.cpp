// DOT: the kernels that make words and the rest together mean what the kernel means, for all bytes, and for bf16 within
// the error bound of sums; the words; refusals; where no bf16 is subnormal.
#include "strata/codegen/dot.h"

#include <gtest/gtest.h>

#include <array>

#include "strata/codegen/heuristic.h"
#include "strata/codegen/kernel.h"
#include "strata/graph/absorb.h"
#include "strata/graph/interpret.h"
#include "strata/ops/kernel_text.h"
#include "tests/codegen/dots.h"
#include "tests/codegen/kernels.h"

namespace strata {
namespace {

using oracle::dot;
using oracle::random_memory;
using oracle::random_product;

constexpr std::string_view kBf16 = "x: bf16[64,96]; w: bf16[96,64]; y = x.cast(f32) @ w.cast(f32)";

LazyOp kernel_of_dots(std::string_view text) { return absorb_movement(parse_kernel(text).kernel); }

Target with_dots() {
  Target out;
  out.vector_bytes = 64;
  out.vector_registers = 32;
  out.shuffles = true;
  out.native.insert(Ops::DOT4);
  out.native_of_normals.insert(Ops::DOT2);
  return out;
}

/// Interprets the kernels of a DOT, and then returns all memory, temporaries included.
oracle::Buffers run_all(const DotKernels& kernels, oracle::Buffers memory) {
  std::vector<LazyOp> all = kernels.of_weights;
  all.push_back(kernels.of_values);
  for (const int slot : kernels.temporaries)
    for (const LazyOp& k : all)
      if (const auto uses = buffers_of(k); static_cast<std::size_t>(slot) < uses.size())
        if (const BufferUse& use = uses[static_cast<std::size_t>(slot)]; use.written)
          memory.emplace_back(use.dtype, use.size.value());
  all.push_back(kernels.rest);
  for (const LazyOp& k : all) interpret(k, oracle::memory_of(memory), {});
  return memory;
}

/// The variables of a kernel whose parallel range runs at once.
std::vector<std::pair<std::string, std::int64_t>> whole_range(const Kernel& k) {
  const std::int64_t count = k.parallel ? k.parallel->value() : 0;
  return {{std::string(kRangeBegin), 0}, {std::string(kRangeEnd), count}};
}

std::vector<std::int64_t> words_where_element_k_is_k(std::string_view text, const Opt& opt) {
  const LazyOp kernel = kernel_of_dots(text);
  const oracle::Buffers memory = oracle::counted_memory(kernel);
  const DotKernels kernels = dot_products(kernel, opt, Target());
  const oracle::Buffers after = run_all(kernels, memory);
  std::vector<std::int64_t> out;
  const oracle::GuardedMemory& words = after[static_cast<std::size_t>(kernels.words)];
  for (std::int64_t k = 0; k < words.size(); ++k) out.push_back(words[k].as_int());
  return out;
}

TEST(Dot, Words) {
  using Words = std::vector<std::int64_t>;
  // w[k][n], of which five rows are two words; columns are neighbours.
  EXPECT_EQ(words_where_element_k_is_k("x: u8[1,5]; w: u8[5,2]; y = x.cast(i32) @ w.cast(i32)", dot(2, 2)),
            (Words{0x06040200, 0x07050301, 8, 9}));
  // w[n][k]: bytes are neighbours, words are so, too.
  EXPECT_EQ(words_where_element_k_is_k("x: i8[1,5]; w: i8[2,5]; y = x.cast(i32) @ w.cast(i32).permute(1,0)", dot(2, 2)),
            (Words{0x03020100, 4, 0x08070605, 9}));
  // The same of bf16: 0, 1, 2, ... in bits are 0, 3f80, 4000, 4040, 4080, 40a0, 40c0, 40e0, 4100, 4110.
  EXPECT_EQ(words_where_element_k_is_k("x: bf16[1,5]; w: bf16[5,2]; y = x.cast(f32) @ w.cast(f32)", dot(2, 2)),
            (Words{0x40000000, 0x40403f80, 0x40c04080, 0x40e040a0, 0x4100, 0x4110}));
  EXPECT_EQ(
      words_where_element_k_is_k("x: bf16[1,5]; w: bf16[2,5]; y = x.cast(f32) @ w.cast(f32).permute(1,0)", dot(2, 2)),
      (Words{0x3f800000, 0x40404000, 0x4080, 0x40c040a0, 0x410040e0, 0x4110}));
}

TEST(Dot, Refusals) {
  const auto expect = [](std::string_view text, const Opt& opt, std::string_view words) {
    const std::string message = complaint([&] { dot_products(kernel_of_dots(text), opt, Target()); });
    EXPECT_NE(message.find(words), std::string::npos) << message;
    EXPECT_NE(message.find("[" + opt.text() + "]"), std::string::npos) << message;
  };
  const std::string product = "x: i8[4,8]; w: i8[8,6]; y = x.cast(i32) @ w.cast(i32)";
  expect(product, dot(2, 0), "buffer 0 is not multiplied by another one");
  expect(product, dot(2, 9), "buffer 9 is not multiplied by another one");
  expect(product, dot(1, 2), "axis 1 is not a reduce axis");
  expect(product, dot(7, 2), "axis 7 is not a reduce axis");
  const std::string_view no_sum =
      "the kernel has no sum of products of bytes in int32 or of bf16 in float32, or other reductions";
  expect("x: f32[4,8]; w: f32[8,6]; y = x @ w", dot(2, 2), no_sum);
  expect("x: i8[4,8]; w: i8[8,6]; y = x.cast(i64) @ w.cast(i64)", dot(2, 2), no_sum);
  expect("x: i16[4,8]; w: i8[8,6]; y = x.cast(i32) @ w.cast(i32)", dot(2, 2), no_sum);
  expect("x: i8[4,8]; w: i8[8,6]; y = (x.cast(i32) @ w.cast(i32)).sum(1)", dot(2, 2), no_sum);
  expect("x: bf16[4,8]; w: bf16[8,6]; y = x.cast(f64) @ w.cast(f64)", dot(2, 2), no_sum);
  expect("x: f16[4,8]; w: f16[8,6]; y = x.cast(f32) @ w.cast(f32)", dot(2, 2), no_sum);
  expect("x: bf16[4,8]; w: f32[8,6]; y = x.cast(f32) @ w", dot(2, 2), no_sum);
  EXPECT_EQ(dot_refusal(kernel_of_dots(kBf16), 2, 2, Target()), "");
  EXPECT_EQ(dot_refusal(kernel_of_dots(kBf16), 2, 2, Target().deterministic()),
            "a SUM of floats keeps the defined order");
  expect("x: i8[4,8]; y = x.cast(i32) @ x.cast(i32).permute(1,0)", dot(2, 1), "buffer 1 is not multiplied");
  expect("n: 1..9; x: i8[4,n]; w: i8[n,6]; y = x.cast(i32) @ w.cast(i32)", dot(2, 2), "has a symbolic size");
  expect("x: i8[4,8]; w: i8[6]; y = (x.cast(i32).reshape(4,8,1) * w.cast(i32).reshape(1,1,6)).sum(1)", dot(3, 2),
         "buffer 2 does not move along axis 3");
  // Windows whose two dimensions have one step and one size: which axis each follows is not known.
  const ShapeTracker windows({View::create(Ints{8, 8}, Ints{1, 1}, 0)});
  const Ints shape = {4, 8, 8};
  const LazyOp x = LazyOp::load(1, dtypes::int8, ShapeTracker::from_shape({4, 8, 1})).expand(shape);
  const LazyOp w = LazyOp::load(2, dtypes::int8, windows, 200).reshape({1, 8, 8}).expand(shape);
  const LazyOp sum = LazyOp::reduce(Ops::SUM, x.cast(dtypes::int32) * w.cast(dtypes::int32), {1});
  const LazyOp stored = LazyOp::store(0, ShapeTracker::from_shape({4, 1, 8}), sum);
  EXPECT_NE(dot_refusal(LazyOp::sink({stored}), 3, 2, Target()).find("buffer 2 moves alike along axes"),
            std::string::npos);
  EXPECT_EQ(dot_refusal(kernel_of_dots(product), 2, 2, Target()), "");
  EXPECT_EQ(dot_refusal(kernel_of_dots(product), 2, 1, Target()), "");
  const LazyOp k = parse_kernel(product).kernel;
  for (const char* wrong :
       {"LANES 1 2, DOT 2 2", "SPLITREDUCE 2 2, DOT 2 2", "PACK 1 2 2, DOT 2 2", "DOT 2 2, DOT 2 2"})
    EXPECT_NE(complaint([&] { compile_kernel(k, Target(), parse_opts(wrong)); }).find("it must come first"),
              std::string::npos)
        << wrong;
  EXPECT_NE(complaint([&] { parse_opts("DOT 2"); }).find("a number is missing"), std::string::npos);
}

/// A convolution of bytes: `channels` to `out` of kernel x kernel, with steps, on images of height x width.
LazyOp windows_of_bytes(std::int64_t channels, std::int64_t kernel, std::int64_t step, std::int64_t height,
                        std::int64_t width, std::int64_t out = 3) {
  const std::int64_t rows = (height - kernel) / step + 1, columns = (width - kernel) / step + 1;
  const View seen = View::create(Ints{rows, columns, channels, kernel, kernel},
                                 Ints{step * width, step, height * width, width, 1}, 0);
  const Ints shape = {out, rows, columns, channels, kernel, kernel};
  const LazyOp x = LazyOp::load(1, dtypes::uint8, ShapeTracker({seen}), channels * height * width);
  const LazyOp w = LazyOp::load(2, dtypes::int8, ShapeTracker::from_shape({out, channels, kernel, kernel}));
  const LazyOp product = x.reshape({1, rows, columns, channels, kernel, kernel}).expand(shape).cast(dtypes::int32) *
                         w.reshape({out, 1, 1, channels, kernel, kernel}).expand(shape).cast(dtypes::int32);
  const LazyOp sum = LazyOp::reduce(Ops::SUM, product, {3, 4, 5}).reshape({out, rows, columns});
  return absorb_movement(LazyOp::sink({LazyOp::store(0, ShapeTracker::from_shape(sum.shape()), sum)}));
}

// Each window of bytes has words of its own; in memory, the axes of the sum come before those of the result.
TEST(Dot, WindowsOfBytesMeanTheSame) {
  std::mt19937_64 random(6);
  for (const auto& [channels, size, step, height, width] :
       std::vector<std::array<std::int64_t, 5>>{{5, 3, 1, 8, 6}, {4, 2, 1, 5, 9}, {33, 3, 2, 9, 8}, {6, 1, 1, 4, 4}}) {
    const LazyOp kernel = windows_of_bytes(channels, size, step, height, width);
    const std::size_t along = KernelAxes(kernel).outputs();  // the channels
    for (const int slot : {1, 2}) {
      ASSERT_EQ(dot_refusal(kernel, along, slot, Target()), "") << channels << ", " << slot;
      const oracle::Buffers before = random_memory(kernel, random);
      const oracle::Buffers after = run_all(dot_products(kernel, dot(along, slot), Target()), before);
      oracle::Buffers expected = before;
      interpret(kernel, oracle::memory_of(expected), {});
      for (std::int64_t k = 0; k < expected[0].size(); ++k) ASSERT_EQ(after[0][k], expected[0][k]) << k;
    }
  }
  const LazyOp large = windows_of_bytes(4, 6, 1, 40, 40);
  EXPECT_NE(dot_refusal(large, KernelAxes(large).outputs(), 1, Target()).find("read at several indices"),
            std::string::npos);  // 16 times is the most
  const std::array<int, 1> kept = {2};
  EXPECT_FALSE(worthwhile_dot(windows_of_bytes(64, 3, 1, 30, 30), with_dots(), kept));  // 3 uses of a word
  const LazyOp paying = windows_of_bytes(64, 3, 1, 30, 30, 16);
  EXPECT_EQ(worthwhile_dot(paying, with_dots(), kept), dot(KernelAxes(paying).outputs(), 1));
}

TEST(Dot, RandomProductsMeanTheSame) {
  std::mt19937_64 random(5);
  int rewritten = 0;
  for (int n = 0; n < 300; ++n) {
    const std::string text = random_product(random);
    const LazyOp kernel = kernel_of_dots(text);
    const std::size_t axis = KernelAxes(kernel).axes().size() - 1;
    for (const int slot : {1, 2}) {
      if (!dot_refusal(kernel, axis, slot, Target()).empty()) continue;
      ++rewritten;
      const oracle::Buffers before = random_memory(kernel, random);
      oracle::Buffers plain = before;
      interpret(kernel, oracle::memory_of(plain), {});
      const oracle::Buffers after = run_all(dot_products(kernel, dot(axis, slot), Target()), before);
      for (std::int64_t j = 0; j < plain[0].size(); ++j)
        ASSERT_EQ(plain[0][j].bits(), after[0][j].bits()) << text << ", buffer " << slot << ", element " << j;
    }
  }
  EXPECT_GT(rewritten, 500);
}

TEST(Dot, RandomProductsOfBf16StayWithinTheBound) {
  std::mt19937_64 random(8);
  int rewritten = 0;
  for (int n = 0; n < 48; ++n) {
    const std::string text = random_product(random, true);
    const LazyOp kernel = kernel_of_dots(text);
    const std::size_t axis = KernelAxes(kernel).axes().size() - 1;
    for (const int slot : {1, 2}) {
      if (!dot_refusal(kernel, axis, slot, Target()).empty()) continue;
      ++rewritten;
      const oracle::Buffers before = random_memory_of_bf16(kernel, oracle::kPatterns[n % 6], random);
      oracle::Buffers after = run_all(dot_products(kernel, dot(axis, slot), Target()), before);
      after.erase(after.begin() + static_cast<std::ptrdiff_t>(before.size()), after.end());
      const auto allowed = oracle::KernelRanges(before, {}, {})(kernel);
      ASSERT_EQ(oracle::compare(before, after, allowed).fault, "") << text << ", buffer " << slot;
    }
  }
  EXPECT_GT(rewritten, 80);
}

// By the definition: the products of the least elements, in units of their last places, are not subnormal.
TEST(Dot, WhereNumbersAreNormal) {
  const auto least_of = [](int exponent, int fraction) {
    return static_cast<std::uint16_t>((exponent << 7 | fraction) - 1);
  };
  for (int e = 0; e < 256; ++e)
    for (int f = 0; f < 256; ++f)
      for (const int fraction : {0, 1, 127}) {
        if (e == 0 && fraction == 0) continue;  // of 0
        const bool expected = e > 0 && f > 0 && std::ldexp(1.0, e - 127 - 7) * std::ldexp(1.0, f - 127 - 7) >= 0x1p-126;
        EXPECT_EQ(are_normal(least_of(e, fraction), least_of(f, 127)), expected) << e << " " << f;
      }
  constexpr std::uint16_t zeros = 0xffff;
  EXPECT_TRUE(are_normal(zeros, zeros));
  EXPECT_TRUE(are_normal(zeros, least_of(1, 0)));
  EXPECT_FALSE(are_normal(zeros, least_of(0, 127)));  // the other buffer may have infinities
  EXPECT_FALSE(are_normal(least_of(255, 0), least_of(0, 1)));
}

int count_of(Ops op, const UOpGraph& list) {
  int out = 0;
  for (const UOp u : list) out += u.op() == UOps::ALU && u.alu() == op ? 1 : 0;
  return out;
}

// The kernel computes without the op. One that has it goes with it, and what tells whether it may run.
TEST(Dot, TheKernelOfNormalNumbers) {
  const LazyOp k = parse_kernel(kBf16).kernel;
  for (const char* opts : {"DOT 2 2", "DOT 2 2, PACK 1 16 3, LANES 2 16", "DOT 2 2, LANES 1 16, UPCAST 0 4"}) {
    const Kernel made = compile_kernel(k, with_dots(), parse_opts(opts));
    EXPECT_EQ(count_of(Ops::DOT2, made.uops), 0) << opts;
    ASSERT_NE(made.of_normals, nullptr) << opts;
    EXPECT_GT(count_of(Ops::DOT2, made.of_normals->uops), 0) << opts;
    EXPECT_TRUE(made.of_normals->before.empty());
    ASSERT_EQ(made.least.size(), 2U);
    ASSERT_EQ(made.of_normals->buffers.size(), made.buffers.size());
    for (const int slot : made.least) {
      EXPECT_EQ(made.buffers[static_cast<std::size_t>(slot)].dtype, dtypes::uint16) << opts;
      for (const Kernel* of : {&made, made.of_normals.get()})
        for (const UOp u : of->uops)
          if (u.op() == UOps::DEFINE_GLOBAL) EXPECT_NE(std::get<Global>(u.arg()).slot, slot) << opts;
    }
    // Slots that Opts name do not depend on the target.
    const Kernel plain = compile_kernel(k, Target(), parse_opts(opts));
    EXPECT_EQ(plain.of_normals, nullptr);
    EXPECT_EQ(plain.temporaries.size() + 2, made.temporaries.size());
  }
  EXPECT_EQ(compile_kernel(k, with_dots(), parse_opts("LANES 1 16")).of_normals, nullptr);
  // Nothing else gets the op.
  const ShapeTracker st = ShapeTracker::from_shape({4});
  const auto operand = [&](int slot, DType dtype) { return LazyOp::load(slot, dtype, st); };
  const LazyOp dots =
      LazyOp::alu(Ops::DOT2, {operand(1, dtypes::int32), operand(2, dtypes::int32), operand(3, dtypes::float32)});
  EXPECT_EQ(count_of(Ops::DOT2, compile_kernel(LazyOp::sink({LazyOp::store(0, st, dots)}), with_dots()).uops), 0);
}

TEST(Dot, TheHeuristicTakesItWhereItPays) {
  const auto takes = [](std::string_view text, const Target& target, std::vector<int> kept = {}) {
    const std::vector<Opt> opts = heuristic_opts(kernel_of_dots(text), target, kept);
    compile_kernel(parse_kernel(text).kernel, target, opts);  // proven in bounds
    return !opts.empty() && opts[0].kind == Opt::Kind::DOT;
  };
  const std::string large = "x: i8[64,96]; w: i8[96,64]; y = x.cast(i32) @ w.cast(i32)";
  const std::string row = "x: i8[1,96]; w: i8[96,64]; y = x.cast(i32) @ w.cast(i32)";
  EXPECT_TRUE(takes(large, with_dots()));
  EXPECT_TRUE(takes(large, with_dots().deterministic()));  // integers are exact in any order
  EXPECT_FALSE(takes(large, Target()));
  EXPECT_FALSE(takes(row, with_dots()));  // the words are used once
  EXPECT_TRUE(takes(row, with_dots(), {2}));
  EXPECT_FALSE(takes("x: i8[64,9]; w: i8[9,64]; y = x.cast(i32) @ w.cast(i32)", with_dots()));  // too short
  // A convolution of 1x1, and a reduction whose last axis is short.
  EXPECT_TRUE(
      takes("x: i8[1,64,10,10]; w: i8[32,64,1,1]; y = (x.cast(i32).reshape(1,1,64,10,10).expand(1,32,64,10,10) * "
            "w.cast(i32).reshape(1,32,64,1,1).expand(1,32,64,10,10)).sum(2)",
            with_dots()));
  EXPECT_TRUE(
      takes("x: i8[20,64,3]; w: i8[30,64,3]; y = (x.cast(i32).reshape(20,1,64,3).expand(20,30,64,3) * "
            "w.cast(i32).reshape(1,30,64,3).expand(20,30,64,3)).sum(2,3)",
            with_dots()));
  EXPECT_FALSE(takes("x: i8[64,96]; w: i8[96,64]; y = x.cast(f32) @ w.cast(f32)", with_dots()));
  EXPECT_TRUE(takes(kBf16, with_dots()));
  EXPECT_FALSE(takes(kBf16, with_dots().deterministic()));
  EXPECT_FALSE(takes(kBf16, Target()));
  EXPECT_TRUE(takes("x: bf16[1,96]; w: bf16[96,64]; y = x.cast(f32) @ w.cast(f32)", with_dots(), {2}));
  EXPECT_TRUE(takes("x: u8[3,40,40]; w: i8[3,40,40]; y = (x.cast(i32) @ w.cast(i32)).cast(f32) * 0.5", with_dots()));
}

// A sum is in the instruction: no additions are left in the loop.
TEST(Dot, SumsAreInTheInstruction) {
  const LazyOp k = parse_kernel("x: i8[8,64]; w: i8[64,32]; y = x.cast(i32) @ w.cast(i32)").kernel;
  const Kernel made = compile_kernel(k, with_dots(), parse_opts("DOT 2 2, LANES 1 16, UPCAST 0 4"));
  int dots = 0, sums = 0;
  for (const UOp u : made.uops) {
    if (u.op() != UOps::ALU) continue;
    dots += u.alu() == Ops::DOT4 ? 1 : 0;
    sums += u.alu() == Ops::ADD && u.dtype().is_vector() ? 1 : 0;
  }
  EXPECT_EQ(dots, 4);
  EXPECT_EQ(sums, 4);  // of what the shifted bytes added
  const Kernel pairs =
      compile_kernel(parse_kernel("x: bf16[8,64]; w: bf16[64,32]; y = x.cast(f32) @ w.cast(f32)").kernel, with_dots(),
                     parse_opts("DOT 2 2, LANES 1 16, UPCAST 0 4"));
  EXPECT_EQ(count_of(Ops::DOT2, pairs.of_normals->uops), 4);
  for (const UOp u : pairs.of_normals->uops)
    if (u.op() == UOps::ALU && u.alu() == Ops::ADD) EXPECT_FALSE(u.dtype().is_float());
}

// A product of 2^24, in front of which and behind which products of 1 are lost: as many as one accumulator adds up.
TEST(Dot, AccumulatorsAddUpFewPairs) {
  constexpr std::int64_t length = 5000;
  const std::string text =
      detail::message("x: bf16[1,", length, "]; w: bf16[", length, ",1]; y = x.cast(f32) @ w.cast(f32)");
  const LazyOp kernel = parse_kernel(text).kernel;
  const Kernel made = compile_kernel(kernel, with_dots(), parse_opts("DOT 2 2"));
  ASSERT_NE(made.of_normals, nullptr);
  for (const std::int64_t at : {std::int64_t{0}, std::int64_t{777}, length - 1}) {
    oracle::Buffers memory;
    for (const BufferUse& use : made.buffers) memory.emplace_back(use.dtype, use.size.value());
    for (std::int64_t k = 0; k < length; ++k) memory[1].put(k, Scalar::of(dtypes::bfloat16, k == at ? 0x1p24 : 1.0));
    for (std::int64_t k = 0; k < length; ++k) memory[2].put(k, Scalar::of(dtypes::bfloat16, 1.0));
    for (const auto& first : made.before) interpret(first->uops, oracle::memory_of(memory), whole_range(*first));
    for (const UOpGraph* list : {&made.uops, &made.of_normals->uops}) {
      interpret(*list, oracle::memory_of(memory), whole_range(made));
      const double exact = 0x1p24 + double{length - 1};
      EXPECT_LE(std::fabs(memory[0][0].as_double() - exact), (64 + std::log2(double{length})) * 0x1p-24 * exact) << at;
    }
  }
}

}  // namespace
}  // namespace strata
