// ScheduleCache: the schedules of this process by the structure of their graphs. A loop that builds the same graph of
// other tensors again schedules it once; realize() looks here before it calls schedule().
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "strata/schedule/schedule.h"

namespace strata {

/// A least-recently-used cache. Two graphs have one structure where their nodes down to memory have the same ops,
/// dtypes, shapes, arguments and sources, and the same nodes are tracked; the memory may be another. A schedule is kept
/// when its structure comes for the second time. Thread-safe.
class ScheduleCache {
 public:
  /// What the cache has answered and what it holds.
  struct Statistics {
    std::uint64_t hits = 0, misses = 0;
    std::size_t size = 0;   ///< schedules in the cache
    std::size_t nodes = 0;  ///< nodes of their graphs, at most kMostNodes
  };
  static constexpr std::size_t kMostNodes = std::size_t{1} << 15;

  /// The cache of the process; it is never destroyed.
  static ScheduleCache& instance();

  /// schedule(roots, options). Where this thread is metered or its rewrites are traced, nothing is looked up or kept.
  /// @throws as schedule()
  std::vector<ScheduleItem> get(std::span<const LazyOp> roots, const FusionOptions& options);

  Statistics statistics() const;
  /// Drops all schedules. The counts of hits and misses stay.
  void clear();

 private:
  struct AtFork;
  class Numbers;
  struct Structure;
  struct Entry;
  static constexpr std::size_t kSeen = 4096;

  std::shared_ptr<const Entry> find(const Structure& structure);
  /// Whether the structure came before; notes that it has come.
  bool is_known(std::uint64_t hash);
  void keep(std::shared_ptr<const Entry> entry);

  mutable std::mutex mutex_;
  // All guarded by mutex_.
  std::list<std::shared_ptr<const Entry>> entries_;  // the one used most recently in front
  std::unordered_multimap<std::uint64_t, std::list<std::shared_ptr<const Entry>>::iterator> at_;  // by hash
  std::vector<std::uint64_t> seen_ = std::vector<std::uint64_t>(kSeen);  // hashes, at their place modulo kSeen
  Statistics statistics_;
};

}  // namespace strata
