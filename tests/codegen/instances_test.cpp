// Iterations as instances: what lists look like, and that a launch computes what the kernel means, rounded up or of no
// iteration at all.
#include "strata/codegen/instances.h"

#include <gtest/gtest.h>

#include "strata/codegen/kernel.h"
#include "strata/graph/interpret.h"
#include "strata/ops/kernel_text.h"
#include "strata/render/cstyle.h"
#include "tests/codegen/kernel_ranges.h"
#include "tests/codegen/kernels.h"

namespace strata {
namespace {

using namespace kernels;
using Floats = std::vector<std::vector<float>>;
using oracle::KernelValues;

Target with_instances() {
  Target out;
  out.instances = true;
  return out;
}
Kernel instance_kernel(std::string_view text, std::string_view opts) {
  return compile_kernel(parse_kernel(text).kernel, with_instances(), parse_opts(opts));
}

/// Buffers of f32 whose elements differ, as large as the kernel says for `values`.
Floats buffers_for(const LazyOp& kernel, const KernelValues& values) {
  Floats out;
  for (const BufferUse& use : buffers_of(kernel)) {
    const std::int64_t n = oracle::number_of(use.size, values);
    out.emplace_back();
    for (std::int64_t k = 0; k < n; ++k)
      out.back().push_back(static_cast<float>(out.size()) + static_cast<float>(k) / 4);
  }
  return out;
}
std::vector<Memory> memory_of(Floats& buffers) {
  std::vector<Memory> out;
  for (std::vector<float>& b : buffers) out.push_back({b.data(), std::ssize(b)});
  return out;
}

/// The list's launch, of as many instances as SPECIAL says, against the kernel's meaning.
void check_meaning(const Kernel& k, const KernelValues& values) {
  Floats got = buffers_for(k.ast, values), expected = got;
  interpret(k.uops, memory_of(got), values);
  interpret(k.ast, memory_of(expected), values);
  EXPECT_EQ(got, expected) << k.ast.text() << k.uops.text();
}

std::string source_of(const Kernel& k) { return uops_to_cstyle(OpenCLLanguage(), "k", k.uops); }

TEST(Instances, ATurnIsAnInstance) {
  const Kernel k = instance_kernel("a: f32[12,4]; b: f32[12,4]; c = a + b", "PARALLEL 0");
  EXPECT_EQ(source_of(k),
            "__kernel void k(__global float* restrict data0, __global const float* restrict data1, "
            "__global const float* restrict data2) {\n"
            "  int gidx0 = ((int)(get_global_id(0)));\n"
            "  if (gidx0 >= 12) { return; }\n"
            "  int alu0 = (gidx0*4);\n"
            "  for (int ridx0 = 0; ridx0 < 4; ridx0++) {\n"
            "    int alu1 = (alu0+ridx0);\n"
            "    float val0 = data1[alu1];\n"
            "    float val1 = data2[alu1];\n"
            "    data0[alu1] = (val0+val1);\n"
            "  }\n}\n");
  EXPECT_EQ(*k.parallel, Int(12));
  EXPECT_TRUE(k.variables.empty());
  check_meaning(k, {});
}

TEST(Instances, PassesAreNamed) {
  std::string passes;
  for (const auto& [name, seconds] : instance_kernel("a: f32[4]; c = a*2", "PARALLEL 0").times) passes += name + " ";
  EXPECT_EQ(passes, "absorb opts lower bounds linearize instances verify ");
}

TEST(Instances, WithoutAParallelLoopTheListStays) {
  const LazyOp ast = parse_kernel("a: f32[12,4]; c = a.sum(1)").kernel;
  const Kernel k = compile_kernel(ast, with_instances(), parse_opts(""));
  EXPECT_EQ(k.uops.text(), compile_kernel(ast, Target(), parse_opts("")).uops.text());
  EXPECT_FALSE(k.parallel);
}

TEST(Instances, ReductionsStandInTheirInstance) {
  const Kernel k = instance_kernel("a: f32[6,7]; b: f32[7,5]; c = a @ b", "PARALLEL 0, UNROLL 2 7");
  EXPECT_EQ(count(k.uops, UOps::SPECIAL), 1U);
  EXPECT_EQ(count(k.uops, UOps::LOOP), 1U);
  check_meaning(k, {});
}

// A vector of 4 and a rest of 3 elements: these are for the last instance, once.
TEST(Instances, WhatIsLeftOverIsMadeOnce) {
  const std::string text = "a: f32[11]; a = a + 1";
  check_meaning(instance_kernel(text, "LANES 0 4, PARALLEL 0"), {});
  check_meaning(instance_kernel(text, "UPCAST 0 4, PARALLEL 0"), {});
}

TEST(Instances, SymbolicSizesOfNoTurnToo) {
  const std::string in_place = "n: 0..20; a: f32[n]; a = a*2 + 1";
  for (const char* opts : {"PARALLEL 0", "UPCAST 0 4, PARALLEL 0", "LANES 0 8, PARALLEL 0"}) {
    const Kernel k = instance_kernel(in_place, opts);
    EXPECT_FALSE(k.parallel->is_number());
    ASSERT_EQ(k.variables.size(), 1U);
    EXPECT_EQ(k.variables[0].name(), "n");
    // The launch is that of the most iterations: instances beyond the last one do nothing.
    for (std::int64_t n = 0; n <= 20; ++n) check_meaning(k, {{"n", n}});
  }
}

TEST(Instances, SizesOfSeveralVariables) {
  const Kernel k = instance_kernel("n: 0..4; m: 1..5; a: f32[n*m+1,3]; c = a.sum(1)", "PARALLEL 0");
  for (std::int64_t n = 0; n <= 4; ++n)
    for (std::int64_t m = 1; m <= 5; ++m) check_meaning(k, {{"n", n}, {"m", m}});
}

TEST(Instances, ManySegments) {
  const Kernel k = instance_kernel("n: 0..9; a: f32[n,10]; c = a*a; d = a.sum(1)", "LANES 1 4, PARALLEL 0");
  for (std::int64_t n = 0; n <= 9; ++n) check_meaning(k, {{"n", n}});
}

TEST(Instances, NamesOfTheKernelStay) {
  const Kernel k = instance_kernel("gidx0: 1..6; a: f32[gidx0]; c = a*2", "PARALLEL 0");
  EXPECT_TRUE(has(k.uops.text(), "('gidx0x', 0, 6)")) << k.uops.text();
  for (std::int64_t n = 1; n <= 6; ++n) check_meaning(k, {{"gidx0", n}});
}

TEST(Instances, ScratchMemoryIsTheInstances) {
  const Kernel k =
      instance_kernel("a: f32[8,8]; b: f32[8,8]; c = a @ b", "SPLIT 0 4, SPLIT 1 4, PARALLEL 0, STAGE 1 2");
  ASSERT_EQ(count(k.uops, UOps::DEFINE_LOCAL), 1U);
  check_meaning(k, {});
  const std::string opencl = source_of(k);
  EXPECT_FALSE(has(opencl, "__local")) << opencl;
  EXPECT_TRUE(has(opencl, "  float temp0[32];")) << opencl;
  EXPECT_TRUE(has(opencl, "get_global_id(0)")) << opencl;
  const std::string cuda = uops_to_cstyle(CUDALanguage(), "k", k.uops);
  EXPECT_TRUE(has(cuda, "  float temp0[32];")) << cuda;
  EXPECT_FALSE(has(cuda, "__shared__")) << cuda;
}

}  // namespace
}  // namespace strata
