// The disk cache under many processes: at once, ended at any moment, not allowed to write.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "strata/runtime/disk_cache.h"
#include "strata/runtime/posix_io.h"
#include "tests/runtime/processes.h"

namespace strata {
namespace {

using Bytes = std::vector<std::byte>;

Hash128 process_key(int i) { return cache_key({"process test", std::to_string(i)}); }

/// The content of an entry says which one it is, and the rest of it is of one value.
Bytes content(int i, unsigned version) {
  Bytes out(2000 + version % 5000, static_cast<std::byte>(version));
  out[0] = static_cast<std::byte>(i);
  return out;
}

bool is_content(int i, const Bytes& bytes) {
  bool same = bytes.size() >= 2000 && bytes[0] == static_cast<std::byte>(i);
  for (std::size_t k = 2; same && k < bytes.size(); ++k) same = bytes[k] == bytes[1];
  return same;
}

/// Puts and finds at random; the number of the first thing that is wrong, or 0.
int work(const std::string& folder, unsigned seed, int rounds) {
  DiskCache cache(folder, 60'000);  // about a dozen entries: eviction goes on all the time
  std::minstd_rand random(seed);
  for (int round = 0; round < rounds; ++round) {
    const int i = static_cast<int>(random() % 20);
    if (random() % 3 == 0) {
      if (!cache.put(process_key(i), content(i, static_cast<unsigned>(random())))) return 1;
    } else if (const auto found = cache.find(process_key(i)); found && !is_content(i, *found)) {
      return 2;
    }
  }
  return cache.statistics().damaged == 0 ? 0 : 3;
}

TEST(DiskCacheProcess, ManyAtOnce) {
  const PrivateFolder top;
  const std::string folder = top.file("cache");
  std::vector<pid_t> processes;
  for (unsigned seed = 1; seed <= 4; ++seed) processes.push_back(start([&] { return work(folder, seed, 150); }));
  for (const pid_t pid : processes) EXPECT_EQ(result_of(pid), 0);
  EXPECT_FALSE(DiskCache(folder, 60'000).entries().empty());
}

TEST(DiskCacheProcess, ClearedBesideOthers) {
  const PrivateFolder top;
  const std::string folder = top.file("cache");
  std::vector<pid_t> processes;
  for (unsigned seed = 1; seed <= 3; ++seed)
    processes.push_back(start([&] {
      DiskCache cache(folder, 1 << 20);
      for (unsigned round = 0; round < 200; ++round) {
        const int i = static_cast<int>((round + seed) % 10);
        cache.put(process_key(i), content(i, round));  // declined where its file went before it was whole
        if (const auto found = cache.find(process_key(i)); found && !is_content(i, *found)) return 2;
      }
      return cache.statistics().damaged == 0 ? 0 : 3;
    }));
  DiskCache cache(folder, 1 << 20);
  for (int round = 0; round < 100; ++round) {
    cache.clear();
    EXPECT_TRUE(cache.damaged().empty());
    usleep(500);
  }
  for (const pid_t pid : processes) EXPECT_EQ(result_of(pid), 0);
}

TEST(DiskCacheProcess, EndedAtAnyMomentEntriesAreWhole) {
  const PrivateFolder top;
  const std::string folder = top.file("cache");
  DiskCache cache(folder, 1 << 20);
  for (int i = 0; i < 20; ++i) cache.put(process_key(i), content(i, 1));
  std::minstd_rand random(7);
  for (unsigned round = 0; round < 25; ++round) {
    const pid_t pid = start([&] {
      DiskCache writer(folder, 1 << 20);
      for (unsigned version = round;; ++version) {
        const int i = static_cast<int>(version % 20);
        writer.put(process_key(i), content(i, version));
      }
      return 0;
    });
    usleep(500 + static_cast<useconds_t>(random() % 15'000));
    kill(pid, SIGKILL);
    EXPECT_EQ(result_of(pid), 1000 + SIGKILL);
    for (int i = 0; i < 20; ++i) {
      const auto found = cache.find(process_key(i));  // the old state or the new one
      ASSERT_TRUE(found && is_content(i, *found));
    }
  }
  EXPECT_EQ(cache.statistics().damaged, 0U);
  EXPECT_EQ(cache.entries().size(), 20U);
  EXPECT_LE(std::distance(std::filesystem::directory_iterator(folder), {}), 20 + 25);
}

TEST(DiskCacheProcess, WithoutRoomItDeclines) {
  const PrivateFolder top;
  const std::string folder = top.file("cache");
  DiskCache cache(folder, 1 << 20);
  ASSERT_TRUE(cache.put(process_key(1), content(1, 1)));
  const int result = result_of(start([&] {
    rlimit limit{100, 100};  // bytes of a file; writing more would end the process with a signal
    setrlimit(RLIMIT_FSIZE, &limit);
    if (cache.put(process_key(1), content(1, 2)) || cache.put(process_key(2), content(2, 2))) return 1;
    return cache.statistics().declined == 2 && cache.find(process_key(1)) ? 0 : 2;
  }));
  EXPECT_EQ(result, 0);
  EXPECT_EQ(cache.find(process_key(1)), content(1, 1));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST(DiskCacheProcess, WithoutDescriptorsItDeclines) {
  const PrivateFolder top;
  const std::string folder = top.file("cache");
  DiskCache cache(folder, 1 << 20);
  ASSERT_TRUE(cache.put(process_key(1), content(1, 1)));
  const int result = result_of(start([&] {
    rlimit limit{3, 3};
    setrlimit(RLIMIT_NOFILE, &limit);
    return !cache.find(process_key(1)) && !cache.put(process_key(2), content(2, 2)) &&
                   cache.statistics().damaged == 0 && cache.clear() == 0 && cache.entries().empty()
               ? 0
               : 1;
  }));
  EXPECT_EQ(result, 0);
  EXPECT_TRUE(cache.find(process_key(1)));
}

volatile std::sig_atomic_t signals_seen = 0;

TEST(DiskCacheProcess, SignalsDoNotCutItShort) {
  const PrivateFolder top;
  const std::string folder = top.file("cache");
  const int result = result_of(start([&] {
    struct sigaction action{};
    action.sa_handler = [](int) { signals_seen = signals_seen + 1; };
    sigaction(SIGALRM, &action, nullptr);  // no SA_RESTART
    const itimerval often{{0, 200}, {0, 200}};
    setitimer(ITIMER_REAL, &often, nullptr);
    const int wrong = work(folder, 3, 100);
    return wrong == 0 && signals_seen == 0 ? 9 : wrong;
  }));
  EXPECT_EQ(result, 0);
}

}  // namespace
}  // namespace strata
