// What is done with finished expressions: evaluate, render, parse, substitute, compare.
#include "bench/micro.h"
#include "strata/expr/expr.h"
#include "strata/expr/parse.h"

namespace strata::bench {

void bench_reading() {
  const Variable n("n", 0, 7), c("c", 0, 63), h("h", 0, 55), w("w", 0, 55);
  const std::vector<Variable> names = {n, c, h, w};
  const Expr flat = ((n * 64 + c) * 56 + h) * 56 + w;
  const Expr index = flat / 5 % 14 + flat % 5;
  const Values point = {{n, 3}, {c, 17}, {h, 40}, {w, 55}};
  const std::string flat_text = flat.render(), index_text = index.render();
  print_goals("flat = ((n*64+c)*56+h)*56+w, index = flat//5%14 + flat%5",
              {
                  {row("evaluate(flat)", [=] { keep(evaluate(flat, point)); })},
                  {row("evaluate(index)", [=] { keep(evaluate(index, point)); })},
                  {row("flat.render()", [=] { keep(flat.render().size()); })},
                  {row("index.render()", [=] { keep(index.render().size()); })},
                  {row("parse(flat)", [=] { keep(parse(flat_text, names).node()); })},
                  {row("parse(index)", [=] { keep(parse(index_text, names).node()); })},
                  {row("substitute(index, w -> 55-w)", [=] { keep(substitute(index, {{w, 55 - w}}).node()); })},
                  {row("simplify(index)", [=] { keep(simplify(index).node()); })},
                  {row("variables(index)", [=] { keep(variables(index).size()); })},
                  {row("compare(flat, index)", [=] { keep(compare(flat, index)); })},
                  {row("index.facts()", [=] { keep(index.facts().max); })},
              });
}

}  // namespace strata::bench
