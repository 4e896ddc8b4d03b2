// PlanCache: plans of kernels, by kernel and shardings. Thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "strata/spmd/kernel_plan.h"

namespace strata {

/// The plans of this process that were used last. Kernels are unique (two equal ones are one node), so a lookup
/// compares the node and the texts of the shardings.
class PlanCache {
 public:
  /// Never destroyed.
  static PlanCache& instance();
  static constexpr std::size_t kMostPlans = 1024;

  /// The plan of `question`, made on a miss. @throws as plan_kernel()
  std::shared_ptr<const KernelPlan> get(const KernelQuestion& question);

 private:
  struct AtFork;
  struct Entry {
    std::string key;
    LazyOp kernel;  // keeps the node that the key names
    std::shared_ptr<const Ranks> ranks;
    std::shared_ptr<const KernelPlan> plan;
  };

  std::mutex mutex_;
  // All guarded by mutex_.
  std::list<Entry> entries_;  // the one used last in front
  std::unordered_map<std::string, std::list<Entry>::iterator> at_;
};

}  // namespace strata
