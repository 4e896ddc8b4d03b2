// The LLVM plugin: what it compiles gives what `interpret` gives; what goes wrong comes back as an Error. A plugin that
// was not built is said in the output, and its tests are left out.
#include "strata/runtime/llvm_library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "strata/base/check.h"
#include "strata/ir/uop.h"
#include "strata/render/llvm.h"
#include "strata/runtime/posix_io.h"
#include "tests/base/errors.h"
#include "tests/base/files.h"
#include "tests/render/random_list.h"

namespace strata {
namespace {

using namespace dtypes;
using test::RandomKernel;

using Entry = void (*)(void* const* buffers, const long long* values);

constexpr std::uint64_t kKernels = 150;

/// Calls a function of the leak checker, where there is one.
void tell_leak_checker(const char* function) {
  if (void* const found = dlsym(RTLD_DEFAULT, function)) reinterpret_cast<void (*)()>(found)();
}

/// The plugin, opened once; null where it was not built.
const LlvmLibrary* plugin() {
  static const std::shared_ptr<const LlvmLibrary> opened = []() -> std::shared_ptr<const LlvmLibrary> {
    try {
      return LlvmLibrary::open();
    } catch (const Error& e) {
      std::cout << "ABSENT: LLVM, its tests are left out: " << e.what() << "\n";
      return nullptr;
    }
  }();
  return opened.get();
}

class LlvmPlugin : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(plugin() != nullptr || !STRATA_HAS_LLVM) << "the plugin was built and is not found";
    if (plugin() == nullptr) GTEST_SKIP() << "this build has no LLVM";
  }
};

/// A kernel and its memory.
using Buffers = std::vector<std::vector<std::byte>>;

void run(const LlvmModule& module, Buffers& buffers, const std::vector<long long>& values) {
  std::vector<void*> at;
  for (auto& b : buffers) at.push_back(b.data());
  module.function<Entry>("k_entry")(at.data(), values.data());
}

LlvmModule build(const UOpGraph& list, const LlvmOptions& options = {.exact_mulacc = true},
                 const LlvmCompileOptions& how = {}) {
  return plugin()->load(plugin()->compile(uops_to_llvm("k", list, options), how));
}

::testing::AssertionResult agree(DType dtype, const std::vector<std::byte>& got, const std::vector<std::byte>& expected,
                                 std::uint64_t ulps = 0) {
  for (std::size_t at = 0; at < got.size(); at += dtype.itemsize()) {
    const Scalar a = load_scalar(dtype, &got[at]), e = load_scalar(dtype, &expected[at]);
    if (dtype.is_float() ? ulp_distance(a, e) > ulps : a != e)
      return ::testing::AssertionFailure()
             << "element " << at / dtype.itemsize() << " is " << a.text() << ", not " << e.text();
  }
  return ::testing::AssertionSuccess();
}

void check_random(std::uint64_t seed, int level) {
  RandomKernel kernel = test::random_kernel(seed);
  std::vector<Memory> memory;
  std::vector<long long> values;
  Buffers buffers;
  for (const auto& b : kernel.buffers) buffers.push_back(b.data);
  for (auto& b : kernel.buffers) memory.push_back({b.data.data(), b.size});
  for (const auto& [name, v] : kernel.values) values.push_back(v);
  interpret(kernel.list, memory, kernel.values);
  run(build(kernel.list, {.exact_mulacc = true}, {.level = level}), buffers, values);
  for (std::size_t slot = 0; slot < buffers.size(); ++slot)
    EXPECT_TRUE(agree(kernel.buffers[slot].dtype, buffers[slot], kernel.buffers[slot].data))
        << "seed " << seed << ", data" << slot << "\n"
        << kernel.list.text() << uops_to_llvm("k", kernel.list);
}

