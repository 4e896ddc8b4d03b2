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

namespace {
std::size_t most_kernels() { return static_cast<std::size_t>(std::max<std::int64_t>(flags::KERNEL_CACHE.get(), 1)); }
}  // namespace

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
                                                       std::vector<int> kept, std::optional<std::vector<Opt>> opts) {
  const Key key{kernel, &device, flags::DETERMINISTIC.get(), std::move(kept), opts.has_value()};
  if (auto known = find(key)) return known;
  auto made =
      std::make_shared<const CompiledKernel>(compile(kernel, device, std::move(opts), key.deterministic, key.kept));
  std::list<Entry> dropped;  // declared before the lock, so destroyed after its release
  const std::lock_guard lock(mutex_);
  if (const auto it = at_.find(key); it != at_.end()) return it->second->kernel;
  entries_.push_front({key, made});
  at_.emplace(key, entries_.begin());
  while (entries_.size() > most_kernels()) {
    at_.erase(entries_.back().key);
    dropped.splice(dropped.begin(), entries_, std::prev(entries_.end()));
  }
  return made;
}

bool KernelCache::has(const LazyOp& kernel, const Device& device, const std::vector<int>& kept, bool is_form) const {
  const Key key{kernel, &device, flags::DETERMINISTIC.get(), kept, is_form};
  const std::lock_guard lock(mutex_);
  return at_.contains(key);
}

std::optional<std::vector<Opt>> KernelCache::opts_of_form(const LazyOp& form, const LazyOp& kernel,
                                                          const Device& device, const std::vector<int>& kept) {
  const Key key{form, &device, flags::DETERMINISTIC.get(), kept};
  std::list<Form> dropped;  // declared before the locks, so destroyed after their release
  {
    const std::lock_guard lock(mutex_);
    const auto it = form_at_.find(key);
    if (it == form_at_.end()) {
      forms_.push_front({key});
      form_at_.emplace(key, forms_.begin());
      while (forms_.size() > most_kernels()) {
        form_at_.erase(forms_.back().key);
        dropped.splice(dropped.begin(), forms_, std::prev(forms_.end()));
      }
      return std::nullopt;
    }
    forms_.splice(forms_.begin(), forms_, it->second);
    if (it->second->is_known) return it->second->opts;
  }
  std::optional<std::vector<Opt>> opts =
      compile_kernel(kernel, target_of(device, key.deterministic), std::nullopt, nullptr, kept).opts;
  // NOTE: the kernels of the parts of a sum choose Opts of their own.
  const auto chooses_more = [](const Opt& o) { return o.kind == Opt::Kind::SPLITREDUCE || o.kind == Opt::Kind::BLOCK; };
  if (!opts->empty() && chooses_more(opts->front())) opts.reset();
  const std::lock_guard lock(mutex_);
  if (const auto it = form_at_.find(key); it != form_at_.end()) {
    it->second->opts = opts;
    it->second->is_known = true;
  }
  return opts;
}

void KernelCache::refuse_form(const LazyOp& form, const Device& device, const std::vector<int>& kept) {
  const Key key{form, &device, flags::DETERMINISTIC.get(), kept};
  const std::lock_guard lock(mutex_);
  if (const auto it = form_at_.find(key); it != form_at_.end()) it->second->opts.reset();
}

KernelCache::Statistics KernelCache::statistics() const {
  const std::lock_guard lock(mutex_);
  Statistics out = statistics_;
  out.size = entries_.size();
  return out;
}

void KernelCache::clear() {
  std::list<Entry> dropped;
  std::list<Form> forms;
  const std::lock_guard lock(mutex_);
  at_.clear();
  dropped.swap(entries_);
  form_at_.clear();
  forms.swap(forms_);
}

}  // namespace strata
