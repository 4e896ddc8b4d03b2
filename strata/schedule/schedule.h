// schedule(): turns a graph into the list of kernels that realize its roots, in execution order. The engine
// (engine/realize.h) runs the list.
//
//   for (const ScheduleItem& item : schedule({y}))    // y = softmax(x @ w)
//     std::cout << item.text() << '\n' << item.ast.text();
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strata/schedule/fusion.h"

namespace strata {

/// A step of a schedule: a kernel, a loop, a copy between devices, or an output that is the memory of an input.
struct ScheduleItem {
  /// A loop: a SCAN, one of its outputs, which are all SCAN nodes of the loop. A kernel: a SINK, whose slots are the
  /// outputs, then the inputs, with plain variables in place of bound ones: one compiled kernel serves all values. A
  /// copy between devices: a FROM. An output that is the whole memory of the input: a LOAD.
  LazyOp ast;
  std::vector<LazyOp>
      outputs;  ///< the nodes that the item stores. Each item of a CONCAT has the CONCAT here, and stores one part
  std::vector<LazyOp> inputs;       ///< the nodes that it reads: realized, or outputs of earlier items
  Values values;                    ///< pairs of a plain variable and its value
  Boundary why = Boundary::asked;   ///< why the first output is materialized
  std::optional<LazyOp> part = {};  ///< of a CONCAT: the source that the item computes

  bool is_kernel() const { return ast.op() == Ops::SINK; }
  bool is_loop() const { return ast.op() == Ops::SCAN; }
  /// Whether the output has the memory of the input.
  bool is_shared() const { return !is_kernel() && !is_loop(); }
  /// The item as a line of explain(), without line end: "a kernel of shape (64, 10): shared", with the user's source
  /// line. Copies read as "the memory of its input, of shape (64, 10): asked", too.
  std::string text() const;
};

/// The items that realize `roots`, in execution order; nothing for roots that are realized. Runs nothing, and leaves
/// the graph as it is. With options.fuse, independent kernels of the same shape that share an input are merged into one
/// kernel with several stores.
/// @throws Error (domain) where one kernel would have a variable with two values
std::vector<ScheduleItem> schedule(std::span<const LazyOp> roots, const FusionOptions& options = {});

}  // namespace strata
