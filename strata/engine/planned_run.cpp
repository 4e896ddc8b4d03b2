#include "strata/engine/planned_run.h"

#include "strata/engine/kept_nodes.h"
#include "strata/engine/realize.h"
#include "strata/schedule/memory_plan.h"

namespace strata {

PlannedRun planned_run(std::span<const LazyOp> roots, const Device& device) {
  KeptNodes kept(roots);
  const std::vector<ScheduleItem> items = schedule(roots, fusion_options(device));
  kept.find(items);
  const MemoryPlan plan = plan_memory(items, [&](const LazyOp& n) { return kept.contains(n); });
  PlannedRun out{plan.peak, plan.unshared};
  for (const ScheduleItem& item : items) out.loops += item.is_loop() ? 1 : 0;
  return out;
}

}  // namespace strata
