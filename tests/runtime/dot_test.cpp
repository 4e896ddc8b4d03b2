// DOT on devices: kernels with dot products of bytes give what the interpreter gives, by the instruction and by bytes.

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

/// data0 = DOT4 of data1, data2, data3, of so many elements.
LazyOp dot4_of(std::int64_t elements) {
  const ShapeTracker st = ShapeTracker::from_shape({elements});
  const auto operand = [&](int slot) { return LazyOp::load(slot, dtypes::int32, st); };
  return LazyOp::sink({LazyOp::store(0, st, LazyOp::alu(Ops::DOT4, {operand(1), operand(2), operand(3)}))});
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

#if defined(__x86_64__)
// Also where this machine lacks the instruction: every number of lanes becomes it, with nothing multiplied beside it.
TEST(DotDevices, TheInstructionOfEveryNumberOfLanes) {
  if (!STRATA_HAS_LLVM) GTEST_SKIP() << Device::get("LLVM").missing();
  LlvmCompileOptions options;
  options.cpu = "icelake-server";
  Target target;
  target.native.insert(Ops::DOT4);
  for (int lanes = 1; lanes <= DType::kMostLanes; ++lanes) {
    const Kernel kernel = compile_kernel(dot4_of(lanes), target, lanes_opts(lanes));
    const std::string code = LlvmLibrary::shared().assembly(uops_to_llvm("k", kernel.uops), options);
    EXPECT_NE(code.find("vpdpbusd"), std::string::npos) << lanes << " lanes\n" << code;
    EXPECT_EQ(code.find("vpmul"), std::string::npos) << lanes << " lanes\n" << code;
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
      const LazyOp k = dot4_of(lanes);
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

}  // namespace
}  // namespace strata
