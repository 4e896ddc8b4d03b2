#include "strata/runtime/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <system_error>
#include <utility>

#include "strata/runtime/scarcity.h"

namespace strata {

/// One call of parallel_for(). Chunks are numbered from 0; the numbers are unsigned, because end - begin may exceed a
/// signed 64-bit integer.
struct ThreadPool::Loop {
  const Body& body;
  std::uint64_t first, size, grain, chunks;
  std::atomic<std::uint64_t> next{0};
  // Both guarded by the pool's mutex: threads that are working on the loop, and the results (exceptions) of those that
  // have finished.
  int helpers = 0;
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

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  work_.notify_all();
  for (std::thread& t : threads_) t.join();
}

/// @pre mutex_ is held
void ThreadPool::start() {
  is_started_ = true;
  try {
    while (static_cast<int>(threads_.size()) + 1 < count_) threads_.emplace_back([this] { help(); });
  } catch (const std::system_error&) {  // go on with the threads that were started
    warn_of_few_threads(count_, static_cast<int>(threads_.size()) + 1);
  }
}

void ThreadPool::help() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return is_ending_ || !loops_.empty(); });
    if (loops_.empty()) return;
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
}

void ThreadPool::run(std::int64_t begin, std::int64_t end, std::int64_t grain, const Body& body) {
  const auto first = static_cast<std::uint64_t>(begin), step = static_cast<std::uint64_t>(grain);
  const std::uint64_t size = static_cast<std::uint64_t>(end) - first;
  Loop loop{body, first, size, step, size / step + (size % step != 0 ? 1 : 0)};
  if (loop.chunks > 1 && count_ > 1) {
    const std::lock_guard lock(mutex_);
    if (!is_started_) start();
    loops_.push_back(&loop);
    work_.notify_all();
  }
  std::future<void> mine = loop.worked();
  std::unique_lock lock(mutex_);
  std::erase(loops_, &loop);
  done_.wait(lock, [&] { return loop.helpers == 0; });
  mine.get();
  for (std::future<void>& result : loop.results) result.get();
}

}  // namespace strata
