// KernelCache: the compiled kernels of this process. realize() looks up the kernel of each schedule item here, so that
// a loop that builds the same graph again compiles nothing. On a miss, the disk cache (runtime/disk_cache.h) may still
// have the compiled code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

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

  /// The kernel of `ast` (a SINK, with plain variables) on `device`, compiled on a miss; `kept` is as of compile(). The
  /// result stays valid when the cache drops it. Two threads that miss the same kernel at the same time both compile
  /// it; one result is kept.
  /// @throws as compile()
  std::shared_ptr<const CompiledKernel> get(const LazyOp& kernel, const Device& device, std::vector<int> kept = {});

  /// The kernel, where get() would find it; else null, which is no miss.
  std::shared_ptr<const CompiledKernel> known(const LazyOp& kernel, const Device& device);

  /// Whether get(), or where `is_form` get_form(), would find the kernel. Counts nothing.
  bool has(const LazyOp& kernel, const Device& device, const std::vector<int>& kept, bool is_form = false) const;

  /// Whether a kernel of the form (kernel_form.h) came before; notes that one has come. False where get_form() found
  /// that its kernels cannot be replaced. As many forms are known as kernels are kept.
  bool is_known_form(const LazyOp& form, const Device& device, const std::vector<int>& kept);

  /// As get(), the kernel `form`, with the Opts with which it computes the same as `kernel`, bit by bit: those of
  /// `kernel`, or of the kernel of the form for which it was compiled first. Null where no such Opts exist, or the form
  /// does not compile with them. @pre is_known_form() was asked
  std::shared_ptr<const CompiledKernel> get_form(const LazyOp& form, const LazyOp& kernel, const Device& device,
                                                 const std::vector<int>& kept);

  Statistics statistics() const;
  /// Drops all kernels and forms. The counts of hits and misses stay.
  void clear();

 private:
  struct AtFork;
  struct Key {
    LazyOp kernel;
    const Device* device;
    bool deterministic;
    std::vector<int> kept;
    bool is_form = false;  // compiled with the Opts of another kernel
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
  struct Form {
    Key key;
    std::optional<std::vector<Opt>> opts = {};  // nothing: unknown, or there are none
    bool is_refused = false;                    // there are none
  };
  std::shared_ptr<const CompiledKernel> find(const Key& key);
  std::shared_ptr<const CompiledKernel> add(const Key& key, std::optional<std::vector<Opt>> opts);
  std::vector<Opt> opts_of_form(const Key& key, const LazyOp& kernel);
  bool is_refused(const Key& key) const;
  void refuse(const Key& key);

  mutable std::mutex mutex_;
  // All guarded by mutex_.
  std::list<Entry> entries_;  // the most recently used one in front
  std::unordered_map<Key, std::list<Entry>::iterator, HashKey> at_;
  std::list<Form> forms_;  // the one used most recently in front
  std::unordered_map<Key, std::list<Form>::iterator, HashKey> form_at_;
  Statistics statistics_;
};

}  // namespace strata
