// Kernels of one long loop poll: they end soon, and what they compute is what others do.
#include "strata/runtime/polling.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/base/interrupt.h"
#include "strata/codegen/polls.h"
#include "strata/ops/kernel_text.h"
#include "strata/runtime/device.h"
#include "strata/runtime/tbb_executor.h"

namespace strata {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct Cancelled {};

std::vector<const Device*> polling_devices() {
  std::vector<const Device*> out;
  for (const char* name : {"LLVM", "CLANG"})
    if (Device::get(name).missing().empty()) out.push_back(&Device::get(name));
  return out;
}

TEST(PollingThread, LongLoopsEndSoon) {
  // A minute of a loop, of rows in a loop, of iterations on threads.
  const std::pair<std::string_view, std::string_view> kernels[] = {
      {"y = sin(iota(20000000000).cast(f32)).sum()", ""},
      {"y = sin(iota(20000000000).reshape(2,10000000000).cast(f32)).sum(1)", ""},
      {"y = sin(iota(20000000000).reshape(4,5000000000).cast(f32)).sum(1)", "PARALLEL 0"},
      {"y = sin(iota(20000000000).reshape(4,5000000000).cast(f32)).max(1)", "LANES 2 8, PARALLEL 0"},
  };
  const auto two = make_executor(2);
  for (const Device* device : polling_devices())
    for (const auto& [text, opts] : kernels) {
      const CompiledKernel k = compile(parse_kernel(text).kernel, *device, parse_opts(opts));
      const Buffer out = Buffer::allocate(4, dtypes::float32);
      const std::vector<Buffer> buffers{out};
      Clock::time_point asked{};
      const InterruptCheck check(
          [&] {
            asked = Clock::now();
            throw Cancelled();
          },
          milliseconds(20));
      EXPECT_THROW(k.run(buffers, {}, two.get()), Cancelled) << text;
      EXPECT_LT(Clock::now() - asked, std::chrono::seconds(5)) << text;
    }
}

TEST(Polling, ChangesNoResult) {
  const std::string_view text = "y = (iota(60000000) % 17).cast(i64).reshape(3,20000000).sum(1)";
  for (const Device* device : polling_devices())
    for (const std::string_view opts : {"", "PARALLEL 0", "LANES 2 8", "LANES 2 4, UPCAST 0 3"}) {
      const CompiledKernel k = compile(parse_kernel(text).kernel, *device, parse_opts(opts));
      EXPECT_TRUE(k.program().polls()) << opts;
      const Buffer out = Buffer::allocate(3, dtypes::int64);
      const std::vector<Buffer> buffers{out};
      int asked = 0;
      const InterruptCheck check([&] { ++asked; }, milliseconds(0));
      k.run(buffers);
      EXPECT_GE(asked, 1) << opts;
      for (std::int64_t row = 0; row < 3; ++row) {
        // Whole cycles of 17, and what is left of them.
        const auto below = [](std::int64_t n) { return n / 17 * 136 + n % 17 * (n % 17 - 1) / 2; };
        EXPECT_EQ(static_cast<const std::int64_t*>(out.data())[row],
                  below((row + 1) * 20000000) - below(row * 20000000))
            << opts;
      }
    }
}

TEST(Polling, WhatACheckRunsPollsForItself) {
  const Device& device = *polling_devices().front();
  const LazyOp ast = parse_kernel("y = iota(60000000).cast(f64).sum()").kernel;
  const CompiledKernel k = compile(ast, device, std::vector<Opt>());
  const Buffer out = Buffer::allocate(1, dtypes::float64), inner = Buffer::allocate(1, dtypes::float64);
  int runs = 0;
  const InterruptCheck check(
      [&] {
        if (++runs > 2) throw Cancelled();
        k.run({inner});
      },
      milliseconds(0));
  EXPECT_THROW(k.run({out}), Cancelled);
  EXPECT_EQ(*static_cast<const double*>(inner.data()), 60000000.0 * 59999999.0 / 2);
}

TEST(Polling, IsCalledByNobodyElse) {
  using Poll = int (*)();
  EXPECT_EQ(reinterpret_cast<Poll>(Polling::address())(), 0);
}

}  // namespace
}  // namespace strata
