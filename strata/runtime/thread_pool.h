// ThreadPool: an Executor with std::threads. TbbExecutor (tbb_executor.cpp) runs loops on a ThreadPool in a child of
// fork(), because oneTBB's threads exist only in the parent.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "strata/base/executor.h"

namespace strata {

/// An executor of `count` threads, the calling thread included. They start with the first loop of more than one chunk;
/// if the system refuses some, there are fewer. A loop body may run another loop on the pool.
class ThreadPool final : public Executor {
 public:
  /// @pre count > 0
  explicit ThreadPool(int count) : count_(count) {}
  /// @pre no loop is running
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
  std::deque<Loop*> loops_;  // loops that may have chunks left
  std::vector<std::thread> threads_;
  bool is_started_ = false, is_ending_ = false;
};

}  // namespace strata
