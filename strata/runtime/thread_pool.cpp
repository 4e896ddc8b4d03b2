#include "strata/runtime/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <system_error>
#include <utility>

#include "strata/runtime/scarcity.h"

namespace strata {

namespace {

/// Waits until `is_over`, or as long as waking up a thread takes several times.
void stay_awake(const auto& is_over) {
  constexpr std::chrono::microseconds kAwake{30};
  for (const auto end = std::chrono::steady_clock::now() + kAwake; !is_over();) {
    if (std::chrono::steady_clock::now() >= end) return;
    std::this_thread::yield();
  }
}

}  // namespace

/// One call of parallel_for(). Chunks are numbered from 0; the numbers are unsigned, because end - begin may exceed a
/// signed 64-bit integer.
struct ThreadPool::Loop {
  const Body& body;
  std::uint64_t first, size, grain, chunks;
  std::atomic<std::uint64_t> next{0};
  // Both written under the pool's mutex: the number of threads that are working on the loop, and the results
  // (exceptions) of those that have finished.
  std::atomic<int> helpers = 0;
  std::vector<std::future<void>> results = {};

  /// Runs chunks until none is left. If a chunk throws, chunks that have not begun are skipped.
  void work() {
    struct Ending {
      Loop& loop;
      ~Ending() { loop.next = loop.chunks; }
    } const ending{*this};
    for (std::uint64_t k = next++; k < chunks; k = next++) {
      const std::uint64_t from = k * grain, count = std::min(grain, size - from);
      body(static_cast<std::int64_t>(first + from), static_cast<std::int64_t>(first + from + count));
    }
  }
  /// Runs work(); the future holds its exception.
  std::future<void> worked() {
    std::packaged_task<void()> task([this] { work(); });
    task();
    return task.get_future();
  }
};

ThreadPool::~ThreadPool() { end(std::chrono::hours(1)); }

bool ThreadPool::end(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  is_ending_ = true;
  ++begun_;
  work_.notify_all();
  std::vector<std::thread> threads = std::exchange(threads_, {});
  // A chunk may end the process: its thread cannot wait for itself. Threads that an earlier call left are not waited
  // for again.
  const bool is_own = std::any_of(threads.begin(), threads.end(),
                                  [](const std::thread& t) { return t.get_id() == std::this_thread::get_id(); });
  if (!threads.empty() && !is_own) ended_.wait_for(lock, patience, [this] { return running_ == 0; });
  const bool have_ended = running_ == 0;
  lock.unlock();
  for (std::thread& t : threads) have_ended ? t.join() : t.detach();
  return have_ended;
}

/// @pre mutex_ is held
void ThreadPool::start() {
  is_started_ = true;
  try {
    while (running_ + 1 < count_) {
      threads_.emplace_back([this] { help(); });
      ++running_;
    }
  } catch (const std::system_error&) {  // go on with the threads that were started
    warn_of_few_threads(count_, running_ + 1);
  }
}

void ThreadPool::help() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (loops_.empty() && !is_ending_) {
      // The next loop often begins at once, and waking a thread up takes longer than many kernels.
      const std::uint64_t before = begun_;
      lock.unlock();
      stay_awake([&] { return begun_ != before; });
      lock.lock();
      work_.wait(lock, [this] { return is_ending_ || !loops_.empty(); });
    }
    if (is_ending_) break;
    Loop& loop = *loops_.front();
    ++loop.helpers;
    lock.unlock();
    std::future<void> result = loop.worked();
    lock.lock();
    // NOTE: the caller of the loop waits for helpers == 0, and destroys the loop after that.
    loop.results.push_back(std::move(result));
    std::erase(loops_, &loop);
    if (--loop.helpers == 0) done_.notify_all();
  }
  if (--running_ == 0) ended_.notify_all();
}

void ThreadPool::run(std::int64_t begin, std::int64_t end, std::int64_t grain, const Body& body) {
  const auto first = static_cast<std::uint64_t>(begin), step = static_cast<std::uint64_t>(grain);
  const std::uint64_t size = static_cast<std::uint64_t>(end) - first;
  Loop loop{body, first, size, step, size / step + (size % step != 0 ? 1 : 0)};
  if (loop.chunks > 1 && count_ > 1) {
    const std::lock_guard lock(mutex_);
    if (!is_started_ && !is_ending_) start();
    if (!is_ending_) loops_.push_back(&loop);
    ++begun_;
    work_.notify_all();
  }
  std::future<void> mine = loop.worked();
  std::unique_lock lock(mutex_);
  std::erase(loops_, &loop);
  if (loop.helpers != 0) {
    lock.unlock();
    stay_awake([&] { return loop.helpers == 0; });
    lock.lock();
    done_.wait(lock, [&] { return loop.helpers == 0; });
  }
  mine.get();
  for (std::future<void>& result : loop.results) result.get();
}

}  // namespace strata