TEST_F(LlvmPlugin, RandomListsGiveWhatInterpretGives) {
  const char* const more = std::getenv("STRATA_TEST_KERNELS");
  const std::uint64_t count = more ? std::strtoull(more, nullptr, 10) : kKernels;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    check_random(seed, seed % 8 == 0 ? static_cast<int>(seed / 8 % 2) : 2);
    if (HasFailure()) return;
  }
}

// --- by hand: memory, blocks, conversions ---

struct Bench {
  UOpGraph g;
  std::vector<DType> dtypes{};
  Buffers buffers{};
  std::vector<std::pair<std::string, std::int64_t>> values{};

  UOp buffer(DType dtype, std::size_t size) {
    dtypes.push_back(dtype);
    buffers.emplace_back(size * dtype.itemsize());
    const int slot = static_cast<int>(buffers.size()) - 1;
    return g.add(UOps::DEFINE_GLOBAL, dtype.pointer(), {}, Global{slot, "data" + std::to_string(slot)});
  }
  UOp buffer(DType dtype, const std::vector<Scalar>& content) {
    const UOp out = buffer(dtype, content.size());
    for (std::size_t k = 0; k < content.size(); ++k)
      store_scalar(content[k].cast(dtype), &buffers.back()[k * dtype.itemsize()]);
    return out;
  }
  UOp fresh(UOps op, DType dtype, std::initializer_list<UOp> src) {
    const UOpArg nothing;
    return g.add(op, dtype, src, nothing, false);
  }
  UOp number(std::int64_t v) { return g.constant(int32, v); }
  UOp loop(UOp begin, UOp end) { return fresh(UOps::LOOP, begin.dtype(), {begin, end}); }
  UOp loop(std::int64_t end) { return loop(number(0), number(end)); }
  void end(UOp loop) { g.add(loop.op() == UOps::IF ? UOps::ENDIF : UOps::ENDLOOP, none, {loop}); }
  UOp acc(UOp begin) { return fresh(UOps::DEFINE_ACC, begin.dtype(), {begin}); }
  void assign(UOp acc, UOp v) { fresh(UOps::PHI, acc.dtype(), {acc, v}); }
  UOp load(UOp from, UOp at, int lanes = 1) { return fresh(UOps::LOAD, from.dtype().pointee().vec(lanes), {from, at}); }
  void store(UOp to, UOp at, UOp v) { fresh(UOps::STORE, none, {to, at, v}); }
  UOp variable(const std::string& name, std::int64_t value) {
    values.emplace_back(name, value);
    return g.add(UOps::DEFINE_VAR, int32, {}, Variable(name, -100, 100));
  }

  /// Compiles, runs and compares all buffers.
  void check(const LlvmOptions& options = {.exact_mulacc = true}, std::uint64_t ulps = 0) {
    Buffers expected = buffers;
    std::vector<Memory> memory;
    for (std::size_t k = 0; k < buffers.size(); ++k)
      memory.push_back({expected[k].data(), static_cast<std::int64_t>(expected[k].size() / dtypes[k].itemsize())});
    interpret(g, memory, values);
    std::vector<long long> passed;
    for (const auto& [name, v] : values) passed.push_back(v);
    run(build(g, options), buffers, passed);
    for (std::size_t k = 0; k < buffers.size(); ++k)
      EXPECT_TRUE(agree(dtypes[k], buffers[k], expected[k], ulps)) << "data" << k << "\n" << g.text();
  }
};

TEST_F(LlvmPlugin, NestedLoopsCarryAccumulators) {
  for (const std::int64_t n : {0, 1, 3}) {
    Bench b;
    const UOp out = b.buffer(int64, 8), count = b.variable("n", n);
    const UOp total = b.acc(b.g.constant(int64, 5));
    const UOp i = b.loop(b.number(0), count);
    const UOp row = b.acc(b.g.constant(int64, 1));
    const UOp j = b.loop(b.number(-1), i);
    b.assign(row, b.g.alu(Ops::ADD, {b.g.alu(Ops::MUL, {row, row}), b.g.cast(j, int64)}));
    const UOp odd = b.fresh(UOps::IF, none, {b.g.alu(Ops::CMPLT, {j, b.number(1)})});
    b.assign(total, b.g.alu(Ops::ADD, {total, row}));
    b.end(odd);
    b.end(j);
    b.store(out, i, row);
    b.assign(total, b.g.alu(Ops::XOR, {total, row}));
    b.end(i);
    b.store(out, b.number(7), total);
    b.check();
  }
}

