// Compiled kernels on disk, shared by the processes of one user.
//
// A folder of entries, each a file named by its key: a header with length and checksum, then the bytes. An entry is
// written under another name and renamed, so that a process that is ended at any moment leaves the old state or the
// new one; what it may leave beside them is swept after an hour. Reading verifies everything. Nothing here fails a
// compilation: what cannot be read is a miss, what cannot be written is declined, and both are counted.
//
// The folder must be its user's alone (refusal()): an entry is code that will be run.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/runtime/hash128.h"

namespace strata {

class Fd;

/// The key of what is made of `parts`: the content without names, what makes it, the processor, options. The
/// version of the format of entries is one more part.
Hash128 cache_key(std::initializer_list<std::string_view> parts);

/// Compiled code in a private folder, bounded, shared by processes; what is found is checked before it is used.
class DiskCache {
 public:
  /// What this process asked for and put there.
  struct Statistics {
    std::uint64_t hits = 0, misses = 0;
    std::uint64_t damaged =
        0;  ///< misses because an entry was not what it should be; it is deleted, or moved aside
    std::uint64_t stored = 0;
    std::uint64_t declined = 0;  ///< not stored: no room, no right, too large
    std::uint64_t evicted = 0;
  };
  /// A file of the folder.
  struct Entry {
    Hash128 key;
    std::uint64_t bytes = 0;    ///< of the file
    std::int64_t last_use = 0;  ///< nanoseconds since 1970
  };

  /// The cache in `folder`, which is made where it is missing, for files of `limit` bytes altogether. Where the
  /// folder cannot be used the cache is off: it finds nothing and declines everything.
  DiskCache(const std::string& folder, std::uint64_t limit);
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;
  ~DiskCache();

  /// The cache that the flags DISK_CACHE, CACHE_DIR and CACHE_SIZE describe; null where it is turned off. Where it
  /// cannot be used, that is said once on standard error.
  static std::shared_ptr<DiskCache> shared();
  /// CACHE_DIR, else strata in XDG_CACHE_HOME or ~/.cache; empty where none of them is known.
  static std::string default_folder();
  /// CACHE_SIZE in bytes.
  static std::uint64_t default_limit();

  /// `folder`, made where it is missing and opened where it is its user's alone; else nothing, and why not.
  static Fd open_private(const std::string& folder, std::string& why);

  /// Why entries in a folder or file with this status cannot be trusted by `user`; empty where they can.
  static std::string refusal(const struct stat& status, ::uid_t user);

  bool is_on() const { return off_.empty(); }
  const std::string& why_off() const { return off_; }
  const std::string& folder() const { return folder_; }
  std::uint64_t limit() const { return limit_; }

  /// The bytes that were put under `key`; they count as used now.
  std::optional<std::vector<std::byte>> find(const Hash128& key);
  /// Keeps `bytes` under `key`, in place of what was there. False where that was declined.
  bool put(const Hash128& key, std::span<const std::byte> bytes);

  Statistics statistics() const;
  /// What is there, the entry that was used last first.
  std::vector<Entry> entries() const;
  /// Reads every entry: the keys of those that are not what they should be, in the order of entries(). Nothing is
  /// changed; an entry that goes meanwhile is none of them.
  std::vector<Hash128> damaged() const;
  /// Deletes every entry and everything half written, and no other file. Returns how many files that were. Other
  /// processes may go on: what they have read they keep, what they are writing is declined.
  std::size_t clear();
  /// Deletes what was used longest ago until the rest is within the limit, and what was left half written over an
  /// hour ago.
  void trim();

 private:
  struct Counters {
    std::atomic<std::uint64_t> hits, misses, damaged, stored, declined, evicted;
  };

  std::shared_ptr<const Fd> open_folder(std::string& why) const;
  std::shared_ptr<const Fd> current_folder() const;
  bool write_entry(const Hash128& key, std::span<const std::byte> bytes);

  std::string folder_;
  std::uint64_t limit_;
  std::string off_;
  mutable std::shared_ptr<const Fd> handle_;  // of the folder; guarded by a mutex that all caches share
  Counters counters_{};
};

}  // namespace strata
