#include "strata/runtime/thread_executor.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "strata/base/fork.h"
#include "strata/runtime/thread_pool.h"

namespace strata {
namespace {

// At the end of the process; a chunk of a kernel takes milliseconds.
constexpr std::chrono::milliseconds kPoolPatience{500};

/// The pools with threads in this process, which the end of the process ends. Never destroyed: threads may outlive
/// every static.
class LivePools {
 public:
  static LivePools& instance() {
    static LivePools& pools = *new LivePools;
    return pools;
  }
  void add(ThreadPool& pool) {
    const std::lock_guard lock(mutex_);
    if (!ends_at_exit_) ends_at_exit_ = std::atexit([] { instance().end(); }) == 0;
    pools_.push_back(&pool);
  }
  void remove(ThreadPool& pool) {
    const std::lock_guard lock(mutex_);
    std::erase(pools_, &pool);
  }

 private:
  void end() {
    const std::lock_guard lock(mutex_);
    const auto last = std::chrono::steady_clock::now() + kPoolPatience;
    for (ThreadPool* const pool : pools_)
      pool->end(std::max(std::chrono::duration_cast<std::chrono::milliseconds>(last - std::chrono::steady_clock::now()),
                         std::chrono::milliseconds(0)));
  }
  void lock() { mutex_.lock(); }
  void unlock() {
    if (generation_ != fork_generation()) pools_.clear();  // the threads are the parent's
    generation_ = fork_generation();
    mutex_.unlock();
  }
  static const ForkHook hook;

  std::mutex mutex_;
  // All guarded by mutex_.
  std::vector<ThreadPool*> pools_;
  bool ends_at_exit_ = false;  // an exit handler, which children of fork() inherit, is registered
  std::uint64_t generation_ = fork_generation();
};
const ForkHook LivePools::hook(ForkOrder::threads, [] { instance().lock(); }, [] { instance().unlock(); });

/// A pool of the process that made it.
struct OwnPool {
  explicit OwnPool(int count) : threads(count) { LivePools::instance().add(threads); }
  ~OwnPool() { LivePools::instance().remove(threads); }
  OwnPool(const OwnPool&) = delete;
  OwnPool& operator=(const OwnPool&) = delete;
  const std::uint64_t generation = fork_generation();
  ThreadPool threads;
};

class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(int count) : count_(count) {}
  // A pool whose threads cannot be joined is leaked: that of a process that this one was forked from, and one with a
  // chunk that ends the process.
  ~ThreadExecutor() override {
    OwnPool* const pool = pool_;
    if (pool == nullptr || pool->generation != fork_generation()) return;
    if (pool->threads.end(std::chrono::hours(1))) delete pool;
  }
  int concurrency() const override { return count_; }

 private:
  /// The pool of this process, made on first use.
  ThreadPool& pool() {
    OwnPool* known = pool_.load(std::memory_order_acquire);
    while (known == nullptr || known->generation != fork_generation()) {
      auto made = std::make_unique<OwnPool>(count_);
      if (pool_.compare_exchange_strong(known, made.get())) known = made.release();
    }
    return known->threads;
  }
  void run(std::int64_t begin, std::int64_t end, std::int64_t grain, const Body& body) override {
    pool().parallel_for(begin, end, grain, body);
  }

  const int count_;
  std::atomic<OwnPool*> pool_{nullptr};
};

}  // namespace

std::unique_ptr<Executor> make_thread_executor(int count) { return std::make_unique<ThreadExecutor>(count); }

}  // namespace strata
