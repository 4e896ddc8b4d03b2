// From a graph to what has to run, in order.
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

/// A kernel; or values for another device, or memory under another name.
struct ScheduleItem {
  /// A SINK, whose slots are outputs, then inputs, its bound variables replaced by plain ones; FROM for values of another device; LOAD
  /// where the output is the input's memory as it stands.
  LazyOp ast;
  std::vector<LazyOp> outputs;  ///< nodes of the graph that it makes; of a CONCAT, several items make a part each
  std::vector<LazyOp> inputs;      ///< nodes that it reads: realized, or outputs of items before
  Values values;                   ///< of the variables
  Boundary why = Boundary::asked;  ///< why its first output is not inside of another kernel
  std::optional<LazyOp> part = {};  ///< of a CONCAT: which of its sources is computed, into its place

  bool is_kernel() const { return ast.op() == Ops::SINK; }
  /// "a kernel of shape (64, 10): shared" and where the user wrote it, in a line: what explain() says.
  std::string text() const;
};

/// What has to run for `roots` to be realized, in order; nothing for those that are. Kernels of the same shape that read the same
/// and do not wait for one another are one, with several stores.
/// @throws Error (domain) for a graph that no kernel can say
std::vector<ScheduleItem> schedule(std::span<const LazyOp> roots, const FusionOptions& options = {});

}  // namespace strata
