// What LLVM compiles for other machines: kernels that go without instructions (LlvmLacks) give what `interpret` gives,
// and objects state what they need. A plugin that was not built is said in the output of llvm_library_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string>
#include <vector>

#include "strata/base/check.h"
#include "strata/ir/uop.h"
#include "strata/render/llvm.h"
#include "strata/runtime/llvm_library.h"
#include "tests/base/errors.h"
#include "tests/ir/lists.h"
#include "tests/render/random_list.h"

namespace strata {
namespace {

using namespace dtypes;
using test::RandomKernel;

using Entry = void (*)(void* const* buffers, const long long* values);
constexpr LlvmLacks kAll{.roundings = true, .sqrt_f32 = true, .sqrt_f64 = true, .halves = true};

class LlvmMachines : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!STRATA_HAS_LLVM) GTEST_SKIP() << "this build has no LLVM";
  }
  static const LlvmLibrary& llvm() { return LlvmLibrary::shared(); }
  static LlvmModule built(const UOpGraph& list) {
    const LlvmOptions options{.exact_mulacc = true, .lacks = kAll};
    return llvm().load(llvm().compile(uops_to_llvm("k", list, options)));
  }
};

bool agree(DType dtype, const std::byte* got, const std::byte* want) {
  const Scalar a = load_scalar(dtype, got), b = load_scalar(dtype, want);
  return dtype.is_float() ? ulp_distance(a, b) == 0 : a == b;
}

TEST_F(LlvmMachines, RandomListsWithoutInstructions) {
  const char* const more = std::getenv("STRATA_TEST_KERNELS");
  const std::uint64_t count = more ? std::strtoull(more, nullptr, 10) : 150;
  for (std::uint64_t seed = 5000; seed < 5000 + count; ++seed) {
    RandomKernel kernel = test::random_kernel(seed);
    std::vector<std::vector<std::byte>> got;
    std::vector<Memory> memory;
    std::vector<long long> values;
    std::vector<void*> at;
    for (auto& b : kernel.buffers) got.push_back(b.data), memory.push_back({b.data.data(), b.size});
    for (auto& b : got) at.push_back(b.data());
    for (const auto& [name, v] : kernel.values) values.push_back(v);
    interpret(kernel.list, memory, kernel.values);
    built(kernel.list).function<Entry>("k_entry")(at.data(), values.data());
    for (std::size_t slot = 0; slot < got.size(); ++slot) {
      const DType dtype = kernel.buffers[slot].dtype;
      for (std::size_t k = 0; k < got[slot].size(); k += dtype.itemsize())
        ASSERT_TRUE(agree(dtype, &got[slot][k], &kernel.buffers[slot].data[k]))
            << "seed " << seed << ", data" << slot << ", byte " << k << "\n"
            << kernel.list.text();
    }
  }
}

/// As agree(), where 0 and -0 differ.
bool same_bits(DType dtype, const std::byte* got, const std::byte* want) {
  const Scalar a = load_scalar(dtype, got), b = load_scalar(dtype, want);
  return a.bits() == b.bits() || (a.is_nan() && b.is_nan());
}

/// Runs out[i] = f(in[i]) with `lanes` at once, and by the interpreter.
template <class Function>
void check_elements(const LlvmModule& module, const UOpGraph& list, DType from, DType to, std::vector<std::byte> in,
                    const Function& name_of) {
  const std::size_t count = in.size() / from.itemsize();
  std::vector<std::byte> got(count * to.itemsize()), want(got.size());
  void* at[] = {got.data(), in.data()};
  std::vector<Memory> memory = {{want.data(), static_cast<std::int64_t>(count)},
                                {in.data(), static_cast<std::int64_t>(count)}};
  interpret(list, memory, {});
  module.function<Entry>("k_entry")(at, nullptr);
  for (std::size_t k = 0; k < count; ++k)
    ASSERT_TRUE(same_bits(to, &got[k * to.itemsize()], &want[k * to.itemsize()]))
        << name_of() << " of " << load_scalar(from, &in[k * from.itemsize()]).text() << " is "
        << load_scalar(to, &got[k * to.itemsize()]).text() << ", not "
        << load_scalar(to, &want[k * to.itemsize()]).text();
}

UOpGraph elementwise(std::int64_t count, int lanes, DType from, DType to, Ops op) {
  UOpGraph g;
  const UOp out = g.add(UOps::DEFINE_GLOBAL, to.pointer(), {}, Global{0, "data0"});
  const UOp in = g.add(UOps::DEFINE_GLOBAL, from.pointer(), {}, Global{1, "data1"});
  const UOp i = g.add(UOps::LOOP, int32, {g.constant(int32, 0), g.constant(int32, count / lanes)});
  const UOp at = g.alu(Ops::MUL, {i, g.constant(int32, lanes)});
  const UOp x = g.add(UOps::LOAD, from.vec(lanes), {in, at});
  g.add(UOps::STORE, none, {out, at, op == Ops::CAST ? g.cast(x, to.vec(lanes)) : g.alu(op, {x})});
  g.add(UOps::ENDLOOP, none, {i});
  return g;
}

