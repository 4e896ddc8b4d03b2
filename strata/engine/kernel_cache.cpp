#include "strata/engine/kernel_cache.h"

#include <algorithm>
#include <utility>

#include "strata/base/flags.h"
#include "strata/base/fork.h"
#include "strata/codegen/heuristic.h"
#include "strata/graph/absorb.h"

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

std::shared_ptr<const CompiledKernel> KernelCache::add(const Key& key, std::optional<std::vector<Opt>> opts) {
  auto made = std::make_shared<const CompiledKernel>(
      compile(key.kernel, *key.device, std::move(opts), key.deterministic, key.kept));
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

std::shared_ptr<const CompiledKernel> KernelCache::get(const LazyOp& kernel, const Device& device,
                                                       std::vector<int> kept) {
  const Key key{kernel, &device, flags::DETERMINISTIC.get(), std::move(kept)};
  auto known = find(key);
  return known ? known : add(key, std::nullopt);
}

std::shared_ptr<const CompiledKernel> KernelCache::get_form(const LazyOp& form, const LazyOp& kernel,
                                                            const Device& device, const std::vector<int>& kept) {
  Key key{form, &device, flags::DETERMINISTIC.get(), kept, true};
  if (auto known = find(key)) return known;
  if (is_refused(key)) return nullptr;
  try {
    return add(key, opts_of_form(key, kernel));
  } catch (const Error&) {  // a form need not be proven where its kernels are
    refuse(key);
    return nullptr;
  }
}

std::shared_ptr<const CompiledKernel> KernelCache::known(const LazyOp& kernel, const Device& device) {
  const Key key{kernel, &device, flags::DETERMINISTIC.get(), {}};
  const std::lock_guard lock(mutex_);
  const auto it = at_.find(key);
  if (it == at_.end()) return nullptr;
  ++statistics_.hits;
  entries_.splice(entries_.begin(), entries_, it->second);
  return it->second->kernel;
}

bool KernelCache::has(const LazyOp& kernel, const Device& device, const std::vector<int>& kept, bool is_form) const {
  const Key key{kernel, &device, flags::DETERMINISTIC.get(), kept, is_form};
  const std::lock_guard lock(mutex_);
  return at_.contains(key);
}

bool KernelCache::is_known_form(const LazyOp& form, const Device& device, const std::vector<int>& kept) {
  const Key key{form, &device, flags::DETERMINISTIC.get(), kept, true};
  std::list<Form> dropped;  // declared before the lock, so destroyed after its release
  const std::lock_guard lock(mutex_);
  if (const auto it = form_at_.find(key); it != form_at_.end()) {
    forms_.splice(forms_.begin(), forms_, it->second);
    return !it->second->is_refused;
  }
  forms_.push_front({key});
  form_at_.emplace(key, forms_.begin());
  while (forms_.size() > most_kernels()) {
    form_at_.erase(forms_.back().key);
    dropped.splice(dropped.begin(), forms_, std::prev(forms_.end()));
  }
  return false;
}

/// @throws Error (undefined) where the kernel has no Opts that the form may have; as compile_kernel()
std::vector<Opt> KernelCache::opts_of_form(const Key& key, const LazyOp& kernel) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = form_at_.find(key); it != form_at_.end() && it->second->opts) return *it->second->opts;
  }
  std::vector<Opt> opts = heuristic_opts(absorb_movement(kernel), target_of(*key.device, key.deterministic), key.kept);
  // NOTE: the kernels of the parts of a sum choose Opts of their own.
  const bool chooses_more = !opts.empty() && (opts[0].kind == Opt::Kind::SPLITREDUCE ||
                                              opts[0].kind == Opt::Kind::SPLITSCAN || opts[0].kind == Opt::Kind::BLOCK);
  STRATA_CHECK(!chooses_more, undefined, "[", opts[0].text(), "] its kernels have Opts of their own");
  const std::lock_guard lock(mutex_);
  const auto it = form_at_.find(key);
  if (it == form_at_.end()) return opts;
  if (!it->second->opts) it->second->opts = std::move(opts);
  return *it->second->opts;
}

bool KernelCache::is_refused(const Key& key) const {
  const std::lock_guard lock(mutex_);
  const auto it = form_at_.find(key);
  return it != form_at_.end() && it->second->is_refused;
}

void KernelCache::refuse(const Key& key) {
  const std::lock_guard lock(mutex_);
  if (const auto it = form_at_.find(key); it != form_at_.end()) it->second->is_refused = true;
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
