// The OPENCL device: kernels against INTERP, to the bit where ops are basic; errors in words; threads.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <thread>

#include "strata/ops/kernel_text.h"
#include "strata/runtime/device.h"
#include "strata/runtime/opencl_library.h"
#include "tests/base/errors.h"
#include "tests/codegen/kernel_ranges.h"

namespace strata {
namespace {

using oracle::KernelValues;

const Device& opencl() { return Device::get("OPENCL"); }

/// A build with the headers has to have a device, too.
class OpenClTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!STRATA_HAS_OPENCL) GTEST_SKIP() << opencl().missing();
    ASSERT_EQ(opencl().missing(), "");
  }
};
using OpenCl = OpenClTest;
using OpenClThread = OpenClTest;

/// Any bits of floats now and then; integers of all widths.
std::vector<Buffer> random_buffers(const LazyOp& kernel, const KernelValues& values, bool is_wild) {
  std::mt19937_64 random(7);
  std::vector<Buffer> out;
  for (const BufferUse& use : buffers_of(kernel)) {
    out.push_back(Buffer::allocate(oracle::number_of(use.size, values), use.dtype));
    auto* bytes = static_cast<std::byte*>(out.back().data());
    for (std::int64_t k = 0; k < out.back().size(); ++k, bytes += use.dtype.itemsize()) {
      const auto small = static_cast<std::int64_t>(random() % 41) - (use.dtype.is_unsigned() ? 0 : 20);
      const bool any_bits = is_wild && use.dtype.is_float() && random() % 3 == 0;
      const Scalar value = use.dtype.is_bool()    ? Scalar(small % 2 == 0)
                           : any_bits             ? Scalar::from_bits(use.dtype, random())
                           : use.dtype.is_float() ? Scalar::of(use.dtype, static_cast<double>(small) / 8)
                                                  : Scalar::of(use.dtype, small);
      store_scalar(value, bytes);
    }
  }
  return out;
}
std::vector<Buffer> copies(const std::vector<Buffer>& buffers) {
  std::vector<Buffer> out;
  for (const Buffer& b : buffers) out.push_back(Buffer::fromCPU(b.data(), b.size(), b.dtype()));
  return out;
}

/// OPENCL gives what INTERP gives: the same bits, or NaN for NaN.
void check_equal(const std::string& text, const std::string& opts, const KernelValues& values = {},
                 bool is_wild = true) {
  const LazyOp ast = parse_kernel(text).kernel;
  const std::vector<Buffer> got = random_buffers(ast, values, is_wild), expected = copies(got);
  const CompiledKernel kernel = compile(ast, opencl(), parse_opts(opts));
  kernel.run(got, values);
  compile(ast, Device::get("INTERP"), parse_opts("")).run(expected, values);
  for (std::size_t slot = 0; slot < got.size(); ++slot)
    for (std::int64_t k = 0; k < got[slot].size(); ++k) {
      const Scalar a = got[slot][k], b = expected[slot][k];
      ASSERT_TRUE(a == b || (a.is_nan() && b.is_nan()))
          << "data" << slot << "[" << k << "] is " << a.text() << ", not " << b.text() << "\n"
          << text << "\n"
          << opencl().source(kernel.kernel());
    }
}

TEST_F(OpenCl, TwoAndThree) {
  const CompiledKernel add = compile(parse_kernel("a: f32[1]; b: f32[1]; c = a + b").kernel, opencl());
  const Buffer out = Buffer::allocate(1, dtypes::float32);
  add.run({out, Buffer::fromCPU(std::vector<float>{2}), Buffer::fromCPU(std::vector<float>{3})});
  EXPECT_EQ(out[0].as_double(), 5);
}

TEST_F(OpenCl, SourceIsItsLanguage) {
  const Kernel k =
      compile_kernel(parse_kernel("a: f16[8]; c = a*2").kernel, opencl().target(), parse_opts("PARALLEL 0"));
  const std::string source = opencl().source(k);
  EXPECT_TRUE(has(source, "#pragma OPENCL FP_CONTRACT OFF\n")) << source;
  EXPECT_TRUE(has(source, "__kernel void E_8(__global ushort* restrict data0")) << source;
  EXPECT_TRUE(has(source, "get_global_id(0)")) << source;
  EXPECT_TRUE(has(error_of(ErrorKind::undefined, [&] { opencl().assembly(k); }), "no machine code"));
}

