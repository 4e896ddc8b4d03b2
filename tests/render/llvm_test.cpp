// The text of kernels in LLVM IR. That it runs, and gives what `interpret` gives, is in runtime/llvm_library_test.cpp.
#include "strata/render/llvm.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "strata/base/check.h"
#include "tests/base/errors.h"
#include "tests/ir/lists.h"

namespace strata {
namespace {

using namespace dtypes;

UOp index(UOpGraph& g, std::int64_t v) { return g.constant(int32, v); }

/// data0[0] = op(data1[0], data1[1], ...), as text.
std::string text_of(Ops op, DType dtype, std::size_t count, const LlvmOptions& options = {}) {
  UOpGraph g;
  const UOp from = global(g, 1, dtype.scalar());
  std::vector<UOp> operands;
  for (std::size_t k = 0; k < count; ++k)
    operands.push_back(g.add(UOps::LOAD, dtype, {from, index(g, static_cast<std::int64_t>(k))}));
  const UOp result = g.alu(op, operands);
  g.add(UOps::STORE, none, {global(g, 0, result.dtype().scalar()), index(g, 0), result});
  return uops_to_llvm("k", g, options);
}

TEST(Llvm, TheWholeOfTwoPlusThree) {
  UOpGraph g;
  const UOp out = global(g, 0, float32);
  const UOp sum = g.alu(Ops::ADD, {g.constant(Scalar(2.0F)), g.constant(Scalar(3.0F))});
  g.add(UOps::STORE, none, {out, index(g, 0), sum});
  EXPECT_EQ(uops_to_llvm("E_n2", g), R"(define internal void @E_n2(ptr noalias %data0) #0 {
entry:
  %alu3 = fadd float 2.0, 3.0
  store float %alu3, ptr %data0, align 4
  ret void
}

define void @E_n2_entry(ptr %buffers, ptr %values) #0 {
  %data0.at = getelementptr ptr, ptr %buffers, i64 0
  %data0 = load ptr, ptr %data0.at, align 8
  call void @E_n2(ptr %data0)
  ret void
}

attributes #0 = { nounwind }
)");
}

TEST(Llvm, PartsOfAModuleForOthersToLink) {
  UOpGraph g;
  const UOp out = global(g, 0, float32), in = global(g, 1, float32);
  const UOp root = g.alu(Ops::SQRT, {g.add(UOps::LOAD, float32, {in, index(g, 0)})});
  g.add(UOps::STORE, none, {out, index(g, 0), root});
  const LlvmParts own = uops_to_llvm_parts("a", g), called = uops_to_llvm_parts("b", g, {.lacks = {.sqrt_f32 = true}});
  EXPECT_EQ(own.function, R"(define hidden void @a(ptr noalias %data0, ptr noalias readonly %data1) #0 {
entry:
  %load3 = load float, ptr %data1, align 4
  %alu4 = call float @llvm.sqrt.f32(float %load3)
  store float %alu4, ptr %data0, align 4
  ret void
}
)");
  EXPECT_EQ(own.declarations, std::set<std::string>{"declare float @llvm.sqrt.f32(float)\n"});
  EXPECT_TRUE(has(called.function, "%alu4 = call float @strata_sqrt_f32(float %load3)"));
  ASSERT_EQ(called.declarations.size(), 1U);
  EXPECT_TRUE(has(*called.declarations.begin(), "define internal float @strata_sqrt_f32(float %x) #0 {"));
  const LlvmParts both[] = {own, called};
  const std::string text = llvm_module(both);
  EXPECT_TRUE(
      has(text, own.function + "\n" + called.function + "\ndeclare float @llvm.sqrt.f32(float)\ndefine internal"));
  EXPECT_TRUE(text.ends_with("\nattributes #0 = { nounwind noredzone \"warn-stack-size\"=\"0\" }\n"));
}