TEST_F(LlvmPlugin, CountersOfEveryInteger) {
  for (const DType dtype : {int8, int16, int32, int64, uint8, uint16, uint32, uint64}) {
    Bench b;
    const UOp out = b.buffer(int32, 250), in = b.buffer(uint8, 250);
    const UOp i = b.loop(b.g.constant(dtype, 3), b.g.constant(dtype, dtype == int8 ? 120 : 250));
    b.store(out, i, b.g.alu(Ops::ADD, {b.g.cast(i, int32), b.g.cast(b.load(in, i), int32)}));
    b.end(i);
    const UOp none_at_all = b.loop(b.g.constant(dtype, 5), b.g.constant(dtype, 5));
    b.store(out, none_at_all, b.number(9));
    b.end(none_at_all);
    b.check();
  }
}

TEST_F(LlvmPlugin, ScratchMemoryAndInstances) {
  Bench b;
  const UOp out = b.buffer(boolean, 24);
  const UOp scratch = b.g.add(UOps::DEFINE_LOCAL, boolean.pointer(), {}, Local{"temp0", 8});
  const UOp x = b.g.add(UOps::SPECIAL, int32, {}, Special{"gidx0", 0, 3});
  const UOp y = b.g.add(UOps::SPECIAL, int32, {}, Special{"gidx1", 1, 8});
  b.store(scratch, y, b.g.alu(Ops::CMPLT, {y, b.g.alu(Ops::MUL, {x, b.number(3)})}));
  const UOp at = b.g.alu(Ops::ADD, {b.g.alu(Ops::MUL, {x, b.number(8)}), y});
  b.store(out, at, b.load(scratch, y));
  b.check();
}

TEST_F(LlvmPlugin, GatesDoNotTouchMemory) {
  for (const DType dtype : {boolean, int8, float16, bfloat16, float32, float64}) {
    for (const int lanes : {1, 2, 3, 4, 8, 16}) {
      Bench b;
      const UOp in = b.buffer(dtype, std::vector<Scalar>(5, Scalar(1.5)));
      const UOp out = b.buffer(dtype, 21);
      const DType v = dtype.vec(lanes), gates = boolean.vec(lanes);
      const UOp i = b.loop(b.number(-1), b.number(7));
      std::vector<UOp> inside;
      for (int k = 0; k < lanes; ++k) {
        const UOp at = b.g.alu(Ops::ADD, {i, b.number(k)});
        const UOp least = b.g.alu(Ops::CMPLT, {b.number(-1), at});
        inside.push_back(b.g.alu(Ops::AND, {least, b.g.alu(Ops::CMPLT, {at, b.number(5)})}));
      }
      const UOp gate = lanes == 1 ? inside[0] : b.g.add(UOps::VECTORIZE, gates, inside);
      const UOp x = b.fresh(UOps::LOAD, v, {in, i, gate, b.g.constant(v, 0)});
      b.fresh(UOps::STORE, none, {out, i, x, gate});
      b.end(i);
      b.check();
    }
  }
}

