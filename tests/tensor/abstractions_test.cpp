// abstractions.py.txt, statement by statement: 2+3 from a Tensor down to the code that computes it, then ShapeTracker
// and Variable.
//
//   Tensor, Function       Tensor, gradient_rules()            LazyBuffer, LazyOp    LazyOp, buffer_of
//   Interpreted            evaluate, INTERP                    Compiled              compile_kernel, Device
//   RawBuffer, Runtime     Buffer, ClangProgram                Linearizer, UOps      Linearizer, UOpGraph
//   CacheCollector         Recording                           ShapeTracker, Variable  the same

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "strata/codegen/spec_linearizer.h"
#include "strata/engine/buffer_storage.h"
#include "strata/engine/recording.h"
#include "strata/graph/interpret.h"
#include "strata/ops/gradient.h"
#include "strata/render/cstyle.h"
#include "strata/runtime/clang_program.h"
#include "strata/tensor/autograd.h"
#include "strata/tensor/tensor.h"
#include "tests/base/errors.h"

namespace strata::test {
namespace {

Tensor two_as_memory() { return Tensor::from({2.0F}); }
Tensor three_as_memory() { return Tensor::from({3.0F}); }
/// Numbers, which kernels hold themselves.
Tensor sum_of_constants() { return Tensor(2.0) + Tensor(3.0); }

/// The kernel of `x`, which is made by one.
LazyOp only_kernel(const Tensor& x) {
  std::vector<LazyOp> kernels;
  for (const ScheduleItem& item : schedule(std::vector{x.node()}))
    if (item.is_kernel()) kernels.push_back(item.ast);
  STRATA_CHECK(kernels.size() == 1, domain, "[test] ", kernels.size(), " kernels");
  return kernels[0];
}

// == Example: Tensor 2+3 ==
TEST(Abstractions, TensorTwoPlusThree) {
  const Tensor a = two_as_memory(), b = three_as_memory();
  const Tensor result = a + b;
  EXPECT_EQ(a.to_vector<float>(), std::vector<float>{2});
  EXPECT_EQ(b.to_vector<float>(), std::vector<float>{3});
  EXPECT_EQ(result.to_vector<float>()[0], 5.0F);
}

// == Tensor == grad, requires_grad, hlops as relu on mlops as log
TEST(Abstractions, TensorHasAGradient) {
  Tensor x = Tensor::from({-1.0F, 2.0F}).to("INTERP");
  EXPECT_EQ(x.grad(), std::nullopt);
  EXPECT_FALSE(x.requires_grad());
  x.requires_grad(true);
  x.relu().sum().backward();
  ASSERT_TRUE(x.grad().has_value());
  EXPECT_EQ(x.grad()->to_vector<float>(), (std::vector<float>{0, 1}));
  EXPECT_EQ(x.relu().to_vector<float>(), x.maximum(0).to_vector<float>());
}

// "all the definitions of the derivatives are subclasses of Function": rows of a table here.
TEST(Abstractions, DerivativesAreATable) {
  const auto rules = gradient_rules();
  const auto log = std::find_if(rules.begin(), rules.end(), [](const GradientRule& r) { return r.op == Ops::LOG; });
  ASSERT_NE(log, rules.end());
  EXPECT_EQ(log->text, "dy/a");
  const LazyOp x = LazyOp::empty(dtypes::float32, {1}), dy = LazyOp::empty(dtypes::float32, {1});
  const LazyOp y = LazyOp::alu(Ops::LOG, {x});
  EXPECT_EQ(log->gradients(y, dy), std::vector<std::optional<LazyOp>>{dy / x});
  EXPECT_GE(rules.size(), 18U);
}

// == LazyBuffer == "these three define the type of the buffer, and they are returned as Tensor properties"
TEST(Abstractions, LazyBufferHasDeviceShapeAndDType) {
  const Tensor x = Tensor::full({2, 3}, 1.5).to("INTERP");
  EXPECT_EQ(x.device().name(), "INTERP");
  EXPECT_EQ(x.shape(), x.node().shape());
  EXPECT_EQ(x.shape(), (Ints{2, 3}));
  EXPECT_EQ(x.dtype(), x.node().dtype());
  EXPECT_EQ(x.dtype(), dtypes::float32);
}

// "all MovementOps are zero copy": they end in the ShapeTracker that a kernel loads through.
TEST(Abstractions, MovementOpsAreShapeTrackers) {
  const LazyOp memory = LazyOp::empty(dtypes::float32, {10, 10});
  const LazyOp moved = memory.permute({1, 0}).reshape({5, 2, 5, 2}).reshape({100}).reshape({10, 10});
  for (const LazyNode* n : postorder(moved)) EXPECT_TRUE(n->op == Ops::EMPTY || is_movement(n->op)) << row(n->op).name;
  EXPECT_EQ(movement_of(*memory.permute({1, 0}).node()).views()[0].strides(), (Ints{1, 10}));

  const auto items = schedule(std::vector{LazyOp::alu(Ops::NEG, {moved})});
  ASSERT_EQ(items.size(), 1U);
  const auto nodes = postorder(items[0].ast);
  const auto load = std::find_if(nodes.begin(), nodes.end(), [](const LazyNode* n) { return n->op == Ops::LOAD; });
  ASSERT_NE(load, nodes.end());
  const auto& arg = std::get<BufferArg>((*load)->arg);
  EXPECT_EQ(arg.st.simplify().render(), ShapeTracker::from_shape({10, 10}).permute({1, 0}).render());
  for (const LazyNode* n : nodes) EXPECT_FALSE(is_movement(n->op)) << row(n->op).name;
}

// UnaryOps, BinaryOps, ...: every op that the document names, under its class.
TEST(Abstractions, OpsByTheirClasses) {
  for (const char* name :
       {"UnaryOps.NOOP",       "UnaryOps.EXP2",      "UnaryOps.LOG2",   "UnaryOps.CAST",      "UnaryOps.SIN",
        "UnaryOps.SQRT",       "BinaryOps.ADD",      "BinaryOps.SUB",   "BinaryOps.MUL",      "BinaryOps.DIV",
        "BinaryOps.CMPLT",     "BinaryOps.MAX",      "ReduceOps.SUM",   "ReduceOps.MAX",      "MovementOps.RESHAPE",
        "MovementOps.PERMUTE", "MovementOps.EXPAND", "MovementOps.PAD", "MovementOps.SHRINK", "MovementOps.STRIDE",
        "TernaryOps.MULACC",   "TernaryOps.WHERE",   "LoadOps.EMPTY",   "LoadOps.RAND",       "LoadOps.CONST",
        "LoadOps.FROM",        "LoadOps.CONTIGUOUS", "LoadOps.CUSTOM"}) {
    const std::optional<Ops> op = find_op(name);
    ASSERT_TRUE(op.has_value()) << name;
    EXPECT_EQ(spec_name(*op), name);
  }
}

// == Example: LazyBuffer for 2+3 ==
TEST(Abstractions, LazyBufferOfTwoPlusThree) {
  const Tensor result = two_as_memory() + three_as_memory();
  const LazyOp op = result.node();
  EXPECT_EQ(op.op(), Ops::ADD);
  ASSERT_EQ(op.src().size(), 2U);
  const float values[] = {2, 3};
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_EQ(op.src(k).op(), Ops::FROM);
    const LazyOp& source = op.src(k).src(0);
    ASSERT_NE(source.realized(), nullptr) << "the source of a FROM is on the CPU";
    EXPECT_EQ(buffer_of(source).device(), "CPU");
    EXPECT_EQ(buffer_of(source).as<float>()[0], values[k]);
  }
  EXPECT_EQ(op.realized(), nullptr);
  EXPECT_FALSE(result.is_realized());
  error_of(ErrorKind::undefined, [&] { buffer_of(op); });

