// DiskCache: compiled kernels on disk, shared by all processes of a user. The devices LLVM and CLANG look up a kernel
// here before they compile it.
//
// The cache is a folder with one file an entry, named by its key. A file is a header with length and checksum, then the
// code. An entry is written under a temporary name, then renamed: a process that is killed at any moment leaves the old
// entry or the new one, and perhaps a temporary file, which trim() deletes after an hour. Every read verifies the
// checksum. The cache never fails a compilation: an entry that cannot be read is a miss, an entry that cannot be
// written is declined, and the statistics count both.
//
// Only its user may be able to write to the folder (refusal()), because entries are code that will run.
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

/// The key of compiled code: a hash of all that determines it, e.g. source text, compiler and version, flags,
/// processor. The version of the entry format is hashed, too. The kernel's name must not be among the parts
/// (kContentName).
Hash128 cache_key(std::initializer_list<std::string_view> parts);

/// A cache of compiled code in a private folder, with a limit on its size. Thread-safe, and safe with other processes
/// that use the folder.
class DiskCache {
 public:
  /// Counts of this process and this object.
  struct Statistics {
    std::uint64_t hits = 0, misses = 0;
    /// Misses whose entry failed verification. The entry is deleted; a folder in its place is moved aside.
    std::uint64_t damaged = 0;
    std::uint64_t stored = 0;
    std::uint64_t declined = 0;  ///< not stored: disk full, no permission, or too large
    std::uint64_t evicted = 0;   ///< deleted by trim() to keep the limit
  };
  /// A file of the folder.
  struct Entry {
    Hash128 key;
    std::uint64_t bytes = 0;    ///< of the file, header included
    std::int64_t last_use = 0;  ///< nanoseconds since 1970
  };

  /// A cache in `folder`, which is created if missing. `limit` bounds the bytes of all files; trim() enforces it. If
  /// the folder cannot be used, the cache is off: find() finds nothing, put() declines everything.
  DiskCache(const std::string& folder, std::uint64_t limit);
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;
  ~DiskCache();

  /// The cache of the process, as the flags DISK_CACHE, CACHE_DIR and CACHE_SIZE say at the call; null if DISK_CACHE is
  /// 0. If its folder cannot be used, one line on standard error says so.
  static std::shared_ptr<DiskCache> shared();
  /// The flag CACHE_DIR; else the folder "strata" in XDG_CACHE_HOME or ~/.cache; empty if none of these is set.
  static std::string default_folder();
  /// The flag CACHE_SIZE (MiB), in bytes.
  static std::uint64_t default_limit();

  /// Creates `folder` if missing and opens it. Returns an empty Fd, and the reason in `why`, if that fails or refusal()
  /// refuses the folder.
  static Fd open_private(const std::string& folder, std::string& why);

  /// The reason why `user` cannot trust a folder or file of this status: a link, of another user, writable by others.
  /// Empty if trusted.
  static std::string refusal(const struct stat& status, ::uid_t user);

  bool is_on() const { return off_.empty(); }
  const std::string& why_off() const { return off_; }  ///< empty if the cache is on
  const std::string& folder() const { return folder_; }
  std::uint64_t limit() const { return limit_; }

  /// The bytes of the entry `key`, verified, or nothing. A hit sets the entry's time of last use.
  std::optional<std::vector<std::byte>> find(const Hash128& key);
  /// Stores `bytes` as the entry `key`, replacing an existing one. Returns false if declined. On average once for each
  /// sixteenth of the limit that is written, also calls trim().
  bool put(const Hash128& key, std::span<const std::byte> bytes);

  Statistics statistics() const;
  /// All entries, last used first.
  std::vector<Entry> entries() const;
  /// Reads and verifies every entry. Returns the keys of damaged ones in the order of entries(), then those of folders
  /// in an entry's place. Changes nothing. An entry that another process deletes meanwhile does not count as damaged.
  std::vector<Hash128> damaged() const;
  /// Deletes every entry and every temporary file of the cache, and no other file. Returns the number of deleted files.
  /// Other processes can go on: code that they have read stays valid, and an entry that they are writing is declined.
  std::size_t clear();
  /// If the files exceed the limit, deletes entries, least recently used first, down to 7/8 of the limit. Also deletes
  /// temporary files older than an hour.
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
