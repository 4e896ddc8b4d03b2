#include "strata/runtime/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <utility>

#include "strata/base/check.h"
#include "strata/base/flags.h"
#include "strata/base/fork.h"
#include "strata/runtime/posix_io.h"

namespace strata {
namespace {

/// Guards DiskCache::handle_ of all caches.
std::mutex& handle_mutex() {
  static std::mutex& mutex = *new std::mutex;  // never destroyed: threads may outlive every static
  return mutex;
}

constexpr std::uint32_t kFormat = 1;
constexpr std::array<char, 8> kMagic = {'S', 'T', 'R', 'A', 'T', 'A', 'K', '\n'};
constexpr std::string_view kHalfWritten = "tmp-";
constexpr std::string_view kAside = "not-an-entry-";  // the new name of a folder that had an entry's name
constexpr std::time_t kStrayAge = 3600;               // seconds
constexpr std::uint64_t kTrimShare = 16;  // trim() runs once for each sixteenth of the limit that is written
constexpr std::uint64_t kMostEntryBytes = std::uint64_t{1} << 30;  // of an entry

/// The header of an entry's file.
struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t format = kFormat;
  std::uint32_t size = sizeof(Header);
  std::uint64_t length = 0;  // of the bytes behind it
  Hash128 key;
  Hash128 checksum;
};
static_assert(sizeof(Header) == 56);

/// Calls f() until it is not interrupted by a signal (EINTR).
template <class F>
int retry(const F& f) {
  int result = 0;
  do result = f();
  while (result < 0 && errno == EINTR);
  return result;
}

std::int64_t nanoseconds(const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

/// The key of the entry with this file name; nothing if the name is not an entry's.
std::optional<Hash128> key_of(std::string_view name) {
  if (name.size() != 32) return std::nullopt;
  Hash128 key;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const std::size_t digit = std::string_view("0123456789abcdef").find(name[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    std::uint64_t& word = i < 16 ? key.high : key.low;
    word = word << 4 | digit;
  }
  return key;
}

/// A unique name of a temporary file, also among processes on other machines that share the folder.
std::string fresh_name() {
  Hash128 random;
  if (getentropy(&random, sizeof random) != 0) random = {static_cast<std::uint64_t>(getpid()), 0};
  static std::atomic<std::uint64_t> calls;
  random.low += calls.fetch_add(1, std::memory_order_relaxed);
  return detail::message(kHalfWritten, random.text());
}

/// The absolute path of `folder`, without "/" or "/." at its end, with which O_NOFOLLOW would follow a symbolic link.
std::string plain_path(const std::string& folder) {
  if (folder.empty()) return folder;
  std::error_code ignored;
  std::string out = std::filesystem::absolute(folder, ignored).string();
  while (out.size() > 1 && (out.ends_with('/') || out.ends_with("/."))) out.pop_back();
  return out;
}

void make_folders(const std::filesystem::path& folder) {
  std::filesystem::path part;
  for (const std::filesystem::path& name : folder) {
    part /= name;
    mkdir(part.c_str(), 0700);  // a failure shows when the folder is opened
  }
}

struct File {
  std::string name;
  std::uint64_t bytes = 0;
  timespec last_use{};
  bool is_folder = false;
};

/// Removes a file, link or folder that has an entry's name but is not an entry. A folder that is not empty is renamed
/// instead, and a line on standard error says so.
void clear_away(const Fd& folder, const std::string& name) {
  if (unlinkat(folder.get(), name.c_str(), 0) == 0) return;
  const std::string aside = detail::message(kAside, fresh_name());
  const bool is_removed = unlinkat(folder.get(), name.c_str(), AT_REMOVEDIR) == 0;
  const bool is_aside = !is_removed && renameat(folder.get(), name.c_str(), folder.get(), aside.c_str()) == 0;
  const std::string done = is_removed ? "the empty folder is removed"
                           : is_aside ? detail::message("renamed to ", aside)
                                      : detail::message("it cannot be moved: ", last_error_text());
  std::fputs(
      detail::message("strata: in the cache of compiled kernels, ", name, " is not an entry: ", done, "\n").c_str(),
      stderr);
}

/// The files and folders in `folder` for which keep(name) holds.
template <class Keep>
std::vector<File> list(const Fd& folder, const Keep& keep) {
  std::vector<File> out;
  Fd again(openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!again) return out;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(again.get()), closedir);
  if (stream == nullptr) return out;
  again.release();  // the stream closes it
  while (const dirent* entry = readdir(stream.get())) {
    struct stat status{};
    if (!keep(std::string_view(entry->d_name))) continue;
    if (fstatat(folder.get(), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    out.push_back({entry->d_name, static_cast<std::uint64_t>(status.st_size), status.st_mtim, S_ISDIR(status.st_mode)});
  }
  return out;
}

bool is_half_written(std::string_view name) {
  return name.starts_with(kHalfWritten) && key_of(name.substr(kHalfWritten.size()));
}

bool is_ours(std::string_view name) { return key_of(name) || is_half_written(name); }

/// Opens an entry's file. `damaged`: a symbolic link has its name.
Fd open_entry(const Fd& folder, const std::string& name, bool& damaged) {
  const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;  // O_NONBLOCK: opening a pipe must not block
  Fd file(retry([&] { return openat(folder.get(), name.c_str(), flags); }));
  damaged = !file && errno == ELOOP;
  return file;
}

/// Reads and verifies the entry in `file`. If the result is nothing, `damaged` says whether the file is invalid, or
/// could not be read.
std::optional<std::vector<std::byte>> read_entry(const Fd& file, const Hash128& key, bool& damaged) {
  struct stat status{};
  Header header;
  if (fstat(file.get(), &status) != 0) return std::nullopt;
  damaged = true;
  if (!S_ISREG(status.st_mode) || !DiskCache::refusal(status, geteuid()).empty()) return std::nullopt;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size < sizeof header || size > kMostEntryBytes) return std::nullopt;
  const auto transfer = [&](void* to, std::size_t bytes) {
    const bool read = read_exactly(file.get(), to, bytes);
    if (!read) damaged = errno == 0;  // errno == 0: the file has become shorter since fstat()
    return read;
  };
  if (!transfer(&header, sizeof header)) return std::nullopt;
  const bool fits = header.magic == kMagic && header.format == kFormat && header.size == sizeof header &&
                    header.key == key && header.length == size - sizeof header;
  if (!fits) return std::nullopt;
  std::vector<std::byte> bytes(header.length);
  if (!transfer(bytes.data(), bytes.size()) || hash128(bytes) != header.checksum) return std::nullopt;
  damaged = false;
  return bytes;
}

}  // namespace

Hash128 cache_key(std::initializer_list<std::string_view> parts) {
  Hasher hasher;
  hasher.add(std::as_bytes(std::span(&kFormat, 1)));
  for (const std::string_view part : parts) hasher.add(std::as_bytes(std::span(part)));
  return hasher.finish();
}

std::string DiskCache::refusal(const struct stat& status, ::uid_t user) {
  if (S_ISLNK(status.st_mode)) return "it is a symbolic link";
  if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)) return "it is neither a folder nor a file";
  if (status.st_uid != user) return detail::message("it belongs to user ", status.st_uid, ", not to ", user);
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "users other than the owner may write to it";
  return {};
}

