#include "strata/engine/kernel_cache.h"

#include <algorithm>
#include <utility>

#include "strata/base/flags.h"
#include "strata/base/fork.h"

namespace strata {

KernelCache& KernelCache::instance() {
  static KernelCache& cache = *new KernelCache;  // never destroyed: threads may outlive every static
  return cache;
}

struct KernelCache::AtFork {
  static void before() { instance().mutex_.lock(); }
  static void after() { instance().mutex_.unlock(); }
  static const ForkHook hook;
};
const ForkHook KernelCache::AtFork::hook(ForkOrder::kernel_cache, &before, &after);

std::shared_ptr<const CompiledKernel> KernelCache::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto it = at_.find(key);
  if (it == at_.end()) {
    ++statistics_.misses;
    return nullptr;
  }
  ++statistics_.hits;
  entries_.splice(entries_.begin(), entries_, it->second);
  return it->second->kernel;
}

std::shared_ptr<const CompiledKernel> KernelCache::get(const LazyOp& kernel, const Device& device,
                                                       std::vector<int> kept) {
  const Key key{kernel, &device, flags::DETERMINISTIC.get(), std::move(kept)};
  if (auto known = find(key)) return known;
  auto made =
      std::make_shared<const CompiledKernel>(compile(kernel, device, std::nullopt, key.deterministic, key.kept));
  std::list<Entry> dropped;  // declared before the lock, so destroyed after its release
  const std::lock_guard lock(mutex_);
  if (const auto it = at_.find(key); it != at_.end()) return it->second->kernel;
  entries_.push_front({key, made});
  at_.emplace(key, entries_.begin());
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(flags::KERNEL_CACHE.get(), 1));
  while (entries_.size() > most) {
    at_.erase(entries_.back().key);
    dropped.splice(dropped.begin(), entries_, std::prev(entries_.end()));
  }
  return made;
}

bool KernelCache::has(const LazyOp& kernel, const Device& device, const std::vector<int>& kept) const {
  const Key key{kernel, &device, flags::DETERMINISTIC.get(), kept};
  const std::lock_guard lock(mutex_);
  return at_.contains(key);
}

KernelCache::Statistics KernelCache::statistics() const {
  const std::lock_guard lock(mutex_);
  Statistics out = statistics_;
  out.size = entries_.size();
  return out;
}

void KernelCache::clear() {
  std::list<Entry> dropped;
  const std::lock_guard lock(mutex_);
  at_.clear();
  dropped.swap(entries_);
}

}  // namespace strata
