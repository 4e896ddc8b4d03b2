// The disk cache: what is put is found, damage is noticed, the folder is private, the size is bounded.
// Many processes at once, and processes that are ended: disk_cache_process_test.cpp.
#include "strata/runtime/disk_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "strata/base/flags.h"
#include "strata/runtime/posix_io.h"
#include "tests/base/files.h"

namespace strata {
namespace {

using Bytes = std::vector<std::byte>;
constexpr std::uint64_t kLimit = 1 << 20;
constexpr std::uint64_t kHeader = 56;

Bytes bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Hash128 key_of(int i) { return cache_key({"test", std::to_string(i)}); }

/// What a writer calls its file before it is whole.
std::string half_written(int i) { return "tmp-" + key_of(i).text(); }

/// A cache in a folder of its own.
struct Fixture {
  PrivateFolder top;
  DiskCache cache;
  explicit Fixture(std::uint64_t limit = kLimit) : cache(top.file("cache"), limit) {}
  std::string file(const std::string& name) const { return cache.folder() + "/" + name; }
  std::string file(const Hash128& key) const { return file(key.text()); }
};

/// Sets the time of the last use to `seconds` ago.
void age(const std::string& path, std::time_t seconds) {
  const timespec time{std::time(nullptr) - seconds, 0};
  const timespec both[2] = {time, time};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), both, 0), 0);
}

