// Whose turn it is to call a captured function: one thread's at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace strata {

/// The turn of the thread that made it. Waiting is by looking again: a child of fork() finds nobody who waits, and an InterruptCheck of
/// the thread is asked.
class JitTurn {
 public:
  /// @param owner 0 while it is nobody's turn
  /// @param name  of the function
  /// @throws Error (domain) where it is the thread's turn already, what an InterruptCheck of the thread throws
  JitTurn(std::atomic<std::uint64_t>& owner, const std::string& name);
  ~JitTurn() { owner_.store(0, std::memory_order_release); }
  JitTurn(const JitTurn&) = delete;
  JitTurn& operator=(const JitTurn&) = delete;

  /// Whether it was the turn of a thread of the parent's that is not in this process, a child of fork().
  bool was_parents() const { return was_parents_; }

 private:
  std::atomic<std::uint64_t>& owner_;
  bool was_parents_ = false;
};

}  // namespace strata
