// Devices by name, and compiled kernels: what run() checks, threads, reductions in parts, stores past the caches.
#include "strata/runtime/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "strata/ops/kernel_text.h"
#include "strata/runtime/tbb_executor.h"
#include "tests/codegen/kernels.h"

namespace strata {
namespace {

/// The devices that run code, of those that this build and machine have.
std::vector<const Device*> running_devices() {
  std::vector<const Device*> out;
  for (const char* name : {"INTERP", "LLVM", "CLANG"})
    if (Device::get(name).missing().empty()) out.push_back(&Device::get(name));
  return out;
}

CompiledKernel compiled(std::string_view text, const Device& device, std::string_view opts) {
  return compile(parse_kernel(text).kernel, device, parse_opts(opts));
}

Buffer counted(std::int64_t size, DType dtype = dtypes::int32) {
  Buffer out = Buffer::allocate(size, dtype);
  auto* at = static_cast<std::byte*>(out.data());
  for (std::int64_t k = 0; k < size; ++k, at += dtype.itemsize()) store_scalar(Scalar::of(dtype, k % 1013), at);
  return out;
}

TEST(Devices, AreFoundByName) {
  for (const Device* d : Device::all()) EXPECT_EQ(&Device::get(d->name()), d);
  EXPECT_NE(complaint([] { Device::get("llvm"); }).find("there is no device \"llvm\""), std::string::npos);
  EXPECT_TRUE(Device::default_device().missing().empty());
#if STRATA_HAS_LLVM
  EXPECT_EQ(Device::get("LLVM").missing(), "");
#endif
}

TEST(CompiledKernels, CheckWhatTheyAreGiven) {
  const std::string text = "n: 1..8; a: f32[n]; y = a + 1.0";
  for (const Device* device : running_devices()) {
    const CompiledKernel k = compile(parse_kernel(text).kernel, *device);
    const Buffer out = Buffer::allocate(8, dtypes::float32), in = counted(4, dtypes::float32);
    const auto why = [&](std::vector<Buffer> buffers, NamedValues values) {
      return complaint([&] { k.run(buffers, values); });
    };
    const std::pair<std::string, std::int64_t> four[] = {{"n", 4}}, nine[] = {{"n", 9}}, five[] = {{"n", 5}};
    EXPECT_NE(why({out}, four).find("takes 2 buffers, not 1"), std::string::npos);
    EXPECT_EQ(why({out, counted(4)}, four), "[run] buffer 1 of E_n is of f32, not of i32");
    EXPECT_NE(why({out, in}, five).find("buffer 1 of E_n has 4 elements, fewer than 5"), std::string::npos);
    EXPECT_NE(why({out, in}, nine).find("n = 9 is outside of its bounds [1, 8]"), std::string::npos);
    EXPECT_NE(why({out, in}, {}).find("the variable n of E_n has no value"), std::string::npos);
    float constants[8] = {};
    const Buffer fixed = Buffer::from_pointer(constants, 8, dtypes::float32, {}, true);
    EXPECT_EQ(why({fixed, in}, four), "[run] buffer 0 of E_n is written, and its memory is read-only");
    k.run(std::vector{out, fixed}, four);
    k.run(std::vector{out, in}, four);
    EXPECT_EQ(out[3].as_double(), 4.0) << device->name();
  }
}

// The parallel loop, cut for threads; what is left over is done once.
TEST(CompiledKernels, ThreadsShareTheParallelLoop) {
  const std::unique_ptr<Executor> four = make_executor(4);
  for (const Device* device : running_devices()) {
    const CompiledKernel k = compiled("a: i32[1003]; y = a * 2", *device, "UPCAST 0 4, PARALLEL 0");
    const Buffer out = Buffer::allocate(1003, dtypes::int32), in = counted(1003);
    k.run(std::vector{out, in}, {}, four.get());
    for (std::int64_t j = 0; j < 1003; ++j)
      ASSERT_EQ(out[j].as_int(), 2 * in[j].as_int()) << device->name() << " " << j;
  }
}

/// Two threads that are equally fast: each has a clock that an iteration moves by 1, and goes on when the other is not
/// behind.
class EqualThreads final : public Executor {
 public:
  int concurrency() const override { return 2; }
  /// The iterations [begin, end) on the thread that calls.
  void spend(std::int64_t begin, std::int64_t end) {
    std::unique_lock lock(mutex_);
    for (std::int64_t k = begin; k < end; ++k) ++times[k];
    iterations[me_] += end - begin;
    clock_[me_] += end - begin;
    moved_.notify_all();
    moved_.wait(lock, [&] { return clock_[me_] <= clock_[1 - me_]; });
  }
  std::map<std::int64_t, int> times;                // how often each iteration was done
  std::array<std::int64_t, 2> iterations = {0, 0};  // by thread