TEST(Hash128, DiffersWhereContentsDo) {
  std::set<Hash128> seen;
  std::size_t count = 0;
  const auto add = [&](const std::string& text) {
    seen.insert(hash128(bytes_of(text)));
    ++count;
  };
  for (std::size_t length = 0; length < 300; ++length) add(std::string(length, '\0'));
  for (std::size_t at = 0; at < 100; ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string text(100, '\0');
      text[at] = static_cast<char>(1 << bit);
      add(text);
    }
  for (int i = 0; i < 20'000; ++i) add(std::to_string(i));
  EXPECT_EQ(seen.size(), count);
  std::set<std::uint64_t> halves;
  for (const Hash128& hash : seen) halves.insert({hash.high, hash.low});
  EXPECT_EQ(halves.size(), 2 * count);
}

TEST(Hash128, OfElementsDiffersWhereElementsDo) {
  std::set<Hash128> seen;
  std::size_t count = 0;
  const auto add = [&](const Bytes& elements) {
    seen.insert(hash128_of_elements(elements));
    ++count;
  };
  for (std::size_t length = 0; length < 300; ++length) add(Bytes(length));
  for (std::size_t at = 0; at < 500; ++at)
    for (int bit = 0; bit < 8; ++bit) {
      Bytes elements(500);
      elements[at] = static_cast<std::byte>(1 << bit);
      add(elements);
    }
  for (std::size_t at = 1; at < 500; ++at) {  // an element at another place, and two that are exchanged
    Bytes elements(500, std::byte{7});
    elements[at] = std::byte{9};
    add(elements);
    elements[at - 1] = std::byte{11};
    add(elements);
    std::swap(elements[at], elements[at - 1]);
    add(elements);
  }
  EXPECT_EQ(seen.size(), count);
}

TEST(Hash128, OneBitChangesHalfOfTheBits) {
  for (const std::size_t length : {1UL, 8UL, 15UL, 16UL, 17UL, 40UL}) {
    double changed = 0, cases = 0;
    for (std::size_t at = 0; at < length; ++at)
      for (int bit = 0; bit < 8; ++bit) {
        Bytes text(length, std::byte{0x33});
        const Hash128 before = hash128(text);
        text[at] ^= static_cast<std::byte>(1 << bit);
        const Hash128 after = hash128(text);
        changed += std::popcount(before.high ^ after.high) + std::popcount(before.low ^ after.low);
        ++cases;
      }
    EXPECT_NEAR(changed / cases, 64, 7) << length;
  }
}

TEST(CacheKey, PartsAreKeptApart) {
  EXPECT_EQ(cache_key({"ab", "c"}), cache_key({"ab", "c"}));
  EXPECT_NE(cache_key({"ab", "c"}), cache_key({"a", "bc"}));
  EXPECT_NE(cache_key({"ab", ""}), cache_key({"ab"}));
  EXPECT_NE(cache_key({"ab", "c"}), cache_key({"c", "ab"}));
  EXPECT_EQ(cache_key({}).text().size(), 32U);
}

TEST(DiskCache, FindsWhatWasPut) {
  Fixture f;
  EXPECT_TRUE(f.cache.is_on()) << f.cache.why_off();
  EXPECT_FALSE(f.cache.find(key_of(1)));
  for (const std::string& text : {std::string(), std::string("x"), std::string(50'000, 'y')}) {
    EXPECT_TRUE(f.cache.put(key_of(1), bytes_of(text)));  // in place of what was there
    EXPECT_EQ(f.cache.find(key_of(1)), bytes_of(text));
  }
  EXPECT_FALSE(f.cache.find(key_of(2)));
  DiskCache other(f.cache.folder() + "//./", kLimit);
  EXPECT_EQ(other.folder(), f.cache.folder());
  EXPECT_TRUE(other.find(key_of(1)));
  const DiskCache::Statistics s = f.cache.statistics();
  EXPECT_EQ(s.hits, 3U);
  EXPECT_EQ(s.misses, 2U);
  EXPECT_EQ(s.stored, 3U);
  EXPECT_EQ(s.damaged + s.declined + s.evicted, 0U);
}

TEST(DiskCache, ListsAndClears) {
  Fixture f;
  for (int i = 0; i < 3; ++i) f.cache.put(key_of(i), bytes_of("abc"));
  age(f.file(key_of(0)), 30);
  age(f.file(key_of(1)), 10);
  age(f.file(key_of(2)), 20);
  const auto keys = [&] {
    std::vector<Hash128> out;
    for (const DiskCache::Entry& entry : f.cache.entries()) out.push_back(entry.key);
    return out;
  };
  EXPECT_EQ(keys(), (std::vector{key_of(1), key_of(2), key_of(0)}));
  EXPECT_EQ(f.cache.entries()[0].bytes, kHeader + 3);
  f.cache.find(key_of(0));  // used now
  EXPECT_EQ(keys(), (std::vector{key_of(0), key_of(1), key_of(2)}));
  write_file(f.file(half_written(1)), "half");
  for (const char* name : {"README", "tmp-notes"}) write_file(f.file(name), "mine");
  EXPECT_EQ(f.cache.clear(), 4U);
  EXPECT_TRUE(f.cache.entries().empty());
  for (const char* name : {"README", "tmp-notes"}) EXPECT_TRUE(std::filesystem::exists(f.file(name))) << name;
}

TEST(DiskCache, TellsTheDamagedAndChangesNothing) {
  Fixture f;
  for (int i = 0; i < 4; ++i) f.cache.put(key_of(i), bytes_of("the machine code"));
  for (int i = 0; i < 4; ++i) age(f.file(key_of(i)), std::time_t{10} * i);
  EXPECT_TRUE(f.cache.damaged().empty());
  write_file(f.file(key_of(1)), "cut");
  std::filesystem::remove(f.file(key_of(3)));
  std::filesystem::create_symlink(f.file(key_of(0)), f.file(key_of(3)));
  std::vector<Hash128> damaged = f.cache.damaged();
  std::sort(damaged.begin(), damaged.end());
  std::vector<Hash128> expected{key_of(1), key_of(3)};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(damaged, expected);
  EXPECT_EQ(f.cache.entries().size(), 4U);
  EXPECT_EQ(f.cache.statistics().misses + f.cache.statistics().hits, 0U);
  EXPECT_TRUE(f.cache.find(key_of(2)));
}

TEST(DiskCache, EveryDamageIsAMiss) {
  Fixture f;
  const Hash128 key = key_of(1);
  const std::string whole = [&] {
    f.cache.put(key, bytes_of("the machine code"));
    std::ifstream file(f.file(key), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  ASSERT_EQ(whole.size(), kHeader + 16);
  std::vector<std::string> damaged;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    damaged.push_back(whole.substr(0, i));
    damaged.push_back(whole);
    damaged.back()[i] ^= 0x10;
  }
  damaged.push_back(whole + "x");
  damaged.push_back(whole + whole);
  for (const std::string& text : damaged) {
    write_file(f.file(key), text);
    chmod(f.file(key).c_str(), 0600);
    EXPECT_FALSE(f.cache.find(key));
    EXPECT_FALSE(std::filesystem::exists(f.file(key)));
  }
  EXPECT_EQ(f.cache.statistics().damaged, damaged.size());
  write_file(f.file(key), whole);
  EXPECT_EQ(f.cache.find(key), bytes_of("the machine code"));
}

TEST(DiskCache, FoldersWithTheNameOfAnEntryAreMovedAside) {
  for (const bool is_empty : {true, false}) {
    for (const bool asks : {true, false}) {
      Fixture f;
      const std::string path = f.file(key_of(1));
      ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
      if (!is_empty) std::ofstream(path + "/something") << "of somebody's";
      EXPECT_EQ(f.cache.damaged(), std::vector<Hash128>{key_of(1)});
      EXPECT_TRUE(f.cache.entries().empty());
      testing::internal::CaptureStderr();
      if (asks) {
        EXPECT_FALSE(f.cache.find(key_of(1)).has_value());
      }
      EXPECT_TRUE(f.cache.put(key_of(1), bytes_of("kernel")));
      const std::string said = testing::internal::GetCapturedStderr();
      EXPECT_NE(said.find(key_of(1).text() + " is not an entry: " + (is_empty ? "the empty folder" : "renamed to ")),
                std::string::npos)
          << said;
      EXPECT_EQ(f.cache.find(key_of(1)), bytes_of("kernel"));
      EXPECT_TRUE(f.cache.damaged().empty());
      EXPECT_EQ(f.cache.statistics().damaged, asks ? 1U : 0U);
      std::size_t kept = 0;
      for (const auto& entry : std::filesystem::directory_iterator(f.cache.folder()))
        kept += std::filesystem::exists(entry.path() / "something") ? 1 : 0;
      EXPECT_EQ(kept, is_empty ? 0U : 1U);
    }
  }
}

TEST(DiskCache, LinksToFoldersAndFilesWithoutPermissionAreReplaced) {
  Fixture f;
  const PrivateFolder other;
  ASSERT_EQ(symlink(other.path().c_str(), f.file(key_of(1)).c_str()), 0);
  EXPECT_FALSE(f.cache.find(key_of(1)).has_value());
  EXPECT_TRUE(f.cache.put(key_of(1), bytes_of("kernel")));
  EXPECT_EQ(f.cache.find(key_of(1)), bytes_of("kernel"));
  ASSERT_EQ(chmod(f.file(key_of(1)).c_str(), 0), 0);
  EXPECT_TRUE(f.cache.put(key_of(1), bytes_of("another")));
  EXPECT_EQ(f.cache.find(key_of(1)), bytes_of("another"));
}

TEST(DiskCache, OnlyFilesOfItsOwnAreEntries) {
  Fixture f;
  f.cache.put(key_of(1), bytes_of("abc"));
  // An entry under another name.
  std::filesystem::rename(f.file(key_of(1)), f.file(key_of(2)));
  EXPECT_FALSE(f.cache.find(key_of(2)));
  // What others could write to, a link, a pipe that nobody writes to.
  f.cache.put(key_of(1), bytes_of("abc"));
  chmod(f.file(key_of(1)).c_str(), 0666);
  EXPECT_FALSE(f.cache.find(key_of(1)));
  f.cache.put(key_of(1), bytes_of("abc"));
  std::filesystem::create_symlink(f.file(key_of(1)), f.file(key_of(3)));
  EXPECT_FALSE(f.cache.find(key_of(3)));
  ASSERT_EQ(mkfifo(f.file(key_of(4)).c_str(), 0600), 0);
  EXPECT_FALSE(f.cache.find(key_of(4)));
  EXPECT_EQ(f.cache.statistics().damaged, 4U);
  EXPECT_TRUE(f.cache.find(key_of(1)));
  EXPECT_EQ(f.cache.entries().size(), 1U);
}

TEST(DiskCache, RefusesWhatOthersCanWriteTo) {
  struct stat status{};
  const auto refused = [&](mode_t mode, uid_t owner) {
    status.st_mode = mode;
    status.st_uid = owner;
    return DiskCache::refusal(status, 1000);
  };
  for (const mode_t mode : {0700U, 0755U, 0500U, 0750U}) EXPECT_EQ(refused(S_IFDIR | mode, 1000), "");
  EXPECT_EQ(refused(S_IFREG | 0600, 1000), "");
  EXPECT_EQ(refused(S_IFLNK | 0777, 1000), "it is a symbolic link");
  EXPECT_EQ(refused(S_IFIFO | 0600, 1000), "it is neither a folder nor a file");
  for (const mode_t mode : {0720U, 0702U, 0777U, 01777U})
    EXPECT_EQ(refused(S_IFDIR | mode, 1000), "users other than the owner may write to it");
  for (const uid_t owner : {0U, 1001U, 65534U})
    EXPECT_EQ(refused(S_IFDIR | 0700, owner), "it belongs to user " + std::to_string(owner) + ", not to 1000");
}

TEST(DiskCache, TheFolderIsMadePrivate) {
  const mode_t before = umask(0);
  const PrivateFolder top;
  const DiskCache cache(top.file("a") + "/b/c", kLimit);
  umask(before);
  EXPECT_TRUE(cache.is_on()) << cache.why_off();
  for (const char* part : {"a", "a/b", "a/b/c"}) {
    struct stat status{};
    ASSERT_EQ(stat(top.file(part).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0700U);
  }
}

TEST(DiskCache, IsOffWhereTheFolderCannotBeTrusted) {
  const PrivateFolder top;
  const auto why = [&](const std::string& name) {
    DiskCache cache(name.empty() ? name : top.file(name.c_str()), kLimit);
    EXPECT_FALSE(cache.is_on());
    EXPECT_FALSE(cache.put(key_of(1), bytes_of("abc")));
    EXPECT_FALSE(cache.find(key_of(1)));
    EXPECT_TRUE(cache.entries().empty());
    EXPECT_EQ(cache.clear(), 0U);
    cache.trim();
    EXPECT_EQ(cache.statistics().declined, 1U);
    return cache.why_off();
  };
  std::filesystem::create_directory(top.file("open"));
  chmod(top.file("open").c_str(), 0777);
  EXPECT_EQ(why("open"), "users other than the owner may write to it");
  std::filesystem::create_directory(top.file("real"));
  std::filesystem::create_symlink(top.file("real"), top.file("link"));
  EXPECT_EQ(why("link"), "it is a symbolic link");
  EXPECT_EQ(why("link/"), "it is a symbolic link");
  EXPECT_EQ(why("link/."), "it is a symbolic link");
  write_file(top.file("file"), "text");
  EXPECT_EQ(why("file"), "Not a directory");
  EXPECT_EQ(why("file/below"), "Not a directory");
  EXPECT_NE(why("").find("HOME"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(top.file("real")));
}

TEST(DiskCache, FollowsWhatHappensToItsFolder) {
  Fixture f;
  EXPECT_TRUE(f.cache.put(key_of(1), bytes_of("abc")));
  chmod(f.cache.folder().c_str(), 0777);
  EXPECT_FALSE(f.cache.find(key_of(1)));
  EXPECT_FALSE(f.cache.put(key_of(2), bytes_of("abc")));
  chmod(f.cache.folder().c_str(), 0700);
  EXPECT_TRUE(f.cache.find(key_of(1)));
  std::filesystem::remove_all(f.cache.folder());
  EXPECT_FALSE(f.cache.find(key_of(1)));
  EXPECT_TRUE(f.cache.put(key_of(1), bytes_of("abc")));  // made again
  EXPECT_TRUE(f.cache.find(key_of(1)));
  std::filesystem::remove_all(f.cache.folder());
  write_file(f.cache.folder(), "a file in its place");
  EXPECT_FALSE(f.cache.put(key_of(1), bytes_of("abc")));
  std::filesystem::remove(f.cache.folder());
  EXPECT_TRUE(f.cache.put(key_of(1), bytes_of("abc")));
}

TEST(DiskCache, EvictsWhatWasUsedLongestAgo) {
  const std::uint64_t entry = 1000 + kHeader;
  Fixture f(10 * entry);
  const Bytes content(1000);
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(f.cache.put(key_of(i), content));
    age(f.file(key_of(i)), 100 - i);
  }
  EXPECT_EQ(f.cache.entries().size(), 10U);
  EXPECT_TRUE(f.cache.find(key_of(0)));  // the oldest, but used just now
  EXPECT_TRUE(f.cache.put(key_of(10), content));
  // Down to seven eighths of the limit: 8 entries.
  EXPECT_EQ(f.cache.entries().size(), 8U);
  EXPECT_EQ(f.cache.statistics().evicted, 3U);
  EXPECT_TRUE(f.cache.find(key_of(0)));
  for (int i = 1; i <= 3; ++i) EXPECT_FALSE(f.cache.find(key_of(i))) << i;
  for (int i = 4; i <= 10; ++i) EXPECT_TRUE(f.cache.find(key_of(i))) << i;
}

TEST(DiskCache, SizeStaysBoundedOverManyEntries) {
  Fixture f(10'000);
  for (int i = 0; i < 150; ++i) f.cache.put(key_of(i), Bytes(200));
  std::uint64_t total = 0;
  for (const DiskCache::Entry& entry : f.cache.entries()) total += entry.bytes;
  EXPECT_LE(total, 2 * 10'000U);
  EXPECT_GE(total, 5'000U);
  f.cache.trim();
  total = 0;
  for (const DiskCache::Entry& entry : f.cache.entries()) total += entry.bytes;
  EXPECT_LE(total, 10'000U);
}

TEST(DiskCache, DeclinesWhatIsTooLarge) {
  Fixture f(1000);
  EXPECT_FALSE(f.cache.put(key_of(1), Bytes(1000 - kHeader + 1)));
  EXPECT_TRUE(f.cache.put(key_of(1), Bytes(1000 - kHeader)));
  EXPECT_EQ(f.cache.statistics().declined, 1U);
  Fixture none(0);
  EXPECT_FALSE(none.cache.put(key_of(1), Bytes()));
}

TEST(DiskCache, SweepsOnlyOldStrays) {
  Fixture f;
  const std::string old = half_written(1), young = half_written(2);
  const std::vector<std::string> foreign{"notes", "0123", "tmp-old"};
  for (const std::string& name : foreign) age(write_file(f.file(name), "text"), 3700);
  age(write_file(f.file(old), "half"), 3700);
  write_file(f.file(young), "half");
  f.cache.put(key_of(1), Bytes(1));
  age(f.file(key_of(1)), 1'000'000);
  f.cache.trim();
  EXPECT_FALSE(std::filesystem::exists(f.file(old)));
  EXPECT_TRUE(std::filesystem::exists(f.file(young)));
  for (const std::string& name : foreign) EXPECT_TRUE(std::filesystem::exists(f.file(name))) << name;
  EXPECT_TRUE(f.cache.find(key_of(1)));
  EXPECT_EQ(f.cache.statistics().evicted, 0U);
}

TEST(DiskCache, WritesEndWithTheDisk) {
  const Fd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full);
  EXPECT_FALSE(write_all(full.get(), "text", 4));
  EXPECT_EQ(errno, ENOSPC);
}

TEST(DiskCacheThread, ManyThreadsAtOnce) {
  Fixture f(200'000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&f, t] {
      for (int turn = 0; turn < 60; ++turn) {
        const int i = (turn * 7 + t) % 20;
        const Bytes content(static_cast<std::size_t>(1000 + i), std::byte(i));
        if (const auto found = f.cache.find(key_of(i))) {
          EXPECT_EQ(*found, content);
        } else {
          EXPECT_TRUE(f.cache.put(key_of(i), content));
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  const DiskCache::Statistics s = f.cache.statistics();
  EXPECT_EQ(s.damaged + s.declined, 0U);
  EXPECT_EQ(s.hits + s.misses, 240U);
  for (const auto& file : std::filesystem::directory_iterator(f.cache.folder()))
    EXPECT_EQ(file.path().filename().string().size(), 32U);  // nothing half written
}

TEST(DiskCacheShared, FlagsDescribeIt) {
  const PrivateFolder top;
  const ScopedFlag folder(flags::CACHE_DIR, top.file("mine"));
  {
    const ScopedFlag off(flags::DISK_CACHE, false);
    EXPECT_EQ(DiskCache::shared(), nullptr);
  }
  const ScopedFlag on(flags::DISK_CACHE, true);
  const std::shared_ptr<DiskCache> cache = DiskCache::shared();
  ASSERT_NE(cache, nullptr);
  EXPECT_EQ(cache->folder(), top.file("mine"));
  EXPECT_EQ(DiskCache::shared(), cache);
  const ScopedFlag size(flags::CACHE_SIZE, -5);
  ASSERT_NE(DiskCache::shared(), nullptr);
  EXPECT_FALSE(DiskCache::shared()->put(key_of(1), Bytes(1)));
}

TEST(DiskCacheShared, SaysOnceWhyItIsOff) {
  const PrivateFolder top;
  chmod(top.path().c_str(), 0777);
  const ScopedFlag on(flags::DISK_CACHE, true);
  const ScopedFlag folder(flags::CACHE_DIR, top.path());
  testing::internal::CaptureStderr();
  for (int turn = 0; turn < 3; ++turn) {
    ASSERT_NE(DiskCache::shared(), nullptr);
    EXPECT_FALSE(DiskCache::shared()->is_on());
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said, "strata: compiled kernels are not kept on disk, '" + top.path() +
                      "' cannot be used: users other than the owner may write to it\n");
}

TEST(DiskCacheShared, TheFolderIsThatOfTheUsersCaches) {
  const ScopedFlag folder(flags::CACHE_DIR, std::string());
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  const std::string cache_before = cache != nullptr ? cache : "", home_before = home != nullptr ? home : "";
  setenv("XDG_CACHE_HOME", "/somewhere", 1);
  EXPECT_EQ(DiskCache::default_folder(), "/somewhere/strata");
  setenv("XDG_CACHE_HOME", "relative", 1);  // to be ignored
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(DiskCache::default_folder(), "/home/me/.cache/strata");
  unsetenv("HOME");
  EXPECT_EQ(DiskCache::default_folder(), "");
  cache != nullptr ? setenv("XDG_CACHE_HOME", cache_before.c_str(), 1) : unsetenv("XDG_CACHE_HOME");
  if (home != nullptr) setenv("HOME", home_before.c_str(), 1);
}

}  // namespace
}  // namespace strata