/// What is hard to convert to one dtype or another.
std::vector<Scalar> hard_values() {
  std::vector<Scalar> out;
  for (const std::int64_t base : {0, 1, 127, 128, 255, 256, 257, 2047, 2049, 32767, 65504, 65519, 65520, 65535})
    for (const std::int64_t sign : {1, -1}) out.emplace_back(base * sign);
  for (int shift = 8; shift < 63; ++shift)
    for (const std::int64_t low : {-1, 0, 1})
      for (const std::int64_t half : {0, 1}) {
        const std::int64_t v = (std::int64_t{1} << shift) + (half << (shift - 8)) + (half << (shift / 2)) + low;
        out.emplace_back(v);
        out.emplace_back(-v);
      }
  for (const double v : {0.5,
                         -0.5,
                         1.5,
                         0.1,
                         1e-8,
                         6e-8,
                         2.98e-8,
                         3e-8,
                         1e-40,
                         9.2e-41,
                         4.6e-41,
                         1e-45,
                         1e-46,
                         1e300,
                         3.5e38,
                         3.3895e38,
                         3.4e38,
                         65519.99,
                         65520.0,
                         1.00390625,
                         1.005859375,
                         1.00390625000001,
                         1.0009765625,
                         1.00048828125,
                         1.000488281250001,
                         1.00048828124999})
    for (const double sign : {1.0, -1.0}) out.emplace_back(v * sign);
  using Limits = std::numeric_limits<double>;
  for (const double v :
       {-0.0, Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), Limits::max(), 0x1p63, 0x1p64})
    out.emplace_back(v);
  return out;
}

TEST_F(LlvmPlugin, EveryConversionOfHardValues) {
  const std::vector<Scalar> values = hard_values();
  for (const DType from : dtypes::all()) {
    for (const int lanes : {1, 8}) {
      Bench b;
      const std::size_t size = values.size() / 8 * 8;
      const UOp in =
          b.buffer(from, std::vector<Scalar>(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(size)));
      std::vector<UOp> outs;
      for (const DType to : dtypes::all()) outs.push_back(b.buffer(to, size));
      const UOp i = b.loop(static_cast<std::int64_t>(size) / lanes);
      const UOp at = b.g.alu(Ops::MUL, {i, b.number(lanes)});
      const UOp x = b.load(in, at, lanes);
      for (std::size_t k = 0; k < outs.size(); ++k) b.store(outs[k], at, b.g.cast(x, dtypes::all()[k]));
      b.end(i);
      b.check();
    }
  }
}

TEST_F(LlvmPlugin, EightBitIntegers) {
  for (const DType dtype : {int8, uint8}) {
    constexpr std::array kOps = {Ops::ADD, Ops::SUB, Ops::MUL, Ops::MAX, Ops::MIN,  Ops::SHL,
                                 Ops::SHR, Ops::AND, Ops::OR,  Ops::XOR, Ops::CMPLT};
    Bench b;
    std::vector<UOp> outs;
    for (std::size_t k = 0; k < kOps.size(); ++k)
      outs.push_back(b.buffer(kOps[k] == Ops::CMPLT ? boolean : dtype, 16384));
    const UOp i = b.loop(256), j = b.loop(64);
    const UOp at = b.g.alu(Ops::ADD, {b.g.alu(Ops::MUL, {i, b.number(64)}), j});
    const UOp x = b.g.cast(i, dtype), y = b.g.cast(b.g.alu(Ops::ADD, {i, b.g.alu(Ops::MUL, {j, b.number(5)})}), dtype);
    for (std::size_t k = 0; k < kOps.size(); ++k) b.store(outs[k], at, b.g.alu(kOps[k], {x, y}));
    b.end(j);
    b.end(i);
    b.check();
  }
}

TEST_F(LlvmPlugin, ContractedSumsAreWithinAnUlp) {
  for (const DType dtype : {float16, bfloat16, float32, float64}) {
    Bench b;
    std::vector<Scalar> content;
    for (int k = 0; k < 64; ++k) content.emplace_back(std::sin(k) * std::exp2(k % 9));
    const UOp in = b.buffer(dtype, content), out = b.buffer(dtype, 62);
    const UOp i = b.loop(62);
    const UOp next = b.g.alu(Ops::ADD, {i, b.number(1)});
    // All of one sign: a difference would magnify what the product's rounding loses.
    const UOp x = b.load(in, i), y = b.load(in, next);
    const UOp square = b.g.alu(Ops::MUL, {y, y});
    b.store(out, i, b.g.alu(Ops::MULACC, {x, x, square}));
    b.end(i);
    b.check({.contract = true}, 1);
  }
}