/// Random bits, and floats near the limits of what the formulas distinguish.
std::vector<std::byte> floats(DType dtype, std::int64_t count) {
  std::vector<std::byte> out(static_cast<std::size_t>(count) * dtype.itemsize());
  constexpr double special[] = {
      0,     -0.0,     0.5,   1.5,  2.5,  -0.5,   -1.5,   -0.3,  8388607, 8388608, 8388607.5, 4503599627370495.5,
      65504, 65519.99, 65520, 6e-8, 3e-8, 6.1e-5, 2.9e-8, 1e-45, 1e-310,  0x1p-14, 0x1p-25,   4};
  std::uint64_t state = 20260;
  for (std::int64_t k = 0; k < count; ++k) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    std::byte* const to = &out[static_cast<std::size_t>(k) * dtype.itemsize()];
    const auto pick = static_cast<std::size_t>(k);
    if (pick < std::size(special))
      store_scalar(Scalar::of(dtype, special[pick]), to);
    else if (k % 2 == 0)
      store_scalar(Scalar::of(dtype, static_cast<double>(static_cast<std::int64_t>(state) >> 44) / 8), to);
    else
      std::copy_n(reinterpret_cast<const std::byte*>(&state) + 8 - dtype.itemsize(), dtype.itemsize(), to);
  }
  return out;
}

TEST_F(LlvmMachines, RootsAndRoundingsWithoutInstructions) {
  constexpr std::int64_t count = 20000;
  for (const DType dtype : {float32, float64})
    for (const Ops op : {Ops::SQRT, Ops::TRUNC, Ops::FLOOR, Ops::CEIL, Ops::ROUND})
      for (const int lanes : {1, 8}) {
        const UOpGraph g = elementwise(count, lanes, dtype, dtype, op);
        check_elements(built(g), g, dtype, dtype, floats(dtype, count), [&] { return std::string(spec_name(op)); });
      }
}

TEST_F(LlvmMachines, HalvesByIntegers) {
  constexpr std::size_t halves = 65536;
  std::vector<std::byte> all(2 * halves);
  for (std::size_t k = 0; k < halves; ++k)
    all[2 * k] = static_cast<std::byte>(k & 255U), all[2 * k + 1] = static_cast<std::byte>(k >> 8U);
  constexpr std::int64_t count = 100000;
  for (const int lanes : {1, 8}) {
    const UOpGraph widens = elementwise(65536, lanes, float16, float32, Ops::CAST);
    check_elements(built(widens), widens, float16, float32, all, [] { return "f32"; });
    const UOpGraph narrows = elementwise(count, lanes, float32, float16, Ops::CAST);
    check_elements(built(narrows), narrows, float32, float16, floats(float32, count), [] { return "f16"; });
    const UOpGraph twice = elementwise(count, lanes, float64, float16, Ops::CAST);
    check_elements(built(twice), twice, float64, float16, floats(float64, count), [] { return "f16"; });
  }
}

TEST_F(LlvmMachines, AnObjectStatesWhatItNeeds) {
  UOpGraph g = elementwise(64, 1, float64, float64, Ops::SQRT);
  const LlvmParts part = uops_to_llvm_parts("root", g, {.exact_mulacc = true});
  const LlvmMachine m4{
      .triple = "thumbv7em-none-eabihf", .cpu = "cortex-m4", .is_static = true, .floats = LlvmMachine::Floats::hard};
  const LlvmObject with_libm = llvm().compile_for(llvm_module({&part, 1}), m4, true);
  EXPECT_EQ(with_libm.bytes.substr(0, 4),
            "\x7f"
            "ELF");
  EXPECT_EQ(with_libm.undefined, std::vector<std::string>{"sqrt"});
  ASSERT_EQ(with_libm.frames.size(), 1U);
  EXPECT_EQ(with_libm.frames[0].first, "root");
  EXPECT_GT(with_libm.frames[0].second, 0);
  EXPECT_GT(with_libm.loaded_bytes, 20);
  EXPECT_LT(with_libm.loaded_bytes, 200);
  const LlvmParts own = uops_to_llvm_parts("root", g, {.exact_mulacc = true, .lacks = kAll});
  const LlvmObject alone = llvm().compile_for(llvm_module({&own, 1}), m4, true);
  EXPECT_EQ(std::count(alone.undefined.begin(), alone.undefined.end(), "sqrt"), 0);
  EXPECT_EQ(alone.bytes, llvm().compile_for(llvm_module({&own, 1}), m4, true).bytes);
}

TEST_F(LlvmMachines, FeaturesAreThoseOfTheCpu) {
  const std::string_view names[] = {"sse4.1", "avx2", "fma"};
  EXPECT_EQ(llvm().has({.triple = "x86_64-linux-gnu", .cpu = "x86-64"}, names),
            (std::vector<bool>{false, false, false}));
  EXPECT_EQ(llvm().has({.triple = "x86_64-linux-gnu", .cpu = "haswell"}, names), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(llvm().has({.triple = "x86_64-linux-gnu", .cpu = "haswell", .features = "-avx2,+fma4"}, names),
            (std::vector<bool>{true, false, true}));
}

TEST_F(LlvmMachines, RefusesWhatLlvmDoesNotKnow) {
  const auto refused = [&](const LlvmMachine& machine) {
    return error_of(ErrorKind::domain, [&] { llvm().compile_for("", machine, true); });
  };
  EXPECT_TRUE(
      has(refused({.triple = "i386-linux-gnu", .cpu = "i386"}), "not for the triple \"i386-unknown-linux-gnu\""));
  EXPECT_TRUE(has(refused({.triple = "wasm32", .cpu = "haswell"}),
                  "LLVM knows no CPU \"haswell\" of wasm32, but bleeding-edge"));
  EXPECT_TRUE(has(refused({.triple = "riscv64", .cpu = "generic-rv64", .features = "+f,+wings"}),
                  "LLVM knows no feature \"+wings\" of riscv64: + or - and one of "));
  const LlvmMachine here{.triple = "aarch64-linux-gnu", .cpu = "generic"};
  EXPECT_TRUE(
      has(error_of(ErrorKind::parse, [&] { llvm().compile_for("no IR", here, true); }), "expected top-level entity"));
}

}  // namespace
}  // namespace strata
