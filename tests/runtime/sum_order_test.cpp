// Sums on all devices: the bits that ir/sum_order.h defines where DETERMINISTIC is on, and its error elsewhere.
#include "strata/ir/sum_order.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "strata/base/flags.h"
#include "strata/ops/kernel_text.h"
#include "strata/runtime/device.h"
#include "strata/runtime/tbb_executor.h"

namespace strata {
namespace {

std::vector<const Device*> devices_that_sum() {
  std::vector<const Device*> out;
  for (const char* name : {"LLVM", "CLANG", "OPENCL"})
    if (Device::get(name).missing().empty()) out.push_back(&Device::get(name));
  return out;
}

/// Values of both signs and many sizes, none of which is lost in f16.
Buffer mixed(std::int64_t size, DType dtype, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  Buffer out = Buffer::allocate(size, dtype);
  auto* at = static_cast<std::byte*>(out.data());
  for (std::int64_t k = 0; k < size; ++k, at += dtype.itemsize())
    store_scalar(Scalar::of(dtype, std::ldexp(value(random), static_cast<int>(random() % 8) - 4)), at);
  return out;
}

std::vector<Buffer> run_on(const Device& device, const LazyOp& kernel) {
  const CompiledKernel k = compile(kernel, device);
  std::vector<Buffer> buffers;
  std::uint64_t seed = 1;
  for (const BufferUse& use : k.kernel().buffers)
    buffers.push_back(use.read ? mixed(use.size.value(), use.dtype, seed++)
                               : Buffer::allocate(use.size.value(), use.dtype));
  k.run(buffers);
  return buffers;
}

std::vector<std::string> kernels_of(const char* type, std::int64_t n) {
  const auto rows = [&](std::string_view rest) { return detail::message("a: ", type, "[3,", n, "]; ", rest); };
  return {
      rows("y = a.sum(1)"),
      rows("y = (a*0.01 + 1).prod(1)"),
      rows("y = ((a - a.mean(1))*(a - a.mean(1))).sum(1)"),
      detail::message("a: ", type, "[", n, ",40]; y = a.sum(0)"),
      detail::message("a: ", type, "[", n, ",5]; y = a.sum((0,1))"),
      detail::message("a: ", type, "[5,", n, "]; b: ", type, "[", n, ",33]; y = a @ b"),
      detail::message("a: ", type, "[", n, ",3,3]; y = a.sum((0,1,2))"),
      detail::message("a: ", type, "[2,3,", n, "]; y = a.sum((0,2))"),
  };
}

TEST(SumsOnDevices, DeterministicBitsAreThoseOfTheInterpreter) {
  const ScopedFlag deterministic(flags::DETERMINISTIC, true);
  const auto check = [](const char* type, std::int64_t n, const std::vector<const Device*>& devices) {
    for (const std::string& text : kernels_of(type, n)) {
      const LazyOp kernel = parse_kernel(text).kernel;
      const Buffer expected = run_on(Device::get("INTERP"), kernel)[0];
      for (const Device* device : devices) {
        const Buffer got = run_on(*device, kernel)[0];
        for (std::int64_t k = 0; k < expected.size(); ++k)
          ASSERT_EQ(got[k].bits(), expected[k].bits()) << device->name() << " " << text << " at " << k << ": "
                                                       << got[k].as_double() << ", " << expected[k].as_double();
      }
    }
  };
  const std::vector<const Device*> all = devices_that_sum(), first = {all.front()};
  const std::vector<std::int64_t> edges = {1, 17, 65, 512, 4099},
                                  sizes = {1, 2, 3, 5, 15, 16, 17, 31, 33, 64, 65, 100, 511, 512, 520, 4099};
  for (const std::int64_t n : STRATA_SANITIZED ? edges : sizes) check("f32", n, first);
  for (const char* type : {"f64", "f16", "bf16"})
    for (const std::int64_t n : {7, 600}) check(type, n, first);
  for (const std::int64_t n : {20, 1000}) check("f32", n, all);
  check("bf16", 200, all);
}

// SPLITREDUCE, whose parts are those of the order.
TEST(SumsOnDevices, DeterministicSumsInPartsHaveTheBitsOfTheWhole) {
  const ScopedFlag deterministic(flags::DETERMINISTIC, true);
  for (const char* text : {"a: f32[300001]; y = a.sum()", "a: bf16[2,300000]; y = a.sum(1)",
                           "a: f32[700,601]; y = (a*0.001 + 1).prod()", "a: f16[66000,5]; y = a.sum()"}) {
    const LazyOp kernel = parse_kernel(text).kernel;
    const Buffer expected = run_on(Device::get("INTERP"), kernel)[0];
    for (const Device* device : devices_that_sum()) {
      EXPECT_FALSE(compile(kernel, *device).kernel().before.empty()) << device->name() << " " << text;
      const Buffer got = run_on(*device, kernel)[0];
      for (std::int64_t k = 0; k < expected.size(); ++k)
        EXPECT_EQ(got[k].bits(), expected[k].bits()) << device->name() << " " << text << " at " << k;
    }
  }
}

// A row has the bits that it has alone.
TEST(SumsOnDevices, DeterministicRowsDoNotDependOnOthers) {
  const ScopedFlag deterministic(flags::DETERMINISTIC, true);
  for (const Device* device : devices_that_sum()) {
    const auto row = [&](std::int64_t rows) {
      const CompiledKernel k =
          compile(parse_kernel(detail::message("a: f32[", rows, ",5000]; y = a.sum(1)")).kernel, *device);
      const Buffer out = Buffer::allocate(rows, dtypes::float32), in = mixed(rows * 5000, dtypes::float32, 3);
      k.run(std::vector{out, in});
      return out[0].bits();
    };
    EXPECT_EQ(row(1), row(300)) << device->name();
  }
}

TEST(SumsOnDevices, ErrorsAreBoundedInEachMode) {
  for (const bool is_deterministic : {false, true}) {
    const ScopedFlag deterministic(flags::DETERMINISTIC, is_deterministic);
    for (const Device* device : devices_that_sum())
      for (const std::int64_t n : {3000, 70'001, 1'000'003})
        for (const std::int64_t rows : {1, 3}) {
          const CompiledKernel k =
              compile(parse_kernel(detail::message("a: f32[", rows, ",", n, "]; y = a.sum(1)")).kernel, *device);
          const Buffer out = Buffer::allocate(rows, dtypes::float32), in = Buffer::allocate(rows * n, dtypes::float32);
          auto* const at = static_cast<float*>(in.data());
          long double exact = 0, size = 0;
          std::mt19937_64 random(7);
          for (std::int64_t j = 0; j < rows * n; ++j) {
            at[j] = 1e4F + static_cast<float>(random() % 1024) / 1024.0F;
            if (j < n) exact += at[j], size += std::fabs(at[j]);
          }
          k.run(std::vector{out, in});
          const long double bound = (64 + std::log2(static_cast<double>(n))) * std::ldexp(1.0, -24) * size;
          EXPECT_LE(std::fabs(out[0].as_double() - exact), bound)
              << device->name() << (is_deterministic ? " deterministic " : " ") << rows << "x" << n;
          // Errors of random roundings are far below the bound; those of one long chain are not.
          EXPECT_LE(std::fabs(out[0].as_double() - exact), 0.05L * bound)
              << device->name() << (is_deterministic ? " deterministic " : " ") << rows << "x" << n;
        }
  }
}

}  // namespace
}  // namespace strata
