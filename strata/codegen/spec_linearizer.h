// Linearizer: the class of the specification that turns a kernel into a list of UOps, and with which a list can be
// built by hand. The compiler itself uses compile_kernel().
//
//   Linearizer k(ast);
//   k.linearize();                       // fills k.uops; without Opts by default
//
//   k.uops = UOpGraph();
//   k.render_loop({Variable("x", 0, 10)});
//   k.uops.print();                      // CONST 0, CONST 11, LOOP [0, 1]
//   k.close_loops();                     // verify() and the renderers refuse a list with an open loop
#pragma once

#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "strata/codegen/kernel.h"

namespace strata {

/// A loop variable with its range [begin, end); by default the variable's bounds. Both may be symbolic.
struct LoopRange {
  LoopRange(Variable v) : variable(std::move(v)), begin(variable.min()), end(variable.max() + 1) {}
  /// @pre [first, behind) is within the variable's bounds
  LoopRange(Variable v, Expr first, Expr behind)
      : variable(std::move(v)), begin(std::move(first)), end(std::move(behind)) {}
  Variable variable;
  Expr begin, end;  ///< half-open
};

/// A kernel and the list of UOps made of it.
class Linearizer {
 public:
  /// @throws Error (domain) unless `ast` is a SINK
  explicit Linearizer(const LazyOp& ast, const Target& target = {});

  /// Replaces `uops` by the list of the kernel with `opts`. @throws as compile_kernel()
  void linearize(std::span<const Opt> opts = {});

  /// Adds a LOOP for each variable, the first one outermost, each behind the UOps of its begin and end. The loops stay
  /// open until close_loops().
  std::vector<UOp> render_loop(std::span<const LoopRange> loops);
  std::vector<UOp> render_loop(std::initializer_list<LoopRange> loops) {
    return render_loop(std::span<const LoopRange>(loops.begin(), loops.size()));
  }
  /// Adds an ENDLOOP for each open loop, innermost first.
  void close_loops();
  /// Adds the UOps of `e`. Variables of open loops are their counters; other variables become DEFINE_VARs.
  UOp render(const Expr& e);
  UOp constant(std::int64_t value, DType dtype = dtypes::int32) { return uops.constant(dtype, value); }

  UOpGraph uops;
  std::vector<std::pair<Variable, UOp>> loop_uops;  ///< open loops, outermost first

 private:
  LazyOp ast_;
  Target target_;
};

}  // namespace strata
