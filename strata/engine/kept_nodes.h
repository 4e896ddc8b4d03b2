// KeptNodes: which results of a realize() outlast it, beside its roots. Internal to engine/.
#pragma once

#include <span>
#include <unordered_set>
#include <vector>

#include "strata/schedule/schedule.h"

namespace strata {

/// The nodes below roots whose results a later gradient or a tensor may need:
///
/// - tracked nodes below a tracked root: its gradients can still be taken;
/// - tracked nodes that something beside the graph of the roots refers to, e.g. a tensor, or the loss where the roots
/// are
///   its gradients; where such a node is a part of a larger kernel, the results from which it is computed.
///
/// All others are needed by the roots alone, as the results of a training step are by the new parameters.
class KeptNodes {
 public:
  /// Counts who refers to the nodes below. @param items the schedule of the roots, where there is one already: it
  /// refers to nodes, too. @pre no other schedule of them is there
  explicit KeptNodes(std::span<const LazyOp> roots, std::span<const ScheduleItem> items = {});
  /// Finds the kept ones among the results of `items`.
  void find(std::span<const ScheduleItem> items);
  bool contains(const LazyOp& n) const { return asked_.contains(n.node()) || kept_.contains(n.node()); }

 private:
  std::span<const LazyOp> roots_;
  std::vector<LazyOp> outside_;  // tracked nodes that others refer to
  std::unordered_set<const LazyNode*> asked_, kept_;
};

}  // namespace strata