// --- what goes wrong ---

constexpr std::string_view kNothing = "define void @k_entry(ptr %b, ptr %v) { ret void }";

TEST_F(LlvmPlugin, ErrorsOfTheTextAreTexts) {
  const auto compile = [](std::string_view text) { plugin()->compile(text); };
  EXPECT_TRUE(has(
      error_of(ErrorKind::parse, [&] { compile("define void @f() {\n  %x = add i32 1, true\n  ret void\n}"); }), "2:"));
  EXPECT_TRUE(has(error_of(ErrorKind::parse,
                           [&] {
                             compile(
                                 "define i32 @f(i32 %x) { br label %a\na: br label %b\nb: %z = phi "
                                 "i32 [0, %a], [1, %a]\n ret i32 %z }");
                           }),
                  "PHI"));
  error_of(ErrorKind::parse, [&] { compile(std::string_view("\0\xff{", 3)); });
  EXPECT_TRUE(has(error_of(ErrorKind::undefined, [] { plugin()->compile(kNothing, {.cpu = "abacus"}); }), "abacus"));
  compile(kNothing);
}

/// What LLVM holds when it is stopped halfway is lost.
struct LeaksAreMeant {
  LeaksAreMeant() { tell_leak_checker("__lsan_disable"); }
  ~LeaksAreMeant() { tell_leak_checker("__lsan_enable"); }
  LeaksAreMeant(const LeaksAreMeant&) = delete;
  LeaksAreMeant& operator=(const LeaksAreMeant&) = delete;
};

/// Instruction selection stops the process where it has no instruction, unless it is kept from it.
TEST_F(LlvmPlugin, FatalErrorsAreTexts) {
  const LeaksAreMeant scope;
  const std::string text =
      "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
      "define i32 @f() { %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x() ret i32 %x }";
  EXPECT_TRUE(has(error_of(ErrorKind::undefined, [&] { plugin()->compile(text); }), "annot select"));
  plugin()->load(plugin()->compile(kNothing)).function<Entry>("k_entry")(nullptr, nullptr);
}

TEST_F(LlvmPlugin, SymbolsAreFoundOrNamed) {
  const LlvmModule module = plugin()->load(plugin()->compile(kNothing));
  EXPECT_NE(module.find("k_entry"), nullptr);
  EXPECT_EQ(module.find("k"), nullptr);
  EXPECT_TRUE(has(error_of(ErrorKind::undefined, [&] { module.function<Entry>("other"); }), "other"));
  const std::string text =
      "declare void @nobody_has_this()\ndefine void @f() { call void @nobody_has_this() ret void }";
  EXPECT_TRUE(has(error_of(ErrorKind::undefined, [&] { plugin()->load(plugin()->compile(text)); }), "nobody_has_this"));
  error_of(ErrorKind::undefined, [] { plugin()->load("no object file"); });
}

TEST_F(LlvmPlugin, LibraryFunctionsComeFromTheProcess) {
  const std::string text = "define double @f(double %x, double %y) { %z = frem double %x, %y ret double %z }";
  const LlvmModule module = plugin()->load(plugin()->compile(text));
  EXPECT_EQ(module.function<double (*)(double, double)>("f")(7.5, 2.0), std::fmod(7.5, 2.0));
}

TEST_F(LlvmPlugin, ObjectsCanBeKept) {
  Bench b;
  b.store(b.buffer(int32, 1), b.number(0), b.number(42));
  const std::string object = plugin()->compile(uops_to_llvm("k", b.g));
  EXPECT_EQ(object, plugin()->compile(uops_to_llvm("k", b.g)));
  const LlvmModule module = plugin()->load(std::string(object));
  run(module, b.buffers, {});
  EXPECT_EQ(load_scalar(int32, b.buffers[0].data()), Scalar(42));
}

