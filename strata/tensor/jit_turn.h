// JitTurn: the lock that lets one thread at a time call a captured function (jit.h). Unlike a mutex it detects
// recursion, survives fork(), and asks the InterruptCheck of a waiting thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace strata {

/// Holds the lock for the current thread. The constructor waits by polling, so that the child of a fork() inherits no
/// waiting thread, and calls the thread's InterruptCheck between polls.
class JitTurn {
 public:
  /// @param owner the lock word: the holding thread and its process; 0 while the lock is free
  /// @param name  the name of the function in error messages
  /// @throws Error (domain) where the current thread holds the lock already; what an InterruptCheck of the thread
  /// throws
  JitTurn(std::atomic<std::uint64_t>& owner, const std::string& name);
  ~JitTurn() { owner_.store(0, std::memory_order_release); }
  JitTurn(const JitTurn&) = delete;
  JitTurn& operator=(const JitTurn&) = delete;

  /// True iff the lock was held at a fork() by a thread of the parent process, which does not exist in this child
  /// process.
  bool was_parents() const { return was_parents_; }

 private:
  std::atomic<std::uint64_t>& owner_;
  bool was_parents_ = false;
};

}  // namespace strata
