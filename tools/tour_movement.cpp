// The chapters on movement and symbolic sizes: a movement operation copies nothing, because a ShapeTracker describes
// the place of each element in memory. Its indices are symbolic integers, and its sizes may be, too.
#include "strata/render/cstyle.h"
#include "strata/schedule/schedule.h"
#include "tools/tour.h"

namespace strata::tools {
namespace {

void tour_of_merging(Tour& tour) {
  tour.stage("ShapeTracker", "movement operations on the indices of a (10, 10) array; there is no array");
  STRATA_TOUR_RUN(ShapeTracker a = ShapeTracker::from_shape({10, 10});)
  STRATA_TOUR_SHOW(a.render());
  STRATA_TOUR_RUN(a = a.permute({1, 0});)
  STRATA_TOUR_SHOW(a.render());
  STRATA_TOUR_RUN(a = a.reshape({5, 2, 5, 2});)
  STRATA_TOUR_SHOW(a.render());

  tour.stage("Views", "this reshape needs a second View; the index expression covers all Views");
  STRATA_TOUR_RUN(a = a.reshape({100});)
  STRATA_TOUR_SHOW(a.render());
  STRATA_TOUR_SHOW(a.expr_idxs().index.render());

  tour.stage("Simplify", "reshaped back, the index is simple again; simplify() finds the equal single View");
  STRATA_TOUR_RUN(a = a.reshape({10, 10});)
  STRATA_TOUR_SHOW(a.expr_idxs().index.render());
  STRATA_TOUR_SHOW(a.views().size());
  STRATA_TOUR_RUN(a = a.simplify();)
  STRATA_TOUR_SHOW(a.render());
  STRATA_TOUR_RUN(a = a.permute({1, 0});)
  STRATA_TOUR_SHOW(a.contiguous());
}

void tour_of_moved_tensors(Tour& tour) {
  tour.stage("Tensor",
             "movement becomes an index in the kernel that reads the tensor: here no single View "
             "is enough");
  STRATA_TOUR_RUN(Tensor m = Tensor::from({0.0F, 1.0F, 2.0F, 3.0F, 4.0F, 5.0F}).reshape({3, 2});)
  STRATA_TOUR_RUN(Tensor moved = -m.permute({1, 0}).reshape({3, 2});)
  STRATA_TOUR_SHOW(moved.node().text());
  STRATA_TOUR_RUN(LazyOp ast = schedule(std::vector{moved.node()}).back().ast;)
  STRATA_TOUR_SHOW(ast.text());
  STRATA_TOUR_RUN(Kernel kernel = compile_kernel(ast, Target(), std::vector<Opt>());)
  STRATA_TOUR_SHOW(uops_to_cstyle(CLanguage(), kernel.name, kernel.uops));
  STRATA_TOUR_SHOW(moved.to_vector<float>());
}

}  // namespace

void tour_movement(Tour& tour) {
  tour.chapter("movement");
  tour_of_merging(tour);
  tour_of_moved_tensors(tour);
}

void tour_symbolic(Tour& tour) {
  tour.chapter("symbolic");
  tour.stage("Variable", "an integer with inclusive bounds; every expression has bounds, too");
  STRATA_TOUR_RUN(Variable a("a", 0, 10), b("b", 0, 10);)
  STRATA_TOUR_SHOW((a * 10).vmax());
  STRATA_TOUR_SHOW((a + b).vmax());

  tour.stage("Expr", "expressions are simplified when they are built: terms without influence are gone");
  STRATA_TOUR_SHOW(((a + b * 10) % 10).render());
  STRATA_TOUR_SHOW(((a * 40 + b) / 20).render());
  STRATA_TOUR_SHOW(((a * 40 + b) / 20).vmax());

  tour.stage("Sizes", "a shape may be symbolic: one kernel for all of them");
  STRATA_TOUR_RUN(Variable n("n", 1, 16);)
  STRATA_TOUR_RUN(Tensor x = Tensor::full({n.bind(4), 3}, 2.0);)
  STRATA_TOUR_RUN(Tensor total = (x * x).sum();)
  STRATA_TOUR_RUN(LazyOp ast = schedule(std::vector{total.node()}).back().ast;)
  STRATA_TOUR_RUN(Kernel kernel = compile_kernel(ast, Target(), std::vector<Opt>());)
  STRATA_TOUR_SHOW(uops_to_cstyle(CLanguage(), kernel.name, kernel.uops));
  STRATA_TOUR_SHOW(total.item<float>());
}

}  // namespace strata::tools