DiskCache::DiskCache(const std::string& folder, std::uint64_t limit)
    : folder_(plain_path(folder)), limit_(limit), handle_(open_folder(off_)) {}

DiskCache::~DiskCache() = default;

Fd DiskCache::open_private(const std::string& folder, std::string& why) {
  make_folders(folder);
  struct stat status{};
  Fd out(openat(AT_FDCWD, folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!out) {
    why = last_error_text();
    if (lstat(folder.c_str(), &status) == 0 && S_ISLNK(status.st_mode)) why = refusal(status, geteuid());
  } else {
    why = fstat(out.get(), &status) == 0 ? refusal(status, geteuid()) : last_error_text();
  }
  return why.empty() ? std::move(out) : Fd();
}

std::shared_ptr<const Fd> DiskCache::open_folder(std::string& why) const {
  why = folder_.empty() ? "there is neither STRATA_CACHE_DIR nor XDG_CACHE_HOME nor HOME" : "";
  if (!why.empty()) return nullptr;
  Fd folder = open_private(folder_, why);
  return folder ? std::make_shared<const Fd>(std::move(folder)) : nullptr;
}

/// The folder's handle, if refusal() trusts it. If the folder has been deleted meanwhile, creates and opens it again.
std::shared_ptr<const Fd> DiskCache::current_folder() const {
  const std::lock_guard lock(handle_mutex());
  struct stat status{};
  std::string why;
  if (!is_on()) return nullptr;
  if (!handle_ || fstat(handle_->get(), &status) != 0 || status.st_nlink == 0) return handle_ = open_folder(why);
  return refusal(status, geteuid()).empty() ? handle_ : nullptr;
}

std::optional<std::vector<std::byte>> DiskCache::find(const Hash128& key) {
  const std::shared_ptr<const Fd> folder = current_folder();
  if (!folder) return std::nullopt;
  const std::string name = key.text();
  bool damaged = false;
  const Fd file = open_entry(*folder, name, damaged);
  std::optional<std::vector<std::byte>> bytes;
  if (file) bytes = read_entry(file, key, damaged);
  if (bytes) {
    futimens(file.get(), nullptr);
    ++counters_.hits;
    return bytes;
  }
  ++counters_.misses;
  if (damaged) {
    ++counters_.damaged;
    clear_away(*folder, name);
  }
  return std::nullopt;
}

// Without fsync(), which is slow: after a power failure the checksum detects an incomplete entry.
bool DiskCache::write_entry(const Hash128& key, std::span<const std::byte> bytes) {
  const std::shared_ptr<const Fd> folder = current_folder();
  if (!folder) return false;
  Header header;
  header.length = bytes.size();
  header.key = key;
  header.checksum = hash128(bytes);
  const std::string name = fresh_name();
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const Fd file(retry([&] { return openat(folder->get(), name.c_str(), flags, 0600); }));
  if (!file) return false;
  const std::string entry = key.text();
  const auto take_place = [&] { return renameat(folder->get(), name.c_str(), folder->get(), entry.c_str()) == 0; };
  if (write_all(file.get(), &header, sizeof header) && write_all(file.get(), bytes.data(), bytes.size())) {
    if (take_place()) return true;
    if (errno == EISDIR) clear_away(*folder, entry);
    if (take_place()) return true;
  }
  unlinkat(folder->get(), name.c_str(), 0);
  return false;
}

bool DiskCache::put(const Hash128& key, std::span<const std::byte> bytes) {
  const std::uint64_t size = bytes.size() + sizeof(Header);
  if (size > std::min(limit_, kMostEntryBytes) || !write_entry(key, bytes)) {
    ++counters_.declined;
    return false;
  }
  ++counters_.stored;
  // trim() lists all entries, so it must be rare. A key is a random number: with probability size / (limit /
  // kTrimShare), put() calls trim(). So trim() runs on average once for each sixteenth of the limit that all processes
  // write, without a shared counter.
  if (key.low % (limit_ / kTrimShare + 1) < size) trim();
  return true;
}

void DiskCache::trim() {
  const std::shared_ptr<const Fd> folder = current_folder();
  if (!folder) return;
  std::vector<File> files = list(*folder, is_ours);
  std::erase_if(files, [](const File& file) { return file.is_folder; });
  const std::time_t now = std::time(nullptr);
  std::uint64_t total = 0;
  for (const File& file : files) total += file.bytes;
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return nanoseconds(a.last_use) < nanoseconds(b.last_use); });
  const std::uint64_t goal = total > limit_ ? limit_ - limit_ / 8 : limit_;
  for (const File& file : files) {
    const bool half = is_half_written(file.name);
    const bool remove = half ? file.last_use.tv_sec < now - kStrayAge : total > goal;
    if (!remove) continue;
    total -= file.bytes;
    if (unlinkat(folder->get(), file.name.c_str(), 0) == 0 && !half) ++counters_.evicted;
  }
}

