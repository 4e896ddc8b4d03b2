// Constructors: on nodes that exist already (a lookup), and on nodes that are made and die each turn.
#include "bench/micro.h"
#include "strata/expr/expr.h"

namespace strata::bench {

namespace {

/// A row that makes `make()` while the same node is alive.
template <class F>
Goal existing(const char* name, F make) {
  return {row(name, [alive = make(), make] { keep(make().node()); }), 50};
}

/// A row that makes a node which dies at once.
template <class F>
Goal fresh(const char* name, F make) {
  return {row(name, [make] { keep(make().node()); })};
}

}  // namespace

void bench_nodes() {
  const Variable x("x", 0, 4095), y("y", 0, 63), z("z", 0, 7);
  const Expr index = (x * 64 + y) * 8 + z;
  print_goals("a node that exists already",
              {
                  existing("copy of a handle", [=] { return Expr(x); }),
                  existing("Expr(7)", [] { return Expr(7); }),
                  existing("Expr(1000003)", [] { return Expr(1000003); }),
                  existing("Variable(\"x\", 0, 4095)", [] { return Variable("x", 0, 4095); }),
                  existing("x + y", [=] { return x + y; }),
                  existing("x + 3", [=] { return x + 3; }),
                  existing("x * 64", [=] { return x * 64; }),
                  existing("x - y", [=] { return x - y; }),
                  existing("x * y", [=] { return x * y; }),
                  existing("x // 3", [=] { return x / 3; }),
                  existing("x % 3", [=] { return x % 3; }),
                  existing("x < 9", [=] { return x < 9; }),
                  existing("x < y", [=] { return x < y; }),
                  existing("min(x, y)", [=] { return min(x, y); }),
              });
  print_goals("larger operands, no target",
              {
                  {row("(512*x+8*y+z) + x, exists", [=, alive = index + x] { keep((index + x).node()); })},
                  {row("(512*x+8*y+z) // 8", [=, alive = index / 8] { keep((index / 8).node()); })},
                  {row("(512*x+8*y+z) % 512", [=, alive = index % 512] { keep((index % 512).node()); })},
                  {row("(512*x+8*y+z) // 5, irreducible", [=, alive = index / 5] { keep((index / 5).node()); })},
                  {row("(512*x+8*y+z) % 5, irreducible", [=, alive = index % 5] { keep((index % 5).node()); })},
              });
  print_goals("a node that is made and dies", {
                                                  fresh("Expr(1000033)", [] { return Expr(1000033); }),
                                                  fresh("Variable(\"t\", 0, 99)", [] { return Variable("t", 0, 99); }),
                                                  fresh("x + y", [=] { return x + y; }),
                                                  fresh("x * 3 + 1", [=] { return x * 3 + 1; }),
                                                  fresh("x // 7", [=] { return x / 7; }),
                                                  fresh("x % 7", [=] { return x % 7; }),
                                                  fresh("min(x, z)", [=] { return min(x, z); }),
                                              });
}

}  // namespace strata::bench
