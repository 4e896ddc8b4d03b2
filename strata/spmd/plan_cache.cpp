#include "strata/spmd/plan_cache.h"

#include "strata/base/fork.h"

namespace strata {

struct PlanCache::AtFork {
  static void before() { instance().mutex_.lock(); }
  static void after() { instance().mutex_.unlock(); }
  static const ForkHook hook;
};
const ForkHook PlanCache::AtFork::hook(ForkOrder::tensors, &before, &after);

namespace {

std::string key_of(const KernelQuestion& q) {
  std::string out = detail::message(reinterpret_cast<std::uintptr_t>(q.kernel.node()), " ",
                                    reinterpret_cast<std::uintptr_t>(q.ranks.get()), q.is_deterministic ? "d" : "");
  for (std::size_t k = 0; k < q.shapes.size(); ++k)
    out += detail::message(";", render(q.shapes[k]), q.stated[k] ? render(*q.stated[k]) : "?");
  for (const ShardedInput& input : q.inputs)
    out += detail::message(";", render(input.sharding.shape()), render(*input.sharding.splits()), input.dtype.name());
  if (q.part) out += detail::message(";", q.part->axis.value_or(-1), " ", q.part->begin);
  return out;
}

}  // namespace

PlanCache& PlanCache::instance() {
  static PlanCache& cache = *new PlanCache;
  return cache;
}

std::shared_ptr<const KernelPlan> PlanCache::get(const KernelQuestion& question) {
  const std::string key = key_of(question);
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = at_.find(key); it != at_.end()) {
      entries_.splice(entries_.begin(), entries_, it->second);
      return it->second->plan;
    }
  }
  auto plan = std::make_shared<const KernelPlan>(plan_kernel(question));
  const std::lock_guard lock(mutex_);
  if (at_.contains(key)) return plan;
  entries_.push_front({key, question.kernel, question.ranks, plan});
  at_.emplace(key, entries_.begin());
  if (entries_.size() > kMostPlans) {
    at_.erase(entries_.back().key);
    entries_.pop_back();
  }
  return plan;
}

}  // namespace strata