TEST_F(OpenCl, Instances) {
  check_equal("a: f32[100,7]; b: f32[100,7]; c = a*b - a", "PARALLEL 0");
  check_equal("a: f32[61,16]; c = a + 1", "LANES 1 4, PARALLEL 0");
  check_equal("a: f32[103]; a = a*2", "LANES 0 8, PARALLEL 0");
  check_equal("a: i32[1000]; c = a*a", "UPCAST 0 3, PARALLEL 0");
}

TEST_F(OpenCl, Reductions) {
  check_equal("a: f32[33,20]; c = a.sum(1)", "PARALLEL 0", {}, false);
  check_equal("a: f32[33,20]; c = a.max()", "");
  check_equal("a: i64[9,20]; c = a.prod(1)", "PARALLEL 0, UNROLL 2 4");
  check_equal("a: f32[12,8]; b: f32[8,10]; c = a @ b", "SPLIT 0 4, SPLIT 1 4, PARALLEL 0, STAGE 1 2", {}, false);
}

TEST_F(OpenCl, SeveralStores) {
  check_equal("a: f32[30,8]; b = a*2; c = a.max(1); d = a < 0", "PARALLEL 0");
  check_equal("a: f32[30]; a = a + 1; b = iota(30)", "LANES 0 4, PARALLEL 0");
}

TEST_F(OpenCl, SymbolicSizesOfNoTurnToo) {
  for (const std::int64_t n : {0, 3, 4, 99})
    check_equal("n: 0..99; a: f32[n]; a = a*2 + n", "LANES 0 4, PARALLEL 0", {{"n", n}});
  for (const std::int64_t n : {0, 5}) check_equal("n: 0..99; a: f32[n,3]; b = a.max(1)", "PARALLEL 0", {{"n", n}});
  check_equal("n: 0..99; a: f32[n]; a = a*2 + n", "", {{"n", 0}});
  const std::int64_t wide = std::int64_t{1} << 40;
  check_equal("n: 0..2000000000000; a: i64[5]; c = a + n", "PARALLEL 0", {{"n", wide}});
}

// Division, square roots, subnormal numbers, infinities and NaN are IEEE's; integers wrap. NOTE: drivers take a third
// of a second for a kernel, so that each has many outputs.
TEST_F(OpenCl, BasicOpsOfFloatsAreExact) {
  for (const char* dtype : {"f16", "bf16", "f32", "f64"})
    check_equal(detail::message("a: ", dtype, "[1500]; b: ", dtype,
                                "[1500]; c = a / b; d = a * b; e = a - b; f = max(a, b); g = sqrt(a); "
                                "h = floor(a); i = round(b); j = a.cast(f16); k = a.cast(bf16); "
                                "l = a.cast(i32); m = b.cast(u8); o = b.cast(f32)"),
                "LANES 0 4, PARALLEL 0");
}
// Of constants, too, which drivers compute when they compile.
TEST_F(OpenCl, WhatIsNoIntegerIsRoundedAsAConstant) {
  for (const char* dtype : {"f32", "f64"}) {
    std::string text = detail::message("a: ", dtype, "[2]");
    for (const char* op : {"trunc", "floor", "ceil", "round"})
      for (const char* value : {"nan", "inf", "-inf", "1e30", "-2.5"})
        text += detail::message("; y", text.size(), " = a*0 + ", op, "(full((2), ", value, ").cast(", dtype, "))");
    check_equal(text, "", {}, false);
  }
}
TEST_F(OpenCl, BasicOpsOfIntegersAreExact) {
  for (const char* dtype : {"i8", "u16", "i32", "u64"})
    check_equal(detail::message("a: ", dtype, "[300]; b: ", dtype,
                                "[300]; c = a*b; d = a // b; e = a % b; f = a << b; g = a >> b; "
                                "h = a < b; i = (a ^ b) - a; j = a.cast(f32)"),
                "PARALLEL 0");
}

