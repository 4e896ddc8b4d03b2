// DOT on devices: kernels with dot products of bytes give what the interpreter gives, by the instruction and by bytes;
// those of bf16 stay within the error bound of sums, by the instruction where no number is subnormal.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "strata/codegen/dot.h"
#include "strata/codegen/heuristic.h"
#include "strata/graph/absorb.h"
#include "strata/graph/interpret.h"
#include "strata/ops/kernel_text.h"
#include "strata/render/llvm.h"
#include "strata/runtime/device.h"
#include "strata/runtime/llvm_library.h"
#include "tests/codegen/dots.h"

namespace strata {
namespace {

/// Runs the kernel on copies of `memory`, and returns buffer 0.
Buffer result_of(const CompiledKernel& kernel, oracle::Buffers memory) {
  std::vector<Buffer> copies;
  for (oracle::GuardedMemory& b : memory) {
    copies.push_back(Buffer::allocate(b.size(), b.dtype()));
    std::memcpy(copies.back().data(), b.data(), copies.back().nbytes());
  }
  kernel.run(copies);
  return copies[0];
}

/// data0 = the op of data1, data2, data3, of so many elements.
LazyOp dots_of(Ops op, std::int64_t elements) {
  const ShapeTracker st = ShapeTracker::from_shape({elements});
  const auto operand = [&](int slot, DType dtype) { return LazyOp::load(slot, dtype, st); };
  const LazyOp sum = operand(3, op == Ops::DOT4 ? dtypes::int32 : dtypes::float32);
  return LazyOp::sink(
      {LazyOp::store(0, st, LazyOp::alu(op, {operand(1, dtypes::int32), operand(2, dtypes::int32), sum}))});
}
std::vector<Opt> lanes_opts(std::int64_t lanes) {
  return lanes == 1 ? std::vector<Opt>{} : std::vector<Opt>{{Opt::Kind::LANES, 0, lanes, 0, {}}};
}

// The heuristic's kernels on every device that runs kernels, with the instruction where the device has it, and by
// bytes.
TEST(DotDevices, GiveTheSame) {
  std::mt19937_64 random(6);
  int dots = 0;
  for (int n = 0; n < 24; ++n) {
    const std::string text = oracle::random_product(random);
    const LazyOp kernel = parse_kernel(text).kernel;
    const LazyOp plain = absorb_movement(kernel);
    const std::size_t axis = KernelAxes(plain).axes().size() - 1;
    for (const Device* device : Device::all()) {
      if (!device->missing().empty() || device->name() == "NULL" || device->name() == "INTERP") continue;
      if (device->name() != "LLVM" && n % 6 != 0) continue;  // their compilers take long
      std::vector<std::optional<std::vector<Opt>>> all = {std::nullopt};
      if (dot_refusal(plain, axis, 2, device->target()).empty()) {
        all.push_back(std::vector<Opt>{oracle::dot(axis, 2)});
        std::vector<Opt> chosen =
            loop_opts(dot_products(plain, oracle::dot(axis, 2), device->target()).rest, device->target());
        chosen.insert(chosen.begin(), oracle::dot(axis, 2));
        all.push_back(std::move(chosen));
      }
      for (const auto& opts : all) {
        const oracle::Buffers before = oracle::random_memory(plain, random);
        oracle::Buffers expected = before;
        interpret(plain, oracle::memory_of(expected), {});
        const CompiledKernel made = compile(kernel, *device, opts);
        dots += !made.kernel().opts.empty() && made.kernel().opts[0].kind == Opt::Kind::DOT ? 1 : 0;
        const Buffer result = result_of(made, before);
        for (std::int64_t j = 0; j < expected[0].size(); ++j)
          ASSERT_EQ(result[j].bits(), expected[0][j].bits())
              << device->name() << ": " << text << ", " << text_of(made.kernel().opts) << ", element " << j;
      }
    }
  }
  EXPECT_GT(dots, 20);
}

// All kinds of bf16, some of them at the limit of what the instruction multiplies exactly.
TEST(DotDevices, ProductsOfBf16StayWithinTheBound) {
  std::mt19937_64 random(9);
  int runs[2] = {0, 0};  // of kernels that have one of normal numbers: where it may not run, and where it may
  for (int n = 0; n < 12; ++n) {
    const std::string text = oracle::random_product(random, true);
    const LazyOp kernel = parse_kernel(text).kernel;
    const LazyOp plain = absorb_movement(kernel);
    const std::size_t axis = KernelAxes(plain).axes().size() - 1;
    for (const Device* device : Device::all()) {
      if (!device->missing().empty() || device->name() == "NULL" || device->name() == "INTERP") continue;
      if (device->name() != "LLVM" && n != 0) continue;  // their compilers take long
      std::vector<std::optional<std::vector<Opt>>> all = {std::nullopt};
      for (const int slot : {1, 2}) {
        if (!dot_refusal(plain, axis, slot, device->target()).empty()) continue;
        all.push_back(std::vector<Opt>{oracle::dot(axis, slot)});
        const DotKernels kernels = dot_products(plain, oracle::dot(axis, slot), device->target());
        for (const std::vector<int>& kept : {std::vector<int>{}, std::vector<int>{kernels.words}}) {
          all.push_back(loop_opts(kernels.rest, device->target(), kept));
          all.back()->insert(all.back()->begin(), oracle::dot(axis, slot));
        }
      }
      for (const auto& opts : all) {
        const CompiledKernel made = compile(kernel, *device, opts);
        for (const oracle::Patterns patterns : oracle::kPatterns) {
          const oracle::Buffers before = oracle::random_memory_of_bf16(plain, patterns, random);
          const auto allowed = oracle::KernelRanges(before, {}, {})(plain);
          oracle::Buffers after = before;
          const Buffer result = result_of(made, before);
          for (std::int64_t j = 0; j < result.size(); ++j) after[0].put(j, result[j]);
          const bool are_fine = are_normal(oracle::least_magnitude(before[1]), oracle::least_magnitude(before[2]));
          if (made.of_normals() != nullptr) ++runs[are_fine ? 1 : 0];
          ASSERT_EQ(oracle::compare(before, after, allowed).fault, "")
              << device->name() << ": " << text << ", " << text_of(made.kernel().opts) << ", patterns "
              << static_cast<int>(patterns) << (are_fine ? ", of normal numbers" : "");
        }
      }
    }
  }
  if (Device::get("LLVM").target().native_of_normals.has(Ops::DOT2)) EXPECT_GT(std::min(runs[0], runs[1]), 50);
}

// One kernel, whose operands change from run to run; also by threads.
TEST(DotDevices, EachRunLooksForSubnormalNumbers) {
  const Device& device = Device::get("LLVM");
  if (!STRATA_HAS_LLVM) GTEST_SKIP() << device.missing();
  ASSERT_EQ(device.missing(), "");
  constexpr std::string_view text = "x: bf16[9,71]; w: bf16[71,24]; y = x.cast(f32) @ w.cast(f32)";
  const LazyOp kernel = parse_kernel(text).kernel, plain = absorb_movement(kernel);
  const CompiledKernel made = compile(kernel, device);
  std::mt19937_64 random(10);
  for (int n = 0; n < 12; ++n) {
    oracle::Buffers before = oracle::random_memory_of_bf16(plain, oracle::Patterns::plain, random);
    // One subnormal number decides, wherever it is. 2^-127 * 2^127 is 1.
    oracle::GuardedMemory& changed = before[n % 3 == 0 ? 1 : 2];
    if (n % 2 == 0) {
      const auto at = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(changed.size()));
      for (std::int64_t k = 0; k < changed.size(); ++k) changed.put(k, Scalar::of(dtypes::bfloat16, 0.0));
      oracle::GuardedMemory& other = before[n % 3 == 0 ? 2 : 1];
      for (std::int64_t k = 0; k < other.size(); ++k) other.put(k, Scalar::of(dtypes::bfloat16, 0x1p127));
      changed.put(at, Scalar::of(dtypes::bfloat16, 0x1p-127));
    }
    const Buffer result = result_of(made, before);
    const auto allowed = oracle::KernelRanges(before, {}, {})(plain);
    oracle::Buffers after = before;
    for (std::int64_t j = 0; j < result.size(); ++j) after[0].put(j, result[j]);
    EXPECT_EQ(oracle::compare(before, after, allowed).fault, "") << n;
    if (n % 2 != 0) continue;
    double ones = 0;
    for (std::int64_t j = 0; j < result.size(); ++j) ones += result[j].as_double();
    EXPECT_EQ(ones, n % 3 == 0 ? 24 : 9) << n;
  }
}

#if defined(__x86_64__)
// Also where this machine lacks the instruction: every number of lanes becomes it, with nothing multiplied beside it.
TEST(DotDevices, TheInstructionOfEveryNumberOfLanes) {
  if (!STRATA_HAS_LLVM) GTEST_SKIP() << Device::get("LLVM").missing();
  LlvmCompileOptions options;
  options.cpu = "cooperlake";
  Target target;
  for (const auto& [op, instruction] : {std::pair(Ops::DOT4, "vpdpbusd"), {Ops::DOT2, "vdpbf16ps"}}) {
    target.native.insert(op);
    for (int lanes = 1; lanes <= DType::kMostLanes; ++lanes) {
      const Kernel kernel = compile_kernel(dots_of(op, lanes), target, lanes_opts(lanes));
      const std::string code = LlvmLibrary::shared().assembly(uops_to_llvm("k", kernel.uops), options);
      EXPECT_NE(code.find(instruction), std::string::npos) << lanes << " lanes\n" << code;
      EXPECT_EQ(code.find("vpmul"), std::string::npos) << lanes << " lanes\n" << code;
      EXPECT_EQ(code.find("vmul"), std::string::npos) << lanes << " lanes\n" << code;
    }
  }
}
#endif

// Every number of lanes, by the instruction and by the decomposition.
TEST(DotDevices, EveryNumberOfLanes) {
  const Device& device = Device::get("LLVM");
  if (!STRATA_HAS_LLVM) GTEST_SKIP() << device.missing();
  ASSERT_EQ(device.missing(), "");
  std::mt19937_64 random(7);
  for (const bool is_native : {true, false}) {
    if (is_native && !device.target().native.has(Ops::DOT4)) continue;
    for (std::int64_t lanes = 1; lanes <= DType::kMostLanes; ++lanes) {
      const LazyOp k = dots_of(Ops::DOT4, lanes);
      Target target = device.target();
      if (!is_native) target.native.erase(Ops::DOT4);
      const auto kernel = std::make_shared<const Kernel>(compile_kernel(k, target, lanes_opts(lanes)));
      const CompiledKernel made(kernel, device.compile(*kernel));
      const oracle::Buffers before = oracle::random_memory(k, random);
      oracle::Buffers expected = before;
      interpret(k, oracle::memory_of(expected), {});
      const Buffer result = result_of(made, before);
      for (std::int64_t j = 0; j < lanes; ++j)
        ASSERT_EQ(result[j].bits(), expected[0][j].bits()) << is_native << ", " << lanes << " lanes";
    }
  }
}

TEST(DotDevices, PairsOfEveryNumberOfLanes) {
  const Device& device = Device::get("LLVM");
  if (!STRATA_HAS_LLVM) GTEST_SKIP() << device.missing();
  ASSERT_EQ(device.missing(), "");
  std::mt19937_64 random(11);
  for (const bool is_native : {true, false}) {
    if (is_native && !device.target().native_of_normals.has(Ops::DOT2)) continue;
    for (std::int64_t lanes = 1; lanes <= DType::kMostLanes; ++lanes) {
      const LazyOp k = dots_of(Ops::DOT2, lanes);
      Target target = device.target();
      if (is_native) target.native.insert(Ops::DOT2);
      const auto kernel = std::make_shared<const Kernel>(compile_kernel(k, target, lanes_opts(lanes)));
      const CompiledKernel made(kernel, device.compile(*kernel));
      oracle::Buffers before = oracle::random_memory(k, random);
      for (std::int64_t j = 0; j < lanes; ++j) {
        for (const std::size_t slot : {1U, 2U})
          before[slot].put(j, Scalar::from_bits(dtypes::int32, std::uint64_t{oracle::bits_of_bf16(random, 120)} << 16 |
                                                                   oracle::bits_of_bf16(random, 120)));
        before[3].put(j, Scalar::of(dtypes::float32, static_cast<double>(random() % 1000) / 7));
      }
      oracle::Buffers expected = before;
      interpret(k, oracle::memory_of(expected), {});
      const Buffer result = result_of(made, before);
      // Each of the two sums is rounded once or twice.
      for (std::int64_t j = 0; j < lanes; ++j)
        ASSERT_NEAR(result[j].as_double(), expected[0][j].as_double(), 4 * 0x1p-24 * 5000)
            << is_native << ", " << lanes << " lanes";
    }
  }
}

}  // namespace
}  // namespace strata
