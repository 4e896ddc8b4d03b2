// The chapter on 2+3: from a Tensor down to machine code, one layer after another.
#include "strata/engine/buffer_storage.h"
#include "strata/engine/recording.h"
#include "strata/render/cstyle.h"
#include "strata/render/llvm.h"
#include "strata/schedule/schedule.h"
#include "tools/tour.h"

namespace strata::tools {
namespace {

void tour_of_the_graph(Tour& tour, const Tensor& result) {
  tour.stage("LazyOp", "a Tensor is a handle on a graph: here the sum of two copies from the CPU");
  STRATA_TOUR_SHOW(result.node().text());
  STRATA_TOUR_RUN(LazyOp two = result.node().src(0);)
  STRATA_TOUR_SHOW(two.op());
  STRATA_TOUR_SHOW(buffer_of(two.src(0)).device());
  STRATA_TOUR_SHOW(buffer_of(two.src(0))[0]);

  tour.stage("Schedule", "the kernels and copies to run, in order, and why each result has memory of its own");
  STRATA_TOUR_SHOW(result.explain());
}

void tour_of_the_code(Tour& tour, const LazyOp& ast) {
  tour.stage("Interpreted", "INTERP is a table from op to function: the oracle of all other devices");
  STRATA_TOUR_SHOW(evaluate(Ops::ADD, std::vector{Scalar(2.0F), Scalar(3.0F)}));

  tour.stage("Linearizer", "other devices compile: the kernel becomes a list of UOps");
  STRATA_TOUR_RUN(Linearizer linearizer(ast);)
  STRATA_TOUR_RUN(linearizer.linearize();)
  STRATA_TOUR_RUN(const UOpGraph& uops = linearizer.uops;)
  STRATA_TOUR_SHOW(uops.text());

  tour.stage("Renderers", "the list as C, and as LLVM IR");
  STRATA_TOUR_SHOW(uops_to_cstyle(CLanguage(), kernel_name(ast), uops));
  STRATA_TOUR_SHOW(first_function(uops_to_llvm(kernel_name(ast), uops)));
}

void tour_of_the_device(Tour& tour, const LazyOp& ast) {
  tour.stage("Device", "a compiled kernel on buffers; every access was proven to lie inside");
  STRATA_TOUR_RUN(Buffer input_a = Buffer::fromCPU(std::vector<float>{2}),
                  input_b = Buffer::fromCPU(std::vector<float>{3});)
  STRATA_TOUR_RUN(Buffer output = Buffer::allocate(1, dtypes::float32);)
  STRATA_TOUR_RUN(CompiledKernel add = compile(ast, Device::default_device());)
  STRATA_TOUR_SHOW(add.kernel().proof.accesses);
  STRATA_TOUR_RUN(add.run({output, input_a, input_b});)
  STRATA_TOUR_SHOW(output.toCPU()[0]);
}

void tour_of_numbers(Tour& tour) {
  tour.stage("Numbers", "2 and 3 in the kernel itself: nothing is loaded");
  STRATA_TOUR_RUN(Tensor folded = Tensor(2.0) + Tensor(3.0);)
  STRATA_TOUR_RUN(LazyOp ast = schedule(std::vector{folded.node()}).back().ast;)
  STRATA_TOUR_SHOW(ast.text());
  STRATA_TOUR_RUN(Kernel kernel = compile_kernel(ast, Target(), std::vector<Opt>());)
  STRATA_TOUR_SHOW(kernel.uops.text());
  STRATA_TOUR_SHOW(uops_to_cstyle(CLanguage(), kernel.name, kernel.uops));
}

}  // namespace

void tour_sum(Tour& tour) {
  tour.chapter("sum");
  tour.stage("Tensor", "2+3, as it is written; nothing has run");
  STRATA_TOUR_RUN(Tensor a = Tensor::from({2.0F}), b = Tensor::from({3.0F});)
  STRATA_TOUR_RUN(Tensor result = a + b;)
  STRATA_TOUR_SHOW(result.shape());
  STRATA_TOUR_SHOW(result.dtype());
  STRATA_TOUR_SHOW(result.device().name());
  STRATA_TOUR_SHOW(result.is_realized());
  tour_of_the_graph(tour, result);

  tour.stage("AST", "the kernel: stores of a graph on buffers; ShapeTrackers map indices to addresses");
  STRATA_TOUR_RUN(LazyOp ast = schedule(std::vector{result.node()}).back().ast;)
  STRATA_TOUR_SHOW(ast.text());
  tour_of_the_code(tour, ast);
  tour_of_the_device(tour, ast);

  tour.stage("Realize", "schedule, compile and run, in one call");
  STRATA_TOUR_RUN(Recording recording;)
  STRATA_TOUR_RUN(result.realize();)
  STRATA_TOUR_RUN(recording.stop();)
  STRATA_TOUR_SHOW(recording.size());
  STRATA_TOUR_SHOW(recording.kernel(0).kernel().name);
  STRATA_TOUR_SHOW(result.is_realized());
  STRATA_TOUR_SHOW(result.item<float>());
  tour_of_numbers(tour);
}

}  // namespace strata::tools
