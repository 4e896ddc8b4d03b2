// The texts of programs: the specification's, and what each language says in its own way.
#include "strata/render/cstyle.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "strata/base/check.h"
#include "tests/base/errors.h"
#include "tests/ir/lists.h"

namespace strata {
namespace {

/// Runs of white space are one space.
std::string squeezed(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n';
    if (!space)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

UOpGraph two_plus_three() {
  UOpGraph g;
  const UOp out = global(g, 0, dtypes::float32);
  const UOp two = g.constant(Scalar(2.0F)), three = g.constant(Scalar(3.0F));
  const UOp sum = g.alu(Ops::ADD, {two, three});
  g.add(UOps::STORE, dtypes::none, {out, g.constant(dtypes::int32, 0), sum});
  return g;
}

UOpGraph empty_loop() {
  UOpGraph g;
  const UOp zero = g.constant(dtypes::int32, 0), end = g.constant(dtypes::int32, 11);
  const UOp loop = g.add(UOps::LOOP, dtypes::int32, {zero, end}, {}, false);
  g.add(UOps::ENDLOOP, dtypes::none, {loop});
  return g;
}

/// data0[i] = value(data1[i]) for i in 0..15.
UOpGraph map(DType to, DType from, const std::function<UOp(UOpGraph&, UOp)>& value) {
  UOpGraph g;
  const UOp out = global(g, 0, to), in = global(g, 1, from);
  const UOp zero = g.constant(dtypes::int32, 0), end = g.constant(dtypes::int32, 16);
  const UOp loop = g.add(UOps::LOOP, dtypes::int32, {zero, end}, {}, false);
  const UOp loaded = g.add(UOps::LOAD, from, {in, loop});
  g.add(UOps::STORE, dtypes::none, {out, loop, value(g, loaded)});
  g.add(UOps::ENDLOOP, dtypes::none, {loop});
  return g;
}

TEST(CStyle, SpecificationTwoPlusThree) {
  const std::string text = uops_to_cstyle(CLanguage(), "E_n2", two_plus_three());
  EXPECT_EQ(squeezed(text), "void E_n2(float* restrict data0) { data0[0] = (2.0f+3.0f); }");
}

TEST(CStyle, SpecificationMetalLoop) {
  const std::string text = uops_to_cstyle(MetalLanguage(), "tester", empty_loop());
  EXPECT_EQ(text,
            "#include <metal_stdlib>\nusing namespace metal;\n"
            "kernel void tester(uint3 gid [[threadgroup_position_in_grid]], "
            "uint3 lid [[thread_position_in_threadgroup]]) {\n"
            "  for (int ridx0 = 0; ridx0 < 11; ridx0++) {\n  }\n}\n");
}

TEST(CStyle, UnclosedLoopIsRefused) {
  UOpGraph g;
  const UOp zero = g.constant(dtypes::int32, 0), end = g.constant(dtypes::int32, 11);
  g.add(UOps::LOOP, dtypes::int32, {zero, end}, {}, false);
  const std::string said = error_of(ErrorKind::domain, [&] { uops_to_cstyle(MetalLanguage(), "tester", g); });
  EXPECT_NE(said.find("not closed"), std::string::npos) << said;
}

TEST(CStyle, ValuesUsedOnceAreInlined) {
  const UOpGraph once = map(dtypes::float32, dtypes::float32, [](UOpGraph& g, UOp x) {
    return g.alu(Ops::MUL, {g.alu(Ops::ADD, {x, g.constant(Scalar(1.0F))}), g.constant(Scalar(2.0F))});
  });
  EXPECT_EQ(uops_to_cstyle(CLanguage(), "k", once),
            "void k(float* restrict data0, const float* restrict data1) {\n"
            "  for (int ridx0 = 0; ridx0 < 16; ridx0++) {\n"
            "    float val0 = data1[ridx0];\n"
            "    data0[ridx0] = ((val0+1.0f)*2.0f);\n"
            "  }\n}\n");
  const UOpGraph twice = map(dtypes::float32, dtypes::float32, [](UOpGraph& g, UOp x) {
    const UOp sum = g.alu(Ops::ADD, {x, g.constant(Scalar(1.0F))});
    return g.alu(Ops::MUL, {sum, sum});
  });
  const std::string text = uops_to_cstyle(CLanguage(), "k", twice);
  EXPECT_NE(text.find("float alu0 = (val0+1.0f);\n    data0[ridx0] = (alu0*alu0);"), std::string::npos) << text;
}

TEST(CStyle, SignedValuesWrapAndIndicesStayPlain) {
  const UOpGraph g = map(dtypes::int32, dtypes::int32,
                         [](UOpGraph& l, UOp x) { return l.alu(Ops::MUL, {x, l.constant(dtypes::int32, -3)}); });
  const std::string text = uops_to_cstyle(CLanguage(), "k", g);
  EXPECT_NE(text.find("= ((int)((unsigned int)val0*(unsigned int)(-3)));"), std::string::npos) << text;
  UOpGraph copy;
  const UOp out = global(copy, 0, dtypes::int32);
  const UOp n = copy.add(UOps::DEFINE_VAR, dtypes::int32, {}, Variable("n", 1, 10));
  const UOp index =
      copy.alu(Ops::ADD, {copy.alu(Ops::MUL, {n, copy.constant(dtypes::int32, 2)}), copy.constant(dtypes::int32, 1)});
  copy.add(UOps::STORE, dtypes::none, {out, index, copy.constant(dtypes::int32, 7)});
  EXPECT_EQ(uops_to_cstyle(CLanguage(), "k", copy), "void k(int* restrict data0, int n) {\n  data0[(n*2)+1] = 7;\n}\n");
}

TEST(CStyle, WhatNobodyNeedsIsLeftOut) {
  UOpGraph g = two_plus_three();
  const UOp unused = global(g, 1, dtypes::int8);
  g.add(UOps::LOAD, dtypes::int8, {unused, g.constant(dtypes::int32, 0)});
  EXPECT_EQ(uops_to_cstyle(CLanguage(), "k", g),
            "void k(float* restrict data0, const signed char* restrict data1) {\n"
            "  (void)data1;\n  data0[0] = (2.0f+3.0f);\n}\n");
}

TEST(CStyle, ScratchMemoryThatNobodyLoads) {
  UOpGraph g;
  const UOp out = global(g, 0, dtypes::float32), in = global(g, 1, dtypes::float32);
  const UOp scratch = g.add(UOps::DEFINE_LOCAL, dtypes::float32.pointer(), {}, Local{"temp0", 4});
  const UOp zero = g.constant(dtypes::int32, 0);
  const UOp x = g.add(UOps::LOAD, dtypes::float32, {in, zero});
  g.add(UOps::STORE, dtypes::none, {scratch, zero, x});
  g.add(UOps::STORE, dtypes::none, {out, zero, g.constant(Scalar(2.0F))});
  EXPECT_EQ(uops_to_cstyle(CLanguage(), "k", g),
            "void k(float* restrict data0, const float* restrict data1) {\n  (void)data1;\n"
            "  data0[0] = 2.0f;\n}\n");
}

// Compilers take `~(int)(x<y)` for a mistake.
TEST(CStyle, ComparisonsAreNotInvertedAsNumbers) {
  UOpGraph g;
  const UOp out = global(g, 0, dtypes::int32), in = global(g, 1, dtypes::int32);
  const UOp zero = g.constant(dtypes::int32, 0);
  const UOp x = g.add(UOps::LOAD, dtypes::int32, {in, zero});
  const UOp less = g.alu(Ops::CMPLT, {x, g.constant(dtypes::int32, 3)});
  const UOp wide = g.add(UOps::CAST, dtypes::int32, {g.add(UOps::CAST, dtypes::uint8, {less})});
  g.add(UOps::STORE, dtypes::none, {out, zero, g.alu(Ops::NOT, {wide})});
  EXPECT_EQ(uops_to_cstyle(CLanguage(), "k", g),
            "void k(int* restrict data0, const int* restrict data1) {\n"
            "  int val0 = data1[0];\n"
            "  int alu0 = ((int)((unsigned char)(val0<3)));\n"
            "  data0[0] = ((int)~alu0);\n}\n");
}

TEST(CStyle, Entry) {
  UOpGraph g = two_plus_three();
  g.add(UOps::DEFINE_VAR, dtypes::int64, {}, Variable("begin0", 0, 10));
  const std::string text = uops_to_cstyle(CLanguage(), "k", g, {.entry = true});
  EXPECT_NE(text.find("void k_entry(void* const* buffers, const long long* values) {\n"
                      "  k((float*)buffers[0], (long long)values[0]);\n}\n"),
            std::string::npos)
      << text;
  EXPECT_NE(error_of(ErrorKind::domain, [&] { uops_to_cstyle(CUDALanguage(), "k", g, {.entry = true}); }).find("entry"),
            std::string::npos);
}

TEST(CStyle, NamesOfTheLanguageAreNotTheUsers) {
  UOpGraph g = two_plus_three();
  const UOp n = g.add(UOps::DEFINE_VAR, dtypes::int32, {}, Variable("float4", 1, 10));
  g.add(UOps::STORE, dtypes::none, {g[0], n, g[1]});
  const std::string text = uops_to_cstyle(CLanguage(), "k", g);
  EXPECT_NE(text.find("int vfloat4)"), std::string::npos) << text;
  for (const char* name : {"", "2k", "a b", "while", "a-b"})
    EXPECT_NE(error_of(ErrorKind::domain, [&] { uops_to_cstyle(CLanguage(), name, g); }).find("is not a name"),
              std::string::npos)
        << name;
}

TEST(CStyle, DeepExpressionsGetVariables) {
  UOpGraph g;
  const UOp out = global(g, 0, dtypes::float32);
  const UOp zero = g.constant(dtypes::int32, 0);
  UOp x = g.add(UOps::LOAD, dtypes::float32, {out, zero});
  for (int k = 0; k < 100000; ++k) x = g.alu(Ops::ADD, {x, g.constant(Scalar(1.0F))});
  g.add(UOps::STORE, dtypes::none, {out, zero, x});
  const std::string text = uops_to_cstyle(CLanguage(), "k", g);
  std::size_t depth = 0, deepest = 0;
  for (const char c : text) {
    depth += c == '(' ? 1U : 0U;
    depth -= c == ')' ? 1U : 0U;
    deepest = std::max(deepest, depth);
  }
  EXPECT_GE(deepest, 20U);
  EXPECT_LE(deepest, 25U);
}

TEST(CStyle, ComparisonsThatAreKnownAreConstants) {
  const UOpGraph g = map(dtypes::boolean, dtypes::uint8,
                         [](UOpGraph& l, UOp x) { return l.alu(Ops::CMPLT, {x, l.constant(dtypes::uint8, 0)}); });
  const std::string text = uops_to_cstyle(CLanguage(), "k", g);
  EXPECT_NE(text.find("unsigned char alu0 = 0;\n    data0[ridx0] = alu0;"), std::string::npos) << text;
  EXPECT_EQ(text.find("val0"), std::string::npos) << text;
}

TEST(CStyle, WhatALanguageLacksIsNamed) {
  const auto real = map(dtypes::float32, dtypes::float32, [](UOpGraph& g, UOp x) { return g.alu(Ops::EXP2, {x}); });
  EXPECT_EQ(error_of(ErrorKind::domain, [&] { uops_to_cstyle(CLanguage(), "k", real); }),
            "[render] C has no UnaryOps.EXP2 of f32");
  const auto same = [](UOpGraph&, UOp x) { return x; };
  const UOpGraph f64 = map(dtypes::float64, dtypes::float64, same), i64 = map(dtypes::int64, dtypes::int64, same);
  const UOpGraph i8 = map(dtypes::int8, dtypes::int8, same), boolean = map(dtypes::boolean, dtypes::boolean, same);
  EXPECT_EQ(error_of(ErrorKind::domain, [&] { uops_to_cstyle(MetalLanguage(), "k", f64); }),
            "[render] Metal has no f64");
  EXPECT_EQ(error_of(ErrorKind::domain, [&] { uops_to_cstyle(MetalLanguage(), "k", i64); }),
            "[render] Metal has no i64");
  EXPECT_EQ(error_of(ErrorKind::domain, [&] { uops_to_cstyle(WGSLLanguage(), "k", i64); }), "[render] WGSL has no i64");
  EXPECT_EQ(error_of(ErrorKind::domain, [&] { uops_to_cstyle(WGSLLanguage(), "k", i8); }), "[render] WGSL has no i8");
  EXPECT_EQ(error_of(ErrorKind::domain, [&] { uops_to_cstyle(WGSLLanguage(), "k", boolean); }),
            "[render] memory cannot hold bool in WGSL");
}

/// data0[gidx0] = data1[gidx0] over 100 instances.
UOpGraph parallel_copy() {
  UOpGraph g;
  const UOp out = global(g, 0, dtypes::float16), in = global(g, 1, dtypes::float16);
  const UOp at = g.add(UOps::SPECIAL, dtypes::int32, {}, Special{"gidx0", 0, 100});
  g.add(UOps::STORE, dtypes::none, {out, at, g.add(UOps::LOAD, dtypes::float16, {in, at})});
  return g;
}

TEST(CStyle, InstancesInEachLanguage) {
  const UOpGraph g = parallel_copy();
  const auto text = [&](const Language& l) { return uops_to_cstyle(l, "copy", g); };
  EXPECT_NE(text(CLanguage()).find("for (int gidx0 = 0; gidx0 < 100; gidx0++) {"), std::string::npos);
  EXPECT_EQ(text(OpenCLLanguage()),
            "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
            "__kernel void copy(__global half* restrict data0, __global const half* restrict data1) {\n"
            "  int gidx0 = ((int)(get_global_id(0)));\n"
            "  if (gidx0 >= 100) { return; }\n"
            "  float val0 = ((float)data1[gidx0]);\n"
            "  data0[gidx0] = convert_half_rte(val0);\n}\n");
  EXPECT_EQ(text(CUDALanguage()),
            "#include <cuda_fp16.h>\n"
            "extern \"C\" __global__ void copy(__half* __restrict__ data0, const __half* "
            "__restrict__ data1) {\n"
            "  int gidx0 = ((int)((long long)blockIdx.x*blockDim.x+threadIdx.x));\n"
            "  if (gidx0 >= 100) { return; }\n"
            "  float val0 = __half2float(data1[gidx0]);\n"
            "  data0[gidx0] = __float2half_rn(val0);\n}\n");
  EXPECT_EQ(text(MetalLanguage()),
            "#include <metal_stdlib>\nusing namespace metal;\n"
            "kernel void copy(device half* data0, device const half* data1, uint3 gid "
            "[[thread_position_in_grid]], "
            "uint3 lid [[thread_position_in_threadgroup]]) {\n"
            "  int gidx0 = ((int)(gid.x));\n"
            "  if (gidx0 >= 100) { return; }\n"
            "  float val0 = float(data1[gidx0]);\n"
            "  data0[gidx0] = half(val0);\n}\n");
  EXPECT_EQ(text(WGSLLanguage()),
            "enable f16;\n"
            "@group(0) @binding(0) var<storage, read_write> data0: array<f16>;\n"
            "@group(0) @binding(1) var<storage, read> data1: array<f16>;\n"
            "@compute @workgroup_size(64)\n"
            "fn copy(@builtin(workgroup_id) gid: vec3<u32>, @builtin(local_invocation_id) lid: "
            "vec3<u32>, "
            "@builtin(global_invocation_id) idx: vec3<u32>) {\n"
            "  let gidx0: i32 = i32((idx.x));\n"
            "  if (gidx0 >= 100) { return; }\n"
            "  let val0: f32 = f32(data1[gidx0]);\n"
            "  data0[gidx0] = f16(val0);\n}\n");
}

TEST(CStyle, ScratchMemoryAndBarriers) {
  UOpGraph g;
  const UOp out = global(g, 0, dtypes::float32);
  const UOp scratch = g.add(UOps::DEFINE_LOCAL, dtypes::float32.pointer(), {}, Local{"temp0", 32});
  const UOp group = g.add(UOps::SPECIAL, dtypes::int32, {}, Special{"gidx0", 0, 8});
  const UOp local = g.add(UOps::SPECIAL, dtypes::int32, {}, Special{"lidx0", 0, 32});
  g.add(UOps::STORE, dtypes::none, {scratch, local, g.constant(Scalar(1.0F))});
  g.add(UOps::BARRIER, dtypes::none, {}, {}, false);
  g.add(UOps::STORE, dtypes::none, {out, group, g.add(UOps::LOAD, dtypes::float32, {scratch, local})});
  struct Case {
    const Language& language;
    const char* memory;
    const char* group;
    const char* barrier;
  };
  const Case cases[] = {
      {CUDALanguage(), "__shared__ float temp0[32];", "(blockIdx.x)", "__syncthreads();"},
      {OpenCLLanguage(), "__local float temp0[32];", "(get_group_id(0))", "barrier(CLK_LOCAL_MEM_FENCE);"},
      {MetalLanguage(), "threadgroup float temp0[32];", "(gid.x)", "threadgroup_barrier("},
      {WGSLLanguage(), "var<workgroup> temp0: array<f32, 32>;", "(gid.x)", "workgroupBarrier();"}};
  for (const Case& c : cases) {
    const std::string text = uops_to_cstyle(c.language, "k", g);
    for (const char* part : {c.memory, c.group, c.barrier})
      EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    EXPECT_EQ(text.find("return;"), std::string::npos) << text;
  }
  EXPECT_NE(error_of(ErrorKind::domain, [&] { uops_to_cstyle(CLanguage(), "k", g); }).find("BARRIER"),
            std::string::npos);
}

TEST(CStyle, VectorsInMemory) {
  UOpGraph g;
  const UOp out = global(g, 0, dtypes::float32), in = global(g, 1, dtypes::float32);
  const UOp zero = g.constant(dtypes::int32, 0);
  const UOp x = g.add(UOps::LOAD, dtypes::float32.vec(4), {in, zero});
  g.add(UOps::STORE, dtypes::none, {out, zero, g.alu(Ops::ADD, {x, x})});
  EXPECT_EQ(uops_to_cstyle(CLanguage(), "k", g),
            "typedef float f32x4 __attribute__((vector_size(16)));\n"
            "typedef float f32x4u __attribute__((vector_size(16), aligned(4), may_alias));\n"
            "void k(float* restrict data0, const float* restrict data1) {\n"
            "  f32x4 val0 = *(const f32x4u*)(data1+0);\n"
            "  *(f32x4u*)(data0+0) = (val0+val0);\n}\n");
  const std::string opencl = uops_to_cstyle(OpenCLLanguage(), "k", g);
  EXPECT_NE(opencl.find("float4 val0 = vload4(0, data1+0);"), std::string::npos) << opencl;
  EXPECT_NE(opencl.find("(val0.s3+val0.s3)"), std::string::npos) << opencl;
  EXPECT_NE(opencl.find("vstore4((float4)(alu0[0], alu0[1], alu0[2], alu0[3]), 0, data0+0);"), std::string::npos)
      << opencl;
  const std::string metal = uops_to_cstyle(MetalLanguage(), "k", g);
  EXPECT_NE(metal.find("float4 val0 = *(device const packed_float4*)(data1+0);"), std::string::npos) << metal;
}

}  // namespace
}  // namespace strata
