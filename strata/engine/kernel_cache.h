// Compiled kernels of this process, by what they compute and for which device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "strata/runtime/device.h"

namespace strata {

/// Compiled kernels by kernel, device, and whether they are deterministic.
class KernelCache {
 public:
  /// How often a kernel was there, how often not, and how many are.
  struct Statistics {
    std::uint64_t hits = 0, misses = 0;
    std::size_t size = 0;  ///< kernels that are kept
  };

  /// That of the process, which keeps as many kernels as the flag KERNEL_CACHE says: those used last.
  static KernelCache& instance();

  /// What is compiled of `kernel` (a SINK) on `device`, compiled if it is not there, deterministic as the flag says. Two threads that
  /// ask for one at once may both compile it.
  /// @throws what compile() throws
  std::shared_ptr<const CompiledKernel> get(const LazyOp& kernel, const Device& device);

  Statistics statistics() const;
  void clear();

 private:
  struct AtFork;
  struct Key {
    LazyOp kernel;
    const Device* device;
    bool deterministic;
    bool operator==(const Key&) const = default;
  };
  struct HashKey {
    std::size_t operator()(const Key& k) const {
      return std::hash<const void*>()(k.kernel.node()) * 31 + std::hash<const void*>()(k.device) +
             (k.deterministic ? 1 : 0);
    }
  };
  struct Entry {
    Key key;
    std::shared_ptr<const CompiledKernel> kernel;
  };
  std::shared_ptr<const CompiledKernel> find(const Key& key);

  mutable std::mutex mutex_;
  // All guarded by mutex_.
  std::list<Entry> entries_;  // used last ones first
  std::unordered_map<Key, std::list<Entry>::iterator, HashKey> at_;
  Statistics statistics_;
};

}  // namespace strata
