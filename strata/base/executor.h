// Executor: runs the chunks of a loop in parallel. The floors pass their loops to an Executor and never start a thread
// themselves. This floor has the serial one; the runtime floor has one with threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "strata/base/check.h"

namespace strata {

/// Runs the chunks of a loop. An executor with threads derives from this class.
class Executor {
 public:
  using Body = std::function<void(std::int64_t begin, std::int64_t end)>;

  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  /// Calls body(b, e) on non-empty chunks of at most `grain` elements that cover [begin, end) exactly once, in any
  /// order and on any thread. Returns when all calls have returned. Does nothing when begin >= end.
  /// @throws Error (domain) unless grain > 0; and what a body threw: one exception, and chunks that have not begun by
  ///         then may be skipped.
  void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain, const Body& body) {
    STRATA_CHECK(grain > 0, domain, "[parallel_for] grain ", grain, " is not positive");
    if (begin < end) run(begin, end, grain, body);
  }

  /// The largest number of bodies that can run at the same time, at least 1.
  virtual int concurrency() const = 0;

 private:
  /// @pre begin < end and grain > 0
  virtual void run(std::int64_t begin, std::int64_t end, std::int64_t grain, const Body& body) = 0;
};

/// Runs the chunks one after another on the calling thread, in increasing order.
class SerialExecutor final : public Executor {
 public:
  int concurrency() const override { return 1; }

 private:
  void run(std::int64_t begin, std::int64_t end, std::int64_t grain, const Body& body) override {
    while (begin < end) {
      // Unsigned, because `end - begin` may not fit in a signed 64-bit integer.
      const std::uint64_t left = static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
      const std::uint64_t size = std::min(left, static_cast<std::uint64_t>(grain));
      const std::int64_t next = begin + static_cast<std::int64_t>(size);
      body(begin, next);
      begin = next;
    }
  }
};

}  // namespace strata
