// The lines of a trace (runtime/trace_file.h) about realize(): the graph, the schedule with the reason of each kernel
// boundary, and the memory plan. realize() and explain_as_trace() write them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "strata/runtime/device.h"
#include "strata/runtime/trace_file.h"
#include "strata/runtime/trace_nodes.h"
#include "strata/schedule/memory_plan.h"
#include "strata/schedule/schedule.h"

namespace strata {

/// The text of a complete trace of what would run for `roots` on `device`. Nothing runs.
/// @param items the schedule of `roots`  @param plan the memory plan of `items`
/// @param kernels the kernels of the items, each AST once
std::string trace_of_graph(std::span<const LazyOp> roots, std::span<const ScheduleItem> items, const MemoryPlan& plan,
                           std::span<const std::shared_ptr<const Kernel>> kernels, const Device& device);

/// Writes the lines of one realize() of this thread, from its schedule to its end. Without a trace it does nothing.
class TracedRealize {
 public:
  /// Call before `roots` are scheduled: the time of scheduling counts from here.
  /// @pre `roots` outlive this object
  explicit TracedRealize(std::span<const LazyOp> roots);
  ~TracedRealize();
  TracedRealize(const TracedRealize&) = delete;
  TracedRealize& operator=(const TracedRealize&) = delete;

  /// Writes the graph and its schedule, and the line of this realize(); nothing if there are no items. A graph whose
  /// lines are equal to those of an earlier one is not written again.
  /// @param roots those of the constructor  @param blocks the memory of plan.blocks, in their order
  void scheduled(std::span<const LazyOp> roots, std::span<const ScheduleItem> items, const MemoryPlan& plan,
                 std::span<const Buffer> blocks, const Device& device);
  /// The runs of kernels that follow on this thread belong to item `k`, an index of scheduled()'s items.
  void at_item(std::size_t k) {
    if (realize_ != 0) TraceItem::current() = {realize_, static_cast<std::int64_t>(k)};
  }
  /// All items have run. Without it, the destructor's line says that the realize() failed.
  void done() { is_done_ = true; }

 private:
  TraceFile* const trace_;
  const std::int64_t begin_;
  const TraceNodes nodes_;
  const TraceItem outer_ = TraceItem::current();
  std::int64_t realize_ = 0;
  bool is_done_ = false;
};

}  // namespace strata
