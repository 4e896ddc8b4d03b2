// Traced: a captured function (jit.h) as a graph of tensors, before any kernel is made of it. For programs that write
// the operations of a function elsewhere (onnx/to_onnx.h).
#pragma once

#include <string>
#include <vector>

#include "strata/expr/expr.h"
#include "strata/graph/lazy_op.h"

namespace strata {

/// A change that a traced function makes to a tensor from outside.
struct TracedChange {
  std::string what;  ///< "assigns to a tensor of shape (3,)"
  LazyOp value;      ///< the new value
};

/// The graph of a function. Nodes that are realized are memory from outside.
struct Traced {
  std::string name;              ///< of the function
  std::vector<LazyOp> inputs;    ///< by argument: a placeholder, whose bound sizes have the values of the capture
  std::vector<LazyOp> outputs;   ///< by result
  std::vector<Expr> integers;    ///< arguments that are no tensors, without values
  Values values;                 ///< of the variables, in the captured call
  bool keeps_values = false;     ///< the capture is for `values` alone
  std::vector<const void*> fed;  ///< memory that the host fills before each run
  std::vector<TracedChange> changes;
};

}  // namespace strata