TEST(Llvm, HalvesAreTheirBitsWhereAProcessorLacksThem) {
  const LlvmOptions bits{.lacks = {.halves = true}};
  const std::string sum = text_of(Ops::ADD, float16, 2, bits);
  EXPECT_TRUE(has(sum, "%load2 = load i16, ptr %data1, align 2")) << sum;
  EXPECT_FALSE(has(sum, "half")) << sum;
  EXPECT_TRUE(has(text_of(Ops::ADD, float16.vec(4), 2, bits), "load <4 x i16>, ptr "));
  const std::string floor = text_of(Ops::FLOOR, float32, 1, {.lacks = {.roundings = true}});
  EXPECT_TRUE(has(floor, ".size, 0x4160000000000000")) << floor;  // 2^23
  EXPECT_FALSE(has(floor, "llvm.floor")) << floor;
}

TEST(Llvm, LoopsCountInPhiNodesAndAccumulatorsAreOnes) {
  UOpGraph g;
  const UOp out = global(g, 0, float32), in = global(g, 1, float32);
  const UOp n = g.add(UOps::DEFINE_VAR, int32, {}, Variable("n", 0, 9));
  const UOp acc = g.add(UOps::DEFINE_ACC, float32, {g.constant(Scalar(0.0F))}, {}, false);
  const UOp loop = g.add(UOps::LOOP, int32, {index(g, 0), n});
  const UOp sum = g.alu(Ops::ADD, {acc, g.add(UOps::LOAD, float32, {in, loop})});
  g.add(UOps::PHI, float32, {acc, sum});
  g.add(UOps::ENDLOOP, none, {loop});
  g.add(UOps::STORE, none, {out, index(g, 0), acc});
  const std::string text = uops_to_llvm("k", g);
  EXPECT_TRUE(has(text, R"(  %loop0.enters = icmp slt i32 0, %n
  br i1 %loop0.enters, label %loop0, label %loop0.end
loop0:
  %ridx0 = phi i32 [ 0, %entry ], [ %ridx0.next, %loop0 ]
  %acc4.loop0 = phi float [ 0.0, %entry ], [ %alu8, %loop0 ]
  %load7.at = getelementptr inbounds float, ptr %data1, i32 %ridx0
  %load7 = load float, ptr %load7.at, align 4
  %alu8 = fadd float %acc4.loop0, %load7
  %ridx0.next = add nsw i32 %ridx0, 1
  %ridx0.more = icmp slt i32 %ridx0.next, %n
  br i1 %ridx0.more, label %loop0, label %loop0.end
loop0.end:
  %acc4.loop0.end = phi float [ 0.0, %entry ], [ %alu8, %loop0 ]
  store float %acc4.loop0.end, ptr %data0, align 4
)")) << text;
  EXPECT_TRUE(has(text, "@k(ptr noalias %data0, ptr noalias readonly %data1, i32 %n)")) << text;
  EXPECT_TRUE(has(text, "%n = trunc i64 %n.full to i32")) << text;
}

TEST(Llvm, OnlyIndicesArePromisedNotToWrap) {
  UOpGraph g;
  const UOp out = global(g, 0, int32);
  const UOp loop = g.add(UOps::LOOP, int32, {index(g, 0), index(g, 4)});
  const UOp at = g.alu(Ops::MUL, {loop, index(g, 3)});
  const UOp value = g.alu(Ops::ADD, {loop, index(g, 7)});
  g.add(UOps::STORE, none, {out, at, value});
  g.add(UOps::ENDLOOP, none, {loop});
  const std::string text = uops_to_llvm("k", g);
  EXPECT_TRUE(has(text, "mul nsw i32 %ridx0, 3")) << text;
  EXPECT_TRUE(has(text, "add i32 %ridx0, 7")) << text;
  EXPECT_FALSE(has(text, "enters")) << text;  // runs at least once
}

TEST(Llvm, FastMathIsAskedForByClass) {
  EXPECT_TRUE(has(text_of(Ops::ADD, float32, 2), "fadd float"));
  EXPECT_TRUE(has(text_of(Ops::ADD, float32, 2, {.contract = true}), "fadd contract float"));
  EXPECT_TRUE(has(text_of(Ops::MUL, float32.vec(4), 2, {.contract = true, .reassociate = true}),
                  "fmul reassoc contract <4 x float>"));
  EXPECT_TRUE(has(text_of(Ops::ADD, int32, 2, {.contract = true}), "add i32"));
  EXPECT_TRUE(has(text_of(Ops::MULACC, float32, 3), "@llvm.fmuladd.f32("));
  EXPECT_TRUE(has(text_of(Ops::MULACC, float32, 3, {.exact_mulacc = true}), "@llvm.fma.f32("));
}

TEST(Llvm, IntrinsicsAreDeclared) {
  const std::string text = text_of(Ops::ROUND, float64.vec(4), 1);
  EXPECT_TRUE(has(text, "declare <4 x double> @llvm.roundeven.v4f64(<4 x double>)\n")) << text;
}

TEST(Llvm, MaximumWithANumberIsOneComparison) {
  EXPECT_TRUE(has(text_of(Ops::MAX, float32, 2), "fcmp uno float"));
  UOpGraph g;
  const UOp x = g.add(UOps::LOAD, float32, {global(g, 1, float32), index(g, 0)});
  const UOp result = g.alu(Ops::MAX, {x, g.constant(Scalar(0.0F))});
  g.add(UOps::STORE, none, {global(g, 0, float32), index(g, 0), result});
  const std::string text = uops_to_llvm("k", g);
  EXPECT_FALSE(has(text, "fcmp uno")) << text;
  EXPECT_TRUE(has(text, "fcmp ogt float 0.0, %load")) << text;
}

TEST(Llvm, FloatsOf16BitsAreComputedInF32) {
  const std::string half = text_of(Ops::ADD, float16, 2), brain = text_of(Ops::ADD, bfloat16, 2);
  EXPECT_TRUE(has(half, "fpext half")) << half;
  EXPECT_TRUE(has(half, "fptrunc float")) << half;
  EXPECT_TRUE(has(brain, "load i16")) << brain;
  EXPECT_FALSE(has(brain, "bfloat")) << brain;
}

TEST(Llvm, ScalarGatesBranchAndLaneGatesAreMasks) {
  UOpGraph g;
  const DType v = float32.vec(2);
  const UOp in = global(g, 1, float32);
  const UOp n = g.add(UOps::DEFINE_VAR, int32, {}, Variable("n", 0, 9));
  const UOp whole = g.alu(Ops::CMPLT, {n, index(g, 3)});
  const UOp other = g.alu(Ops::CMPLT, {n, index(g, 4)});
  const UOp lanes = g.add(UOps::VECTORIZE, boolean.vec(2), {whole, other});
  const UOp a = g.add(UOps::LOAD, v, {in, n, whole, g.constant(v, 1)});
  const UOp b = g.add(UOps::LOAD, v, {in, n, lanes, g.constant(v, 1)});
  g.add(UOps::STORE, none, {global(g, 0, float32), n, g.alu(Ops::ADD, {a, b}), lanes});
  const std::string text = uops_to_llvm("k", g);
  EXPECT_TRUE(has(text, ".then, label %load")) << text;
  EXPECT_TRUE(has(text, "@llvm.masked.load.v2f32.p0(ptr ")) << text;
  EXPECT_TRUE(has(text, "call void @llvm.masked.store.v2f32.p0(<2 x float> ")) << text;
  EXPECT_TRUE(has(text, "splat (float 1.0)")) << text;
}

TEST(Llvm, LanesOfTwoVectorsAreOneShuffle) {
  UOpGraph g;
  const DType v = float32.vec(4);
  const UOp in = global(g, 1, float32);
  const UOp a = g.add(UOps::LOAD, v, {in, index(g, 0)}), b = g.add(UOps::LOAD, v, {in, index(g, 4)});
  const UOp pair = g.add(UOps::VECTORIZE, float32.vec(2), {g.lane(a, 1), g.lane(b, 2)});
  g.add(UOps::STORE, none, {global(g, 0, float32), index(g, 0), pair});
  EXPECT_TRUE(has(uops_to_llvm("k", g), "<2 x i32> <i32 1, i32 6>"));
}

TEST(Llvm, NamesOfTheListAreNotOurs) {
  UOpGraph g;
  const UOp n = g.add(UOps::DEFINE_VAR, int32, {}, Variable("alu3", 0, 9));
  const UOp m = g.add(UOps::DEFINE_VAR, int32, {}, Variable("entry", 0, 9));
  const UOp out = g.add(UOps::DEFINE_GLOBAL, int32.pointer(), {}, Global{0, "buffers"});
  const UOp sum = g.alu(Ops::ADD, {n, m});
  g.add(UOps::STORE, none, {out, index(g, 0), sum});
  const std::string text = uops_to_llvm("k", g);
  EXPECT_TRUE(has(text, "(ptr noalias %buffers.arg, i32 %alu3.arg, i32 %entry.arg)")) << text;
  EXPECT_TRUE(has(text, "%alu3 = add i32 %alu3.arg, %entry.arg")) << text;
}

TEST(Llvm, SaysWhichOpsItHas) {
  EXPECT_TRUE(llvm_has(Ops::ADD, float16));
  EXPECT_TRUE(llvm_has(Ops::NOT, boolean));
  EXPECT_TRUE(llvm_has(Ops::MAX, float32));
  EXPECT_TRUE(llvm_has(Ops::CAST, boolean));
  EXPECT_FALSE(llvm_has(Ops::SQRT, int32));
  EXPECT_FALSE(llvm_has(Ops::EXP2, float32));
  EXPECT_FALSE(llvm_has(Ops::FLOORDIV, int32));
  EXPECT_FALSE(llvm_has(Ops::NEG, boolean));
}

/// The words of the Error that rendering ends in.
std::string refusal(const UOpGraph& g, ErrorKind kind, std::string_view name = "k") {
  return error_of(kind, [&] { uops_to_llvm(name, g); });
}

TEST(Llvm, RefusesWhatItCannotSay) {
  UOpGraph g;
  EXPECT_TRUE(has(refusal(g, ErrorKind::domain, "2k"), "2k"));
  const UOp in = global(g, 0, float32);
  const UOp x = g.add(UOps::LOAD, float32, {in, index(g, 0)});
  g.add(UOps::STORE, none, {in, index(g, 0), g.alu(Ops::SIN, {x})});
  EXPECT_TRUE(has(refusal(g, ErrorKind::domain), "SIN of f32"));

  UOpGraph instances;
  const UOp at = instances.add(UOps::SPECIAL, int32, {}, Special{"gidx0", 0, 4});
  instances.add(UOps::BARRIER, none);
  instances.add(UOps::STORE, none, {global(instances, 0, int32), at, at});
  EXPECT_TRUE(has(refusal(instances, ErrorKind::domain), "BARRIER"));

  UOpGraph open;
  open.add(UOps::LOOP, int32, {index(open, 0), index(open, 4)});
  EXPECT_TRUE(has(refusal(open, ErrorKind::domain), "not closed"));
}

TEST(Llvm, LimitsDepthAndTheStack) {
  UOpGraph deep;
  std::vector<UOp> loops;
  for (std::size_t k = 0; k <= kMostLlvmBlocks; ++k)
    loops.push_back(deep.add(UOps::LOOP, int32, {index(deep, 0), index(deep, 1)}, {}, false));
  for (; !loops.empty(); loops.pop_back()) deep.add(UOps::ENDLOOP, none, {loops.back()});
  EXPECT_TRUE(has(refusal(deep, ErrorKind::budget), "blocks nest"));

  UOpGraph wide;
  const UOp scratch = wide.add(UOps::DEFINE_LOCAL, float32.pointer(), {}, Local{"temp0", kMostLlvmLocalBytes / 4 + 1});
  wide.add(UOps::STORE, none, {scratch, index(wide, 0), wide.constant(Scalar(1.0F))});
  const UOp x = wide.add(UOps::LOAD, float32, {scratch, index(wide, 0)});
  wide.add(UOps::STORE, none, {global(wide, 0, float32), index(wide, 0), x});
  EXPECT_TRUE(has(refusal(wide, ErrorKind::budget), "temp0"));
}

TEST(Llvm, LongListsAreNoTrouble) {
  UOpGraph g;
  UOp x = g.add(UOps::LOAD, int32, {global(g, 0, int32), index(g, 0)});
  for (int k = 0; k < 100000; ++k) x = g.alu(Ops::ADD, {x, x});
  g.add(UOps::STORE, none, {global(g, 1, int32), index(g, 0), x});
  EXPECT_GT(uops_to_llvm("k", g).size(), 1000000u);
}

}  // namespace
}  // namespace strata