std::vector<DiskCache::Entry> DiskCache::entries() const {
  std::vector<Entry> out;
  const std::shared_ptr<const Fd> folder = current_folder();
  if (!folder) return out;
  for (const File& file : list(*folder, [](std::string_view name) { return key_of(name).has_value(); }))
    if (!file.is_folder) out.push_back({*key_of(file.name), file.bytes, nanoseconds(file.last_use)});
  std::sort(out.begin(), out.end(), [](const Entry& a, const Entry& b) { return a.last_use > b.last_use; });
  return out;
}

std::vector<Hash128> DiskCache::damaged() const {
  std::vector<Hash128> out;
  const std::shared_ptr<const Fd> folder = current_folder();
  if (!folder) return out;
  for (const Entry& entry : entries()) {
    bool damaged = false;
    const Fd file = open_entry(*folder, entry.key.text(), damaged);
    if (file) read_entry(file, entry.key, damaged);
    if (damaged) out.push_back(entry.key);
  }
  for (const File& file : list(*folder, [](std::string_view name) { return key_of(name).has_value(); }))
    if (file.is_folder) out.push_back(*key_of(file.name));
  return out;
}

std::size_t DiskCache::clear() {
  std::size_t count = 0;
  const std::shared_ptr<const Fd> folder = current_folder();
  if (!folder) return count;
  for (const File& file : list(*folder, is_ours))
    count += unlinkat(folder->get(), file.name.c_str(), file.is_folder ? AT_REMOVEDIR : 0) == 0 ? 1 : 0;
  return count;
}

