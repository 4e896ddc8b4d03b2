// formula(): an elementwise function of many ops as one node of a tensor graph, FORMULA. Eager calls of sigmoid(),
// gelu() or lgamma() make one node then, not a hundred; their kernels are made of the same ops as before.
#pragma once

#include "strata/ops/value.h"

namespace strata::ops {

/// While an object lives, formula() makes FORMULA nodes on this thread. Operations on tensors have one; without a scope
/// formulas are made of their ops, as kernels have them.
class FormulaScope {
 public:
  explicit FormulaScope(bool makes_nodes = true);
  ~FormulaScope();
  FormulaScope(const FormulaScope&) = delete;
  FormulaScope& operator=(const FormulaScope&) = delete;

  static bool makes_nodes();

 private:
  bool before_;
};

/// f(x), by a node of its own where the ops of `f` are many, and no gradient goes through them. @pre `f` is
/// elementwise, and depends on the dtype and the shape of its operand alone
Value formula(Value (*f)(const Value& x), const Value& x);

}  // namespace strata::ops
