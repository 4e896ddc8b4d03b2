// schedule(): turns a graph into the list of kernels that realize its roots, in execution order. The engine (engine/realize.h) runs the
// list.
//
//   for (const ScheduleItem& item : schedule({y}))    // y = softmax(x @ w)
//     std::cout << item.text() << item.ast.text();
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strata/schedule/fusion.h"

namespace strata {

/// A step of a schedule: a kernel, a copy between devices, or an output that is the memory of an input.
struct ScheduleItem {
  /// A kernel: a SINK, whose slots are the outputs, then the inputs, with plain variables in place of bound ones. A copy between devices:
  /// a FROM. An output that is the whole memory of the input: a LOAD.
  LazyOp ast;
  std::vector<LazyOp> outputs;  ///< the nodes that the item computes. Of a CONCAT, each item computes one part
  std::vector<LazyOp> inputs;  ///< the nodes that it reads: realized, or outputs of earlier items
  Values values;               ///< the values of the kernel's variables
  Boundary why = Boundary::asked;   ///< why the first output is materialized
  std::optional<LazyOp> part = {};  ///< of a CONCAT: the source that the item computes

  bool is_kernel() const { return ast.op() == Ops::SINK; }
  /// The item as a line of explain(): "a kernel of shape (64, 10): shared", with the user's source line.
  std::string text() const;
};

/// The items that realize `roots`, in execution order; nothing for roots that are realized. Independent kernels of the same shape that
/// share an input are merged into one kernel with several stores. @throws Error (domain) for a graph that kernels cannot express
std::vector<ScheduleItem> schedule(std::span<const LazyOp> roots, const FusionOptions& options = {});

}  // namespace strata