TEST_F(LlvmPlugin, AssemblyIsText) {
  EXPECT_TRUE(has(plugin()->assembly(kNothing), "k_entry:"));
  EXPECT_FALSE(plugin()->host().empty());
}

// LLVM's reader looks for a zero behind the text, which a part of another text does not have.
TEST_F(LlvmPlugin, TextsMayBePartsOfOthers) {
  const std::string more = std::string(kNothing) + " and what is no IR";
  const std::string_view part = std::string_view(more).substr(0, kNothing.size());
  EXPECT_TRUE(has(plugin()->assembly(part), "k_entry:"));
  EXPECT_EQ(plugin()->compile(part), plugin()->compile(kNothing));
}

TEST_F(LlvmPlugin, SaysItsVersion) { EXPECT_EQ(plugin()->version().substr(0, 3), "19."); }

TEST_F(LlvmPlugin, StepsAreTimed) {
  LlvmTimes times;
  plugin()->compile(kNothing, {}, &times);
  EXPECT_GT(times.parse, 0);
  EXPECT_GT(times.codegen, 0);
}

TEST_F(LlvmPlugin, ThreadsCompileSideBySide) {
  std::array<int, 4> right{};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < right.size(); ++t)
    threads.emplace_back([&right, t] {
      for (int k = 0; k < 10; ++k) {
        Bench b;
        const auto value = static_cast<std::int64_t>(t) * 100 + k;
        b.store(b.buffer(int64, 1), b.number(0), b.g.constant(int64, value));
        run(build(b.g), b.buffers, {});
        right[t] += load_scalar(int64, b.buffers[0].data()) == Scalar(value);
        if (k == 5) right[t] += has(error_of(ErrorKind::parse, [] { plugin()->compile("nonsense"); }), "expected");
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, (std::array<int, 4>{11, 11, 11, 11}));
}

// --- finding the plugin ---

TEST(LlvmLibraryFile, OneThatIsAbsentSaysHowToGetIt) {
  const PrivateFolder folder;
  const std::vector<std::string> folders{folder.path()};
  const std::string words = error_of(ErrorKind::undefined, [&] { LlvmLibrary::open(folders); });
  EXPECT_TRUE(has(words, "apt-get install llvm-19-dev, then build Strata again")) << words;
  EXPECT_TRUE(has(words, folders[0])) << words;
}

TEST(LlvmLibraryFile, OneThatIsNoneIsRefused) {
  const PrivateFolder folder;
  write_file(folder.path() + "/" + std::string(LlvmLibrary::kFileName), "no library");
  const std::vector<std::string> folders{folder.path()};
  EXPECT_TRUE(has(error_of(ErrorKind::undefined, [&] { LlvmLibrary::open(folders); }), "cannot be opened"));
}

TEST(LlvmLibraryFile, TheWorkingDirectoryIsNeverSearched) {
  const PrivateFolder folder;
  write_file(folder.path() + "/" + std::string(LlvmLibrary::kFileName), "no library");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  for (const char* relative : {"", ".", "./"}) {
    const std::vector<std::string> folders{relative};
    EXPECT_TRUE(has(error_of(ErrorKind::undefined, [&] { LlvmLibrary::open(folders); }), "no libstrata_llvm.so"));
  }
  std::filesystem::current_path(before);
}

TEST(LlvmLibraryFile, IsSoughtBesideThisProgramAndWhereTheEnvironmentSays) {
  const std::vector<std::string> folders = LlvmLibrary::default_folders();
  ASSERT_FALSE(folders.empty());
  EXPECT_EQ(folders[0], std::filesystem::read_symlink("/proc/self/exe").parent_path().string());
  const char* const chosen = std::getenv("STRATA_PLUGIN_DIR");
  EXPECT_EQ(folders.size(), chosen && *chosen ? 2u : 1u);
}

}  // namespace
}  // namespace strata
