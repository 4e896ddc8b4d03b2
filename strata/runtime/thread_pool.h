// ThreadPool: an Executor with std::threads, for one process (thread_executor.h has one for each).
#pragma once

#include <atomic>
#include <chrono>
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
  /// Ends the threads, which finish the chunks that they have begun; waits for that at most `patience`. Later loops,
  /// and what is left of those that run, belong to their callers alone. False where threads are left: the pool must
  /// outlive them then.
  bool end(std::chrono::milliseconds patience);

 private:
  struct Loop;

  void run(std::int64_t begin, std::int64_t end, std::int64_t grain, const Body& body) override;
  void start();
  void help();

  const int count_;
  std::atomic<std::uint64_t> begun_{0};  // loops, as threads see them that do not sleep yet
  std::mutex mutex_;
  // All guarded by mutex_.
  std::condition_variable work_, done_, ended_;
  std::deque<Loop*> loops_;  // loops that may have chunks left
  std::vector<std::thread> threads_;
  int running_ = 0;  // threads that have not ended
  bool is_started_ = false, is_ending_ = false;
};

}  // namespace strata
