// What a trace says of a realize(): its graph, the schedule with the reasons for its boundaries, the plan of its memory.
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

/// A whole trace of what is to run for `roots`, with its kernels; nothing of it is run.
/// @param kernels one for each item that is a kernel
std::string trace_of_graph(std::span<const LazyOp> roots, std::span<const ScheduleItem> items,
                           const MemoryPlan& plan,
                           std::span<const std::shared_ptr<const Kernel>> kernels,
                           const Device& device);

/// A realize() of this thread, from its schedule to its end; nothing where there is no trace.
class TracedRealize {
 public:
  /// Before `roots` are scheduled.
  explicit TracedRealize(std::span<const LazyOp> roots);
  ~TracedRealize();
  TracedRealize(const TracedRealize&) = delete;
  TracedRealize& operator=(const TracedRealize&) = delete;

  /// What is to run is known. Graphs that read the same are written once.
  void scheduled(std::span<const LazyOp> roots, std::span<const ScheduleItem> items,
                 const MemoryPlan& plan, std::span<const Buffer> blocks, const Device& device);
  /// Kernels that run now are those of an item.
  void at_item(std::size_t k) {
    if (realize_ != 0) TraceItem::current() = {realize_, static_cast<std::int64_t>(k)};
  }
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