// All of f16, there and back: what the helpers make of bits.
TEST_F(OpenCl, EveryHalf) {
  std::vector<std::uint16_t> bits(65536);
  for (std::size_t k = 0; k < bits.size(); ++k) bits[k] = static_cast<std::uint16_t>(k);
  const Buffer halves = Buffer::fromCPU(bits.data(), 65536, dtypes::float16);
  const LazyOp ast = parse_kernel("a: f16[65536]; c = a*1; d = a.cast(f32)").kernel;
  const Buffer same = Buffer::allocate(65536, dtypes::float16), wide = Buffer::allocate(65536, dtypes::float32);
  compile(ast, opencl(), parse_opts("PARALLEL 0")).run({same, wide, halves});
  for (std::int64_t k = 0; k < 65536; ++k) {
    const Scalar a = halves[k];
    ASSERT_TRUE(a.is_nan() ? same[k].is_nan() : same[k] == a) << k;
    ASSERT_TRUE(a.is_nan() ? wide[k].is_nan() : wide[k] == a.cast(dtypes::float32)) << k;
  }
}

/// Floats at and next to the middle of two halves, around every exponent.
std::vector<float> near_halves() {
  std::vector<float> out;
  for (int e = -30; e <= 17; ++e)
    for (int m = 0; m < 64; ++m) {
      const float middle = std::ldexp(1.0F + static_cast<float>(m * 66 + 1) / 2048.0F, e);
      for (const float x : {middle, std::nextafter(middle, 0.0F), std::nextafter(middle, 1e9F)}) {
        out.push_back(x);
        out.push_back(-x);
      }
    }
  return out;
}

TEST_F(OpenCl, HalvesAreRoundedToNearestEven) {
  const std::vector<float> in = near_halves();
  const auto n = std::ssize(in);
  const LazyOp ast = parse_kernel(detail::message("a: f32[", n, "]; c = a.cast(f16)")).kernel;
  const Buffer out = Buffer::allocate(n, dtypes::float16);
  compile(ast, opencl(), parse_opts("PARALLEL 0")).run({out, Buffer::fromCPU(in)});
  for (std::int64_t k = 0; k < n; ++k)
    ASSERT_EQ(out[k], Scalar(in[static_cast<std::size_t>(k)]).cast(dtypes::float16)) << in[static_cast<std::size_t>(k)];
}

TEST_F(OpenCl, ScratchMemory) {
  const std::string text = "a: f32[4,32]; b: f32[32,32]; c = a @ b";
  check_equal(text, "SPLIT 1 32, PARALLEL 0, STAGE 0 2", {},
              false);  // 4,096 bytes an instance, all that the target has
}
// A kernel that was compiled for another target reaches the device without the limit of the device's own target.
TEST_F(OpenCl, ScratchMemoryHasALimit) {
  const LazyOp ast = parse_kernel("a: f32[4,520]; b: f32[520,520]; c = a @ b").kernel;
  Target roomy = opencl().target();
  roomy.scratch_bytes = std::int64_t{1} << 21;
  const Kernel kernel = compile_kernel(ast, roomy, parse_opts("SPLIT 1 520, PARALLEL 0, STAGE 0 2"));
  EXPECT_TRUE(has(error_of(ErrorKind::budget, [&] { opencl().compile(kernel); }),
                  "has 1081600 bytes of scratch memory an instance, more than 1048576"));
  EXPECT_TRUE(has(
      error_of(ErrorKind::domain, [&] { compile(ast, opencl(), parse_opts("SPLIT 1 520, PARALLEL 0, STAGE 0 2")); }),
      "a tile of (520, 520) elements is larger than 4096 bytes"));
}

