// The chapter on gradients: the rules of a table build another graph, which is scheduled, compiled and run like any
// graph.
#include "strata/render/cstyle.h"
#include "strata/schedule/schedule.h"
#include "tools/tour.h"

namespace strata::tools {

void tour_gradient(Tour& tour) {
  tour.chapter("gradient");
  tour.stage("Tensor", "a function of x; gradients are taken by x");
  STRATA_TOUR_RUN(Tensor x = Tensor::from({1.0F, 2.0F, 3.0F}).requires_grad(true);)
  STRATA_TOUR_RUN(Tensor y = (x * x + 1).log().sum();)
  STRATA_TOUR_SHOW(y.node().text());

  tour.stage("Rules", "the gradient rule of each op, from the sources a, b and the value y of the op");
  STRATA_TOUR_SHOW(gradient_rules_of(y.node()));

  tour.stage("Backward", "the rules make a graph; nothing has run");
  STRATA_TOUR_RUN(y.backward();)
  STRATA_TOUR_RUN(Tensor slope = *x.grad();)
  STRATA_TOUR_SHOW(slope.node().text());
  STRATA_TOUR_SHOW(slope.is_realized());

  tour.stage("Kernel", "forward and backward in one");
  STRATA_TOUR_SHOW(slope.explain());
  STRATA_TOUR_RUN(LazyOp ast = schedule(std::vector{slope.node()}).back().ast;)
  STRATA_TOUR_RUN(Kernel kernel = compile_kernel(ast, Target(), std::vector<Opt>());)
  STRATA_TOUR_SHOW(uops_to_cstyle(CLanguage(), kernel.name, kernel.uops));

  tour.stage("Run", "2*x / (x*x + 1)");
  STRATA_TOUR_SHOW(slope.to_vector<float>());
}

}  // namespace strata::tools
