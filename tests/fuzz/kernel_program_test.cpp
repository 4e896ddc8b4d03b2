// Kernels as programs: what they compute comes back; what checking finds is told of the kernel at fault alone.
#include "tests/fuzz/kernel_program.h"

#include <gtest/gtest.h>

#include <cstring>

#include "strata/base/check.h"
#include "strata/render/cstyle.h"

namespace strata::oracle {
namespace {

using detail::message;

Bytes bytes_of(const std::vector<float>& numbers) {
  Bytes out(numbers.size() * sizeof(float));
  std::memcpy(out.data(), numbers.data(), out.size());
  return out;
}
bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// data0[at] = data1[0] + data1[0] on buffers of four elements, as the renderer writes it.
ProgramKernel doubling(const std::string& name, std::int64_t at) {
  UOpGraph list;
  const UOp to = list.add(UOps::DEFINE_GLOBAL, dtypes::float32.pointer(), {}, Global{0, "data0"});
  const UOp from = list.add(UOps::DEFINE_GLOBAL, dtypes::float32.pointer(), {}, Global{1, "data1"});
  const UOp zero = list.constant(Scalar::of(dtypes::int32, std::int64_t{0}));
  const UOp x = list.add(UOps::LOAD, dtypes::float32, {from, zero});
  const UOp sum = list.add(UOps::ALU, dtypes::float32, {x, x}, Ops::ADD);
  list.add(UOps::STORE, {}, {to, list.constant(Scalar::of(dtypes::int32, at)), sum});
  CStyleOptions options;
  options.entry = true;
  return {
      name, uops_to_cstyle(CLanguage(), name, list, options), {bytes_of({1, 2, 3, 4}), bytes_of({21, 0, 0, 0})}, {{}}};
}

/// A kernel on one buffer of a float, by hand.
ProgramKernel by_hand(const std::string& name, const std::string& body) {
  return {name,
          message("void ", name, "_entry(void* const* buffers, const long long* values) {\n",
                  "  float* data = buffers[0];\n", body, "\n}\n"),
          {bytes_of({1})},
          {{7, 3}}};
}

std::vector<std::string> compilers(bool is_checked) {
  static const std::vector<std::string> plain = program_compilers({"gcc", "clang-19"}, false),
                                        checked = program_compilers({"gcc", "clang-19"}, true);
  EXPECT_FALSE(plain.empty() || checked.empty());
  return is_checked ? checked : plain;
}

// Those at fault stand among others, which come out right.
TEST(KernelProgram, WhatSanitizersFind) {
  const std::vector<ProgramKernel> kernels = {
      doubling("first", 1),
      doubling("behind", 4),
      doubling("before", -1),
      by_hand("overflow", "int n = 2147483647; *data = (float)(n + (int)values[0]);"),
      by_hand("conversion", "*data = (float)(int)(1e20f * (float)values[0]);"),
      doubling("last", 3)};
  for (const std::string& compiler : compilers(true)) {
    SCOPED_TRACE(compiler);
    const std::vector<ProgramOutcome> out = run_kernels(kernels, {compiler, true, false});
    ASSERT_EQ(out.size(), kernels.size());
    EXPECT_EQ(out[0].fault, "");
    EXPECT_EQ(out[0].buffers, (std::vector<Bytes>{bytes_of({1, 42, 3, 4}), kernels[0].buffers[1]}));
    EXPECT_TRUE(says(out[1].fault, "heap-buffer-overflow")) << out[1].fault;
    EXPECT_TRUE(says(out[2].fault, "AddressSanitizer")) << out[2].fault;
    EXPECT_TRUE(says(out[3].fault, "signed integer overflow")) << out[3].fault;
    EXPECT_TRUE(says(out[4].fault, "outside the range")) << out[4].fault;
    EXPECT_EQ(out[5].fault, "");
    EXPECT_EQ(out[5].buffers, (std::vector<Bytes>{bytes_of({1, 2, 3, 42}), kernels[5].buffers[1]}));
  }
}

TEST(KernelProgram, WhatCompilersWarnOf) {
  const std::vector<ProgramKernel> kernels = {doubling("first", 1),
                                              by_hand("warned", "(void)values; int idle; *data = 2;")};
  for (const std::string& compiler : compilers(true)) {
    const std::vector<ProgramOutcome> out = run_kernels(kernels, {compiler, true, false});
    EXPECT_EQ(out[0].fault, "");
    EXPECT_TRUE(says(out[1].fault, "idle")) << out[1].fault;
  }
}

TEST(KernelProgram, CallsInTheirOrderWithTheirValues) {
  ProgramKernel kernel = by_hand("calls", "data[0] = 10*data[0] + (float)(values[0] - values[1]);");
  kernel.calls = {{7, 3}, {5, 4}, {2, 0}};
  for (const std::string& compiler : compilers(false)) {
    const std::vector<ProgramOutcome> out = run_kernels({&kernel, 1}, {compiler, false, true});
    EXPECT_EQ(out[0].fault, "");
    EXPECT_EQ(out[0].buffers, std::vector<Bytes>{bytes_of({1412})});
  }
}

TEST(KernelProgram, PlainProgramsLookAroundBuffers) {
  for (const std::string& compiler : compilers(false))
    for (const std::int64_t at : {-1, 4}) {
      const std::vector<ProgramKernel> kernels = {doubling("around", at), doubling("fine", 0)};
      const std::vector<ProgramOutcome> out = run_kernels(kernels, {compiler, false, false});
      EXPECT_EQ(out[0].fault, "wrote around buffer 0") << at;
      EXPECT_EQ(out[1].fault, "");
    }
}

TEST(KernelProgram, EmptyBuffersHaveNoElement) {
  ProgramKernel kernel = by_hand("empty", "(void)values; data[0] = 2;");
  kernel.buffers = {Bytes()};
  for (const std::string& compiler : compilers(true))
    EXPECT_TRUE(says(run_kernels({&kernel, 1}, {compiler, true, false})[0].fault, "heap-buffer-overflow"));
}

TEST(KernelProgram, CompilersThatAreNotThere) { EXPECT_TRUE(program_compilers({"no-such-compiler"}, false).empty()); }

}  // namespace
}  // namespace strata::oracle