TEST_F(OpenCl, ProgramsCheckNumbers) {
  const CompiledKernel k = compile(parse_kernel("n: 1..9; a: f32[n]; c = a*2").kernel, opencl());
  const std::array<void*, 1> one{};
  const std::array<void*, 2> two{};
  const std::array<std::int64_t, 1> value{1};
  EXPECT_TRUE(has(error_of(ErrorKind::shape, [&] { k.program().run(one, value); }), "not 1 and 1"));
  error_of(ErrorKind::shape, [&] { k.program().run(two, {}); });
}

TEST_F(OpenCl, CompilersSayWhatTheyDoNotLike) {
  const OpenClLibrary& library = OpenClLibrary::shared();
  EXPECT_NE(library.device_name(), "");
  const auto refused = [&](const char* source, const char* name) {
    return error_of(ErrorKind::undefined, [&] { library.build(source, name); });
  };
  const std::string text = refused("__kernel void k(__global int* a) { a[0] = unheard_of; }", "k");
  EXPECT_TRUE(has(text, "clBuildProgram: CL_BUILD_PROGRAM_FAILURE")) << text;
  EXPECT_TRUE(has(text, "unheard_of")) << text;
  const std::string other = refused("__kernel void k(__global int* a) { a[0] = 1; }", "other");
  EXPECT_TRUE(has(other, "clCreateKernel: CL_INVALID_KERNEL_NAME")) << other;
  // A kernel that takes more than it is given.
  std::int32_t memory = 0;
  const OpenClMemory one{&memory, sizeof(memory), true};
  const auto program = library.build("__kernel void k(__global int* a, int b) { a[0] = b; }", "k");
  const std::string missing = error_of(ErrorKind::undefined, [&] { program->run({&one, 1}, {}, 1, 1); });
  EXPECT_TRUE(has(missing, "clEnqueueNDRangeKernel: CL_INVALID_KERNEL_ARGS")) << missing;
  const OpenClInteger seven{7, false};
  program->run({&one, 1}, {&seven, 1}, 1, 1);
  EXPECT_EQ(memory, 7);
}

TEST_F(OpenCl, ALoaderThatIsMissing) {
  const std::string text = error_of(ErrorKind::undefined, [] { OpenClLibrary::open("libNoOpenCL.so.7"); });
  EXPECT_TRUE(has(text, "libNoOpenCL.so.7")) << text;
  EXPECT_TRUE(has(text, OpenClLibrary::remedy().text())) << text;
  EXPECT_TRUE(has(text, "apt-get install ocl-icd-libopencl1 pocl-opencl-icd")) << text;
  const std::string other = error_of(ErrorKind::undefined, [] { OpenClLibrary::open("libm.so.6"); });
  EXPECT_TRUE(has(other, "clGetPlatformIDs")) << other;
}

TEST_F(OpenCl, PlatformsHaveTheDeviceThatIsUsed) {
  bool is_there = false;
  for (const OpenClPlatform& platform : OpenClLibrary::platforms()) {
    EXPECT_NE(platform.name, "");
    EXPECT_TRUE(platform.version.starts_with("OpenCL ")) << platform.version;
    for (const std::string& device : platform.devices)
      is_there = is_there || device == OpenClLibrary::shared().device_name();
  }
  EXPECT_TRUE(is_there);
}

TEST(OpenClDevice, IsNeverTheDefault) {
  EXPECT_NE(&Device::default_device(), &opencl());
  EXPECT_TRUE(opencl().target().instances);
}

TEST_F(OpenClThread, OneProgramFromMany) {
  const CompiledKernel k =
      compile(parse_kernel("n: 1..5000; a: i32[n]; b: i32; c = a*n + b").kernel, opencl(), parse_opts("PARALLEL 0"));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&k, t] {
      for (int turn = 0; turn < 25; ++turn) {
        const std::int64_t n = 100 * (t + 1) + turn;
        const Buffer a = Buffer::fromCPU(std::vector<int>(static_cast<std::size_t>(n), t + 2)),
                     b = Buffer::fromCPU(std::vector<int>{turn}), c = Buffer::allocate(n, dtypes::int32);
        k.run({c, a, b}, {{"n", n}});
        for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(c[i].as_int(), (t + 2) * n + turn);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace strata
