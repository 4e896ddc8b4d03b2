// KernelCache: the compiled kernels of this process. realize() looks up the kernel of each schedule item here, so that
// a loop that builds the same graph again compiles nothing. On a miss, the disk cache (runtime/disk_cache.h) may still
// have the compiled code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "strata/runtime/device.h"

namespace strata {

/// A least-recently-used cache of compiled kernels, keyed by AST, device, the flag DETERMINISTIC and the buffers whose
/// packed elements are kept. Graph nodes are unique (two equal ASTs are one node), so a lookup compares pointers.
/// Thread-safe.
class KernelCache {
 public:
  /// The lookups of this process, and the present size.
  struct Statistics {
    std::uint64_t hits = 0, misses = 0;  ///< a kernel that the disk cache had is a miss, too
    std::size_t size = 0;                ///< kernels in the cache
  };

  /// The cache of the process. It keeps as many kernels as the flag KERNEL_CACHE says, at least 1: those used last. It
  /// is never destroyed.
  static KernelCache& instance();

  /// The kernel of `ast` (a SINK, with plain variables) on `device`, compiled on a miss, with the Opts that compile()
  /// chooses; `kept` is as of compile(). The result stays valid when the cache drops it. Two threads that miss the same
  /// kernel at the same time both compile it; one result is kept.
  /// @throws as compile()
  std::shared_ptr<const CompiledKernel> get(const LazyOp& kernel, const Device& device, std::vector<int> kept = {});

  /// Whether get() would find the kernel. Counts nothing.
  bool has(const LazyOp& kernel, const Device& device, const std::vector<int>& kept) const;

  Statistics statistics() const;
  /// Drops all kernels. The counts of hits and misses stay.
  void clear();

 private:
  struct AtFork;
  struct Key {
    LazyOp kernel;
    const Device* device;
    bool deterministic;
    std::vector<int> kept;
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
  std::list<Entry> entries_;  // the most recently used one in front
  std::unordered_map<Key, std::list<Entry>::iterator, HashKey> at_;
  Statistics statistics_;
};

}  // namespace strata
