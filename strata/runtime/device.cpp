// The table of devices, and the executor that runs their kernels.

#include "strata/runtime/device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

#include "strata/base/flags.h"
#include "strata/base/fork.h"
#include "strata/runtime/cpu_features.h"
#include "strata/runtime/devices.h"
#include "strata/runtime/tbb_executor.h"

namespace strata {

namespace {

std::atomic<Executor*>& chosen_executor() {
  static std::atomic<Executor*> chosen{nullptr};
  return chosen;
}

}  // namespace

std::string Device::assembly(const Kernel& kernel) const {
  STRATA_CHECK(!kernel.order, undefined, "[assembly] ", kernel.name,
               " is a kernel of the host: it was compiled with the library");
  const KernelCost cost = cost_of(kernel.ast);
  return assembly_of(source(kernel), {kernel.contract, cost.operations, cost.bytes});
}

std::string Device::assembly_of(std::string_view /*source*/, const SourceFacts& /*facts*/) const {
  throw Error(ErrorKind::undefined, detail::message("[assembly] ", name(), " has no machine code"));
}

std::span<const Device* const> Device::all() {
  static const std::array devices{&llvm_device(), &clang_device(), &opencl_device(), &interp_device(), &null_device()};
  return devices;
}

const Device& Device::get(std::string_view name) {
  std::string known;
  for (const Device* d : all()) {
    if (d->name() == name) return *d;
    known += detail::message(known.empty() ? "" : ", ", d->name());
  }
  throw Error(ErrorKind::domain, detail::message("[device] there is no device \"", name, "\": there are ", known));
}

const Device& Device::default_device() {
  const std::string wanted = flags::DEVICE.get();
  if (!wanted.empty()) return get(wanted);
  const auto devices = all();
  // OPENCL is skipped: missing() opens its drivers, which takes long.
  return **std::find_if(devices.begin(), devices.end(),
                        [](const Device* d) { return d != &opencl_device() && d->missing().empty(); });
}

namespace {

/// Strata's own executor, created on first use. NOTE: never destroyed, because threads may outlive every static object.
struct OwnExecutor {
  std::mutex mutex;
  std::atomic<Executor*> made{nullptr};
};
OwnExecutor& own_executor() {
  static OwnExecutor& own = *new OwnExecutor;
  return own;
}

const ForkHook executor_hook(
    ForkOrder::backends, [] { own_executor().mutex.lock(); }, [] { own_executor().mutex.unlock(); });
const ForkHook devices_hook(
    ForkOrder::tables,
    [] {
      Device::all();
      cpu_features();
    },
    [] {});

}  // namespace

Executor& default_executor() {
  if (Executor* const chosen = chosen_executor().load(std::memory_order_acquire)) return *chosen;
  OwnExecutor& own = own_executor();
  if (Executor* const made = own.made.load(std::memory_order_acquire)) return *made;
  const std::lock_guard lock(own.mutex);
  if (Executor* const made = own.made.load(std::memory_order_relaxed)) return *made;
  const std::int64_t threads = flags::THREADS.get();
  STRATA_CHECK(threads >= 0, domain, "[flags] THREADS is ", threads, ": a number of threads, or 0");
  Executor* const made = make_executor(static_cast<int>(std::min<std::int64_t>(threads, 4096))).release();
  own.made.store(made, std::memory_order_release);
  return *made;
}

void set_default_executor(Executor* executor) { chosen_executor().store(executor, std::memory_order_release); }

}  // namespace strata
