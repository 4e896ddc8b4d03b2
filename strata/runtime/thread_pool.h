// Threads of our own: what an executor runs on in a child of fork(), where oneTBB's threads are not.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "strata/base/executor.h"

namespace strata {

/// Lends `count` threads, the calling one among them; they start with the first loop. Where the system refuses some, there are fewer.
/// A body may use the pool again.
class ThreadPool final : public Executor {
 public:
  /// @pre count > 0
  explicit ThreadPool(int count) : count_(count) {}
  /// @pre nothing runs
  ~ThreadPool() override;
  int concurrency() const override { return count_; }

 private:
  struct Loop;

  void run(std::int64_t begin, std::int64_t end, std::int64_t grain, const Body& body) override;
  void start();
  void help();

  const int count_;
  std::mutex mutex_;
  // All guarded by mutex_.
  std::condition_variable work_, done_;
  std::deque<Loop*> loops_;  // that may have chunks which nobody has taken
  std::vector<std::thread> threads_;
  bool is_started_ = false, is_ending_ = false;
};

}  // namespace strata
