// Views: chains of movement operations, merging, index expressions, layouts.
#include "bench/micro.h"
#include "strata/view.h"

namespace strata::bench {
namespace {

// Eight operations as a convolution's input meets them; all but the last end in one View.
ShapeTracker chain_of_8() {
  return ShapeTracker::from_shape({16, 64, 56, 56})
      .pad({{0, 0}, {0, 0}, {1, 1}, {1, 1}})
      .permute({0, 2, 3, 1})
      .shrink({{0, 16}, {1, 57}, {1, 57}, {0, 64}})
      .reshape({16, 3136, 64})
      .flip({2})
      .reshape({16, 3136, 1, 64})
      .expand({16, 3136, 4, 64})
      .permute({0, 2, 1, 3});
}

// Eight operations with a stack of two Views in between that comes back to one.
ShapeTracker chain_through_2() {
  return ShapeTracker::from_shape({10, 10})
      .permute({1, 0})
      .reshape({5, 2, 5, 2})
      .reshape({100})
      .reshape({10, 10})
      .permute({1, 0})
      .flip({0})
      .pad({{1, 1}, {0, 0}})
      .shrink({{1, 11}, {0, 10}});
}

// A 3x3 sliding window over a padded image: two Views, and none says it alone.
ShapeTracker window() {
  return ShapeTracker::from_shape({58, 58}).reshape({1, 58, 1, 58}).expand({3, 58, 3, 58}).reshape({174, 174});
}

}  // namespace

void bench_views() {
  const ShapeTracker transposed = ShapeTracker::from_shape({4096, 4096}).permute({1, 0});
  const std::vector<View> split = {transposed.views()[0], View::create({64, 64, 4096})};
  const Ints tiles = {64, 64, 4096};
  print_goals(
      "Views",
      {
          {row("8 ops, simplify: one View throughout", [] { keep(chain_of_8().simplify().views().size()); }), 2000},
          {row("8 ops, simplify: two Views on the way", [] { keep(chain_through_2().simplify().views().size()); }),
           2000},
          {row("8 ops, simplify, index expression, text",
               [] { keep(chain_of_8().simplify().expr_idxs().index.render().size()); }),
           20000},
          {row("8 ops through two Views, index expression, text",
               [] { keep(chain_through_2().simplify().expr_idxs().index.render().size()); }),
           20000},
          {row("transpose + split of 4096x4096", [=] { keep(transposed.reshape(tiles).views().size()); }), 2000},
          {row("the same, two Views merged", [=] { keep((split[0] + split[1]).has_value()); }), 2000},
          {row("sliding window: refused", [] { keep(window().simplify().views().size()); })},
          {row("its index expression and text", [] { keep(window().expr_idxs().index.render().size()); })},
      });
}

}  // namespace strata::bench