 private:
  void run(std::int64_t begin, std::int64_t end, std::int64_t, const Body& body) override {
    clock_ = {0, 0};
    const auto work = [&](std::size_t which) {
      me_ = which;
      body(begin + static_cast<std::int64_t>(which), which == 0 ? begin + 1 : end);
      const std::lock_guard lock(mutex_);
      clock_[which] = std::numeric_limits<std::int64_t>::max();
      moved_.notify_all();
    };
    std::thread other(work, 1U);
    work(0);
    other.join();
  }
  static inline thread_local std::size_t me_ = 0;
  std::mutex mutex_;
  std::condition_variable moved_;
  std::array<std::int64_t, 2> clock_ = {0, 0};
};

/// Does nothing in each iteration of a parallel loop but to say so.
class IterationsProgram final : public Program {
 public:
  explicit IterationsProgram(EqualThreads& threads) : threads_(threads) {}
  const std::string& name() const override { return name_; }
  void run(std::span<void* const>, std::span<const std::int64_t> values) override {
    threads_.spend(values[0], values[1]);
  }

 private:
  EqualThreads& threads_;
  std::string name_ = "iterations";
};

// A product of 1024 x 1024 has 32 iterations. In chunks of 1, 1, 2, 2, ... one thread would do more of them than the
// other.
TEST(CompiledKernelThreads, LongRunsEndAtTheSameTime) {
  for (const std::int64_t size : {1024, 1088, 1504, 2048, 3000, 5000}) {
    EqualThreads two;
    const CompiledKernel k(compile_kernel(kernels::matmul(size, size, size), Device::get("LLVM").target()),
                           std::make_shared<IterationsProgram>(two));
    ASSERT_EQ(k.kernel().variables.size(), 2U);
    std::array<std::int64_t, 2> values = {0, 0};
    k.replay({}, values, &two);
    const std::int64_t count = k.kernel().parallel->value();
    EXPECT_EQ(std::ssize(two.times), count);
    for (const auto& [iteration, times] : two.times) EXPECT_EQ(times, 1) << iteration;
    EXPECT_LE(std::max(two.iterations[0], two.iterations[1]), (count + 1) / 2 + count / 50) << size;
  }
}

// What is packed outside of the parallel loop is packed by each thread, for itself.
TEST(CompiledKernels, ThreadsPackForThemselves) {
  const std::string_view text =
      "a: f32[24,40]; w: f32[64,24]; b = (w.reshape(64,1,24) * a.permute(1,0).reshape(1,40,24)).sum(2)";
  const std::string_view opts = "LANES 0 16, UPCAST 0 2, SPLIT 0 2, UPCAST 1 4, STAGE 0 2, STAGE 1 1, PARALLEL 1";
  std::vector<float> a(960), w(1536);  // 24 x 40, 64 x 24
  for (std::size_t k = 0; k < a.size(); ++k) a[k] = static_cast<float>(k * 5 % 13) - 6;
  for (std::size_t k = 0; k < w.size(); ++k) w[k] = static_cast<float>(k * 7 % 11) - 5;
  for (const Device* device : running_devices()) {
    const CompiledKernel k = compile(parse_kernel(text).kernel, *device, parse_opts(opts));
    for (const int threads : {1, 2, 4}) {
      const Buffer out = Buffer::allocate(2560, dtypes::float32);
      k.run({{out, Buffer::fromCPU(a), Buffer::fromCPU(w)}}, {}, make_executor(threads).get());
      for (std::size_t row = 0; row < 64; ++row)
        for (std::size_t column = 0; column < 40; ++column) {
          float sum = 0;
          for (std::size_t j = 0; j < 24; ++j) sum += w[row * 24 + j] * a[j * 40 + column];
          ASSERT_EQ(static_cast<const float*>(out.data())[row * 40 + column], sum) << device->name() << " " << threads;
        }
    }
  }
}

TEST(CompiledKernels, ThreadsShareReductionsInParts) {
  const std::unique_ptr<Executor> four = make_executor(4);
  for (const Device* device : running_devices()) {
    const CompiledKernel k = compiled("a: i32[3,10007]; y = a.sum(1); z = a.max(1) + 1", *device, "SPLITREDUCE 2 8");
    ASSERT_EQ(k.kernel().before.size(), 1U);
    const Buffer sum = Buffer::allocate(3, dtypes::int32), max = Buffer::allocate(3, dtypes::int32);
    const Buffer in = counted(30021);
    k.run(std::vector{sum, max, in}, {}, four.get());
    for (std::int64_t row = 0; row < 3; ++row) {
      std::int64_t total = 0, largest = 0;
      for (std::int64_t j = 0; j < 10007; ++j) {
        total += in[row * 10007 + j].as_int();
        largest = std::max(largest, in[row * 10007 + j].as_int());
      }
      EXPECT_EQ(sum[row].as_int(), total) << device->name();
      EXPECT_EQ(max[row].as_int(), largest + 1) << device->name();
    }
    EXPECT_NE(complaint([&] { k.run(std::vector{sum, max}); }).find("takes 3 buffers, not 2"), std::string::npos);
  }
}

// Whether a buffer begins where a vector may go past the caches or not, the elements are the same, and none beyond
// them.
TEST(CompiledKernels, StreamAtAnyAddress) {
  constexpr std::size_t kSize = 131;
  for (const Device* device : running_devices()) {
    for (const char* opts : {"LANES 0 4, STREAM 0", "LANES 0 8, UPCAST 0 2, STREAM 0", "LANES 0 16, STREAM 0"}) {
      const CompiledKernel k = compiled("a: f32[131]; y = a * 2.0", *device, opts);
      std::vector<float> in(kSize);
      std::iota(in.begin(), in.end(), 0.0F);
      for (const std::size_t shift : {0U, 1U, 4U, 8U}) {
        const Buffer memory = Buffer::allocate(kSize + 32, dtypes::float32);
        std::memset(memory.data(), 0, (kSize + 32) * sizeof(float));
        auto* const out = static_cast<float*>(memory.data()) + shift;
        void* const buffers[] = {out, in.data()};
        k.program().run(buffers, {});
        for (std::size_t j = 0; j < kSize; ++j) ASSERT_EQ(out[j], 2 * in[j]) << device->name() << " " << opts;
        for (std::size_t j = kSize; j < kSize + 16; ++j) ASSERT_EQ(out[j], 0.0F);
      }
    }
  }
}

// What is lost where a product goes into a sum unrounded, or a sum is made in parts, is not where kernels are
// deterministic.
TEST(CompiledKernels, DeterministicOnEveryDevice) {
  const ScopedFlag deterministic(flags::DETERMINISTIC, true);
  const Buffer a = Buffer::allocate(4096, dtypes::float32), c = Buffer::allocate(4096, dtypes::float32),
               out = Buffer::allocate(4096, dtypes::float32);
  auto* const in = static_cast<float*>(a.data());
  for (int j = 0; j < 4096; ++j) {
    in[j] = 1.0F / static_cast<float>(j + 1);
    const volatile float square = in[j] * in[j];
    static_cast<float*>(c.data())[j] = -square;
  }
  const CompiledKernel oracle = compile(parse_kernel("a: f32[4096]; y = a.sum()").kernel, Device::get("INTERP"));
  oracle.run(std::vector{out, a});
  const double expected = out[0].as_double();
  for (const Device* device : running_devices()) {
    const CompiledKernel rest = compile(parse_kernel("a: f32[4096]; c: f32[4096]; y = a*a + c").kernel, *device);
    const CompiledKernel sum = compile(parse_kernel("a: f32[4096]; y = a.sum()").kernel, *device);
    EXPECT_FALSE(rest.kernel().contract);
    rest.run(std::vector{out, a, c});
    for (std::int64_t j = 0; j < 4096; ++j) ASSERT_EQ(out[j].as_double(), 0) << device->name() << " " << j;
    sum.run(std::vector{out, a});
    EXPECT_EQ(out[0].as_double(), expected) << device->name();
  }
}

TEST(CompiledKernels, StreamsOfEveryWidth) {
  for (const char* type : {"f16", "bf16", "i8", "u16", "i64", "f64"})
    for (const Device* device : running_devices())
      for (const char* opts : {"LANES 0 2, STREAM 0", "LANES 0 3, STREAM 0", "LANES 0 8, STREAM 0",
                               "LANES 0 16, STREAM 0", "LANES 0 32, STREAM 0"}) {
        const CompiledKernel k = compiled(detail::message("a: ", type, "[64]; y = a + a"), *device, opts);
        const Buffer out = Buffer::allocate(64, dtypes::parse(type));
        k.run(std::vector{out, counted(64, dtypes::parse(type))});
        for (std::int64_t j = 0; j < 64; ++j)
          ASSERT_EQ(out[j].as_double(), static_cast<double>(2 * j)) << device->name() << " " << type << " " << opts;
      }
}

// What a PAD makes of an index holds inside of the axis; where that is padded for its loops, the tile is not read
// beyond itself.
TEST(CompiledKernels, TilesBelowPadsOfPaddedAxes) {
  for (const Device* device : running_devices())
    for (const char* opts : {"PADTO 0 4, STAGE 0 1, SPLIT 0 2", "PADTO 0 4, SPLIT 0 2, STAGE 0 1", ""}) {
      const CompiledKernel k = compiled("e: f32[2,1]; y = e.pad((0:0,1:0)).shrink((0:2,1:2)) * 3", *device, opts);
      const Buffer out = Buffer::allocate(2, dtypes::float32);
      k.run(std::vector{out, counted(2, dtypes::float32)});
      EXPECT_EQ(out[0].as_double(), 0) << device->name() << " " << opts;
      EXPECT_EQ(out[1].as_double(), 3) << device->name() << " " << opts;
    }
}

TEST(CompiledKernels, VectorsAreReadBackwards) {
  for (const Device* device : running_devices()) {
    const CompiledKernel k = compiled("a: i32[3,37]; y = a.flip(1).pad(0:0,3:2)", *device, "LANES 1 8, UPCAST 1 2");
    const Buffer out = Buffer::allocate(126, dtypes::int32), in = counted(111);
    k.run(std::vector{out, in});
    for (std::int64_t row = 0; row < 3; ++row)
      for (std::int64_t j = 0; j < 42; ++j) {
        const bool inside = j >= 3 && j < 40;
        ASSERT_EQ(out[row * 42 + j].as_int(), inside ? in[row * 37 + 39 - j].as_int() : 0)
            << device->name() << " " << row << " " << j;
      }
  }
}

// Constants that are 0 in some lanes: LLVM must not take their division for one that cannot be. (Smaller kernels are
// compiled as they stand.)
TEST(CompiledKernels, DivisorsAreZeroWhereMasked) {
  for (const Device* device : running_devices())
    for (const char* dtype : {"i16", "i32", "u32", "u64"})
      for (const std::int64_t is_rest : {0, 1}) {
        const CompiledKernel k = compiled(detail::message("a: ", dtype, "[2048,8]; y = a ", is_rest != 0 ? "%" : "//",
                                                          " full((2046,6), 7).cast(", dtype, ").pad(2:0,0:2)"),
                                          *device, "LANES 1 8");
        const Buffer out = Buffer::allocate(16384, dtypes::parse(dtype));
        const Buffer in = counted(16384, dtypes::parse(dtype));
        k.run(std::vector{out, in});
        for (std::int64_t j = 0; j < 16384; ++j) {
          const std::int64_t a = j % 1013, result = is_rest != 0 ? a % 7 : a / 7;
          ASSERT_EQ(out[j].as_int(), j >= 16 && j % 8 < 6 ? result : 0) << device->name() << " " << dtype << " " << j;
        }
      }
}

// Below 0, made unsigned, then a float: clang's vectors of scalar code have been those of another number.
TEST(CompiledKernels, UnsignedGoesToFloats) {
  for (const Device* device : running_devices())
    for (const char* from : {"i8", "i16", "i32"})
      for (const char* by : {"u16", "u32", "u64"})
        for (const char* to : {"f32", "f64"}) {
          const CompiledKernel k =
              compiled(detail::message("a: ", from, "[8]; y = ", to, "(", by, "(a)) + -2.0"), *device, "");
          Buffer in = Buffer::allocate(8, dtypes::parse(from));
          for (std::int64_t j = 0; j < 8; ++j)
            store_scalar(Scalar::of(in.dtype(), j * 5 - 20),
                         static_cast<std::byte*>(in.data()) + static_cast<std::size_t>(j) * in.dtype().itemsize());
          const Buffer out = Buffer::allocate(8, dtypes::parse(to));
          k.run(std::vector{out, in});
          for (std::int64_t j = 0; j < 8; ++j) {
            const Scalar expected = in[j].cast(dtypes::parse(by)).cast(out.dtype());
            ASSERT_EQ(out[j].as_double(), Scalar::of(out.dtype(), expected.as_double() - 2).as_double())
                << device->name() << " " << from << " " << by << " " << to << " " << j;
          }
        }
}

// Choices by an absolute value, which compilers have taken for choices by the value.
void check_absolute(const Device& device, const std::string& text, const char* opts, DType dtype) {
  const CompiledKernel k = compiled(text, device, opts);
  Buffer in = Buffer::allocate(4096, dtype);
  for (std::int64_t j = 0; j < 4096; ++j)
    store_scalar(Scalar::of(dtype, j % 9 - 4),
                 static_cast<std::byte*>(in.data()) + static_cast<std::size_t>(j) * dtype.itemsize());
  const Buffer out = Buffer::allocate(4096, dtype);
  k.run(std::vector{out, in});
  for (std::int64_t j = 0; j < 4096; ++j)
    ASSERT_EQ(out[j].as_double(), static_cast<double>(std::abs(j % 9 - 4)))
        << device.name() << " '" << opts << "' " << text << " " << j;
}
TEST(CompiledKernels, AbsoluteValuesAreNotNegative) {
  const std::array<const char*, 3> f32 = {"f32", "i32", "2147483647"}, f64 = {"f64", "i64", "9223372036854775807"};
  for (const auto& [real, bits, most] : {f32, f64})
    for (const std::string& size : {std::string("abs(x)"), std::string("where(x <= 0, 0 - x, x)"),
                                    detail::message("(x.bitcast(", bits, ") & ", most, ").bitcast(", real, ")")})
      for (const std::string& choice :
           {detail::message("max(a, -iota(1).cast(", real, "))"), std::string("where(a != a, a, where(a > 0, a, 0))"),
            std::string("where(a == a, where(a > 0, a, 0), a)")})
        for (const char* opts : {"", "LANES 0 4", "LANES 0 8, UPCAST 0 2"})
          for (const Device* device : running_devices())
            check_absolute(*device, detail::message("x: ", real, "[4096]; a = ", size, "; y = ", choice), opts,
                           dtypes::parse(real));
}

// What keeps absolute values as they are reaches no further: what is below them is rounded as it is written.
template <class T>
void check_rounding(const Device& device, const char* opts) {
  const DType dtype = dtype_of<T>();
  const CompiledKernel k = compiled(detail::message("x: ", dtype.name(), "[64]; y = abs(1/(x + 1)*x)"), device, opts);
  const Buffer out = Buffer::allocate(64, dtype), x = counted(64, dtype);
  k.run(std::vector{out, x});
  for (std::int64_t j = 0; j < 64; ++j) {
    const T reciprocal = T(1) / static_cast<T>(j + 1);
    ASSERT_EQ(out[j].as_double(), static_cast<T>(reciprocal * static_cast<T>(j)))
        << device.name() << " " << opts << " " << j;
  }
}

TEST(CompiledKernels, AbsoluteValuesRoundAsWritten) {
  for (const char* opts : {"", "LANES 0 8"})
    for (const Device* device : running_devices()) {
      check_rounding<float>(*device, opts);
      check_rounding<double>(*device, opts);
    }
}

// Integers that have few bits set and are beyond f16, which LLVM takes for exact there.
TEST(CompiledKernels, LargeIntegersAreInfiniteInF16) {
  for (const char* integer : {"i32", "u32", "i64", "u64"})
    for (const char* opts : {"", "LANES 0 8"})
      for (const Device* device : running_devices()) {
        const CompiledKernel k =
            compiled(detail::message("x: ", integer, "[64]; y = ((x & 1)*65536).cast(f16).cast(f32)"), *device, opts);
        const Buffer out = Buffer::allocate(64, dtypes::float32);
        k.run(std::vector{out, counted(64, dtypes::parse(integer))});
        for (std::int64_t j = 0; j < 64; ++j)
          ASSERT_EQ(out[j].as_double(), j % 2 == 0 ? 0 : std::numeric_limits<double>::infinity())
              << device->name() << " " << integer << " " << opts << " " << j;
      }
}

// Quotients of bytes whose lanes are moved and multiplied, which LLVM's own division loses.
TEST(CompiledKernels, BytesAreDividedBackwards) {
  for (const Device* device : running_devices())
    for (const char* opts : {"LANES 0 2", "LANES 0 8", "LANES 0 8, UPCAST 0 2", ""}) {
      const CompiledKernel k = compiled("a: u8[8192]; b: u8[8192]; y = (a.flip(0) % 7 * b).cast(i32)", *device, opts);
      const Buffer out = Buffer::allocate(8192, dtypes::int32);
      const Buffer a = counted(8192, dtypes::uint8), b = counted(8192, dtypes::uint8);
      k.run(std::vector{out, a, b});
      for (std::int64_t j = 0; j < 8192; ++j)
        ASSERT_EQ(out[j].as_int(), a[8191 - j].as_int() % 7 * b[j].as_int() % 256)
            << device->name() << " " << opts << " " << j;
    }
}

}  // namespace
}  // namespace strata