  result.realize();
  ASSERT_NE(result.node().realized(), nullptr);
  EXPECT_TRUE(result.is_realized());
  const Buffer buffer = buffer_of(result.node());
  EXPECT_EQ(buffer.size(), 1);
  EXPECT_EQ(buffer.dtype(), dtypes::float32);
  EXPECT_EQ(buffer.toCPU()[0].as_double(), 5);
}

// == Interpreted == "a lookup table to functions for the Ops"
TEST(Abstractions, InterpretedIsATableOfFunctions) {
  const std::array three_five = {Scalar(3.0F), Scalar(5.0F)};
  EXPECT_EQ(evaluate(Ops::ADD, three_five).as_double(), 8);
  EXPECT_EQ(evaluate(Ops::EXP2, std::span(three_five).first(1)).as_double(), 8);
  float out = 0, two = 2, three = 3;
  const std::array memory = {Memory{&out, 1}, Memory{&two, 1}, Memory{&three, 1}};
  interpret(only_kernel(two_as_memory() + three_as_memory()), memory);
  EXPECT_EQ(out, 5);
}

// == Compiled == a buffer, a code generator, a runtime; on every device that can be used here.
TEST(Abstractions, CompiledIsACodeGeneratorAndARuntime) {
  const LazyOp ast = only_kernel(two_as_memory() + three_as_memory());
  for (const Device* device : Device::all()) {
    if (!device->missing().empty() || device->name() == "NULL") continue;
    const Kernel kernel = compile_kernel(ast, device->target());
    const Buffer output = Buffer::allocate(1, dtypes::float32);
    const std::array buffers = {output, Buffer::fromCPU(std::vector<float>{2}), Buffer::fromCPU(std::vector<float>{3})};
    std::vector<void*> addresses;
    for (const Buffer& b : buffers) addresses.push_back(b.data());
    const std::shared_ptr<Program> program = device->compile(kernel);
    program->run(addresses, std::vector<std::int64_t>(kernel.variables.size()));
    EXPECT_EQ(output.toCPU()[0].as_double(), 5) << device->name();
  }
}

// == RawBuffer ==
TEST(Abstractions, BuffersGoToTheCPUAndBack) {
  const Buffer empty = Buffer::allocate(3, dtypes::float32);
  EXPECT_EQ(empty.size(), 3);
  EXPECT_EQ(empty.nbytes(), 12U);
  const Buffer from = Buffer::fromCPU(std::vector<float>{1, 2, 3});
  EXPECT_EQ(from.toCPU().as<float>()[2], 3);
  EXPECT_TRUE(from.toCPU().shares(from)) << "zero copy";
}

// == Example: 2+3 in raw clang ==
TEST(Abstractions, RawClang) {
  const Buffer input_a = Buffer::fromCPU(std::vector<float>{2}), input_b = Buffer::fromCPU(std::vector<float>{3});
  const Buffer output = Buffer::allocate(1, dtypes::float32);
  const ClangProgram program("add", compile_clang("void add(float *a, float *b, float *c) { *a = *b + *c; }"));
  program(output, input_a, input_b);
  EXPECT_EQ(output.toCPU()[0].as_double(), 5) << "it's still 5";
}

// == Linearizer == from a tensor's own schedule. (What was asked to be memory is loaded: the document's UOps are those
// of numbers that were not.)
TEST(Abstractions, LinearizerMakesSixUOps) {
  Linearizer linearizer(only_kernel(sum_of_constants()));
  linearizer.linearize();
  using enum UOps;
  const std::array expected = {DEFINE_GLOBAL, CONST, CONST, ALU, CONST, STORE};
  ASSERT_EQ(linearizer.uops.size(), expected.size()) << linearizer.uops.text();
  for (std::size_t k = 0; k < expected.size(); ++k) {
    EXPECT_EQ(linearizer.uops[k].op(), expected[k]);
    EXPECT_EQ(linearizer.uops[k].num(), k) << "UOps are unique";
  }
  const UOp sum = linearizer.uops[3], store = linearizer.uops[5];
  EXPECT_EQ(sum.alu(), Ops::ADD);
  EXPECT_EQ(sum.dtype(), dtypes::float32);
  EXPECT_EQ(sum.src(0).constant().as_double(), 2);
  EXPECT_EQ(sum.src(1).constant().as_double(), 3);
  EXPECT_EQ(linearizer.uops[4].dtype(), dtypes::int32);
  const std::vector<UOp> sources(store.src().begin(), store.src().end());
  EXPECT_EQ(sources, (std::vector{linearizer.uops[0], linearizer.uops[4], sum}));
}

TEST(Abstractions, NumbersInMemoryAreLoaded) {
  const Tensor result = Tensor(2.0).contiguous().realize() + Tensor(3.0).contiguous().realize();
  Linearizer linearizer(only_kernel(result));
  linearizer.linearize();
  std::multiset<UOps> ops;
  for (const UOp u : linearizer.uops) ops.insert(u.op());
  EXPECT_EQ(ops.count(UOps::LOAD), 2U);
  EXPECT_EQ(ops.count(UOps::ALU), 1U);
  EXPECT_EQ(ops.count(UOps::STORE), 1U);
  EXPECT_EQ(result.item(), 5);
}

// == Example: 2+3 autogenerated clang code == "we have a global cache used by the JIT": what ran, recorded.
TEST(Abstractions, GeneratedCodeOfTheRecording) {
  Recording cache;
  const Tensor result = sum_of_constants();
  result.realize();
  cache.stop();
  ASSERT_EQ(cache.size(), 1U);
  const Kernel& kernel = cache.kernel(0).kernel();
  EXPECT_EQ(Device::get("CLANG").source(kernel), detail::message("void ", kernel.name,
                                                                 "(float* restrict data0) {\n"
                                                                 "  data0[0] = (2.0f+3.0f);\n"
                                                                 "}\n"));
  EXPECT_EQ(buffer_of(result.node()).toCPU()[0].as_double(), 5);
}

// == Example: ShapeTracker ==
TEST(Abstractions, ShapeTrackerStacksViews) {
  const auto printed = [](const char* top) { return detail::message("ShapeTracker(views=(", top, "))"); };
  const std::string four = "View(shape=(5, 2, 5, 2), strides=(2, 1, 20, 10), offset=0, mask=None, contiguous=False), ";
  ShapeTracker a = ShapeTracker::from_shape({10, 10});
  EXPECT_EQ(a.render(), printed("View(shape=(10, 10), strides=(10, 1), offset=0, mask=None, contiguous=True),"));
  a = a.permute({1, 0});
  EXPECT_EQ(a.render(), printed("View(shape=(10, 10), strides=(1, 10), offset=0, mask=None, contiguous=False),"));
  a = a.reshape({5, 2, 5, 2});
  EXPECT_EQ(a.render(), printed(four.substr(0, four.size() - 1).c_str()));
  a = a.reshape({100});
  EXPECT_EQ(a.render(),
            printed((four + "View(shape=(100,), strides=(1,), offset=0, mask=None, contiguous=True)").c_str()));
  EXPECT_EQ(a.expr_idxs().index.render(), "(((idx0%10)*10)+(idx0//10))");
  a = a.reshape({10, 10});
  EXPECT_EQ(a.expr_idxs().index.render(), "((idx1*10)+idx0)");
  EXPECT_EQ(a.render(),
            printed((four + "View(shape=(10, 10), strides=(10, 1), offset=0, mask=None, contiguous=True)").c_str()))
      << "two views still, until it is simplified";
  a = a.simplify();
  EXPECT_EQ(a.render(), printed("View(shape=(10, 10), strides=(1, 10), offset=0, mask=None, contiguous=False),"));
  a = a.permute({1, 0});
  EXPECT_EQ(a.render(), printed("View(shape=(10, 10), strides=(10, 1), offset=0, mask=None, contiguous=True),"));
  EXPECT_TRUE(a.contiguous());
}

// == Example: Variable ==
TEST(Abstractions, VariableKnowsItsRange) {
  const Variable a("a", 0, 10), b("b", 0, 10);
  EXPECT_EQ((a * 10).vmin(), 0);
  EXPECT_EQ((a * 10).vmax(), 100);
  EXPECT_EQ((a + b).vmin(), 0);
  EXPECT_EQ((a + b).vmax(), 20);
  EXPECT_EQ(((a + b * 10) % 10).render(), "(a%10)");
  const Expr e = (a * 40 + b) / 20;
  EXPECT_EQ(e.render(), "(a*2)");
  EXPECT_EQ(e.vmin(), 0);
  EXPECT_EQ(e.vmax(), 20);
}

}  // namespace
}  // namespace strata::test
