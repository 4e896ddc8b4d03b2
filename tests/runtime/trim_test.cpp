// TRIM on every device that runs kernels: convolutions give the same to the bit, whatever the weights hold.

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <random>
#include <vector>

#include "strata/codegen/trim.h"
#include "strata/graph/interpret.h"
#include "strata/runtime/device.h"
#include "tests/codegen/trims.h"

namespace strata {
namespace {

TEST(TrimDevices, GiveTheSame) {
  std::mt19937_64 random(4);
  int trims = 0, wild_runs = 0;
  for (int n = 0; n < 40; ++n) {
    const LazyOp kernel = oracle::random_convolution(random, n % 4 == 3 ? dtypes::float64 : dtypes::float32);
    std::vector<Opt> listed;
    for (const std::size_t axis : {oracle::kRows, oracle::kColumns})
      if (trim_refusal(kernel, axis, 2).empty()) listed.push_back(oracle::trim_opt(axis, 2));
    if (listed.empty()) continue;
    for (const Device* device : Device::all()) {
      if (!device->missing().empty() || device->name() == "NULL" || device->name() == "INTERP") continue;
      if (device->name() != "LLVM" && n % 8 != 0) continue;  // their compilers take long
      const std::vector<int> wild = random() % 2 == 0 ? std::vector<int>{2} : std::vector<int>{};
      const oracle::Buffers before = oracle::memory_of_integers(kernel, random, wild);
      oracle::Buffers expected = before;
      interpret(kernel, oracle::memory_of(expected), {});
      for (const bool is_listed : {false, true}) {
        const auto opts = is_listed ? std::optional(listed) : std::nullopt;
        const CompiledKernel made = compile(kernel, *device, opts, false, std::vector<int>{2});
        trims += is_listed ? 1 : 0;
        wild_runs += wild.empty() ? 0 : 1;
        oracle::Buffers memory = before;
        std::vector<Buffer> buffers;
        for (oracle::GuardedMemory& b : memory) {
          buffers.push_back(Buffer::allocate(b.size(), b.dtype()));
          std::memcpy(buffers.back().data(), b.data(), buffers.back().nbytes());
        }
        made.run(buffers);
        for (std::int64_t j = 0; j < expected[0].size(); ++j) {
          const Scalar a = expected[0][j], b = buffers[0][j];
          ASSERT_TRUE(a == b || (a.is_nan() && b.is_nan()))
              << device->name() << ": " << a.text() << ", but " << b.text() << " with " << text_of(made.kernel().opts)
              << ", element " << j << "\n"
              << kernel.text();
        }
      }
    }
  }
  EXPECT_GT(trims, 20);
  EXPECT_GT(wild_runs, 20);
}

}  // namespace
}  // namespace strata
