// The specification's Linearizer: a kernel, and the list of UOps that it becomes, which may also be built by hand.
//
//   Linearizer k(ast);
//   k.linearize();                       // fills k.uops, without any Opts unless they are given
//
//   k.uops = UOpGraph();
//   k.render_loop({Variable("x", 0, 10)});
//   k.uops.print();                      // CONST 0, CONST 11, LOOP [0, 1]
//   k.close_loops();                     // a list with an open loop is refused by verify, and by the renderers
#pragma once

#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "strata/codegen/kernel.h"

namespace strata {

/// A loop variable and its range; by default that of the variable. Ends may be symbolic.
struct LoopRange {
  LoopRange(Variable v) : variable(std::move(v)), begin(variable.min()), end(variable.max() + 1) {}
  /// @pre [first, behind) lies inside of the variable's bounds
  LoopRange(Variable v, Expr first, Expr behind)
      : variable(std::move(v)), begin(std::move(first)), end(std::move(behind)) {}
  Variable variable;
  Expr begin, end;  ///< half-open
};

/// A kernel and its list of UOps.
class Linearizer {
 public:
  /// @throws Error (domain) unless `ast` is a SINK
  explicit Linearizer(const LazyOp& ast, const Target& target = {});

  /// Fills `uops`. @throws as compile_kernel
  void linearize(std::span<const Opt> opts = {});

  /// Adds a LOOP for each variable, the first outermost, after the UOps of its ends; they are open until close_loops.
  std::vector<UOp> render_loop(std::span<const LoopRange> loops);
  std::vector<UOp> render_loop(std::initializer_list<LoopRange> loops) {
    return render_loop(std::span<const LoopRange>(loops.begin(), loops.size()));
  }
  /// Adds an ENDLOOP for each open loop, innermost first.
  void close_loops();
  /// An expression over the variables of open loops, and others, which become DEFINE_VARs.
  UOp render(const Expr& e);
  UOp constant(std::int64_t value, DType dtype = dtypes::int32) {
    return uops.constant(dtype, value);
  }

  UOpGraph uops;
  std::vector<std::pair<Variable, UOp>> loop_uops;  ///< open loops, outermost first

 private:
  LazyOp ast_;
  Target target_;
};

}  // namespace strata