DiskCache::Statistics DiskCache::statistics() const {
  return {counters_.hits, counters_.misses, counters_.damaged, counters_.stored, counters_.declined, counters_.evicted};
}

std::string DiskCache::default_folder() {
  if (std::string folder = flags::CACHE_DIR.get(); !folder.empty()) return folder;
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return detail::message(cache, "/strata");
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return detail::message(home, "/.cache/strata");
  return {};
}

std::uint64_t DiskCache::default_limit() {
  constexpr std::int64_t most = std::int64_t{1} << 40;  // MiB; as bytes they fit in 64 bits
  return static_cast<std::uint64_t>(std::clamp<std::int64_t>(flags::CACHE_SIZE.get(), 0, most)) << 20;
}

namespace {

/// The cache of the process. NOTE: never destroyed, because threads may outlive every static object.
struct SharedCache {
  std::mutex mutex;
  std::shared_ptr<DiskCache> cache;
  std::string folder;  // the value of default_folder() for which `cache` was made
};
SharedCache& shared_cache() {
  static SharedCache& shared = *new SharedCache;
  return shared;
}

const ForkHook cache_hook(
    ForkOrder::disk_cache,
    [] {
      shared_cache().mutex.lock();
      handle_mutex().lock();
    },
    [] {
      handle_mutex().unlock();
      shared_cache().mutex.unlock();
    });

}  // namespace

std::shared_ptr<DiskCache> DiskCache::shared() {
  if (!flags::DISK_CACHE.get()) return nullptr;
  const std::uint64_t limit = default_limit();
  const std::string folder = default_folder();
  SharedCache& shared = shared_cache();
  const std::lock_guard lock(shared.mutex);
  if (shared.cache && shared.folder == folder && shared.cache->limit_ == limit) return shared.cache;
  shared.cache = std::make_shared<DiskCache>(folder, limit);
  shared.folder = folder;
  if (!shared.cache->is_on())
    std::fputs(detail::message("strata: compiled kernels are not kept on disk, '", shared.cache->folder(),
                               "' cannot be used: ", shared.cache->why_off(), "\n")
                   .c_str(),
               stderr);
  return shared.cache;
}

}  // namespace strata
