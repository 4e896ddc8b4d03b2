// What fork() needs of a process with threads: its child has the thread that forked alone, and memory as it was at that moment. A
// lock that another thread held then would never be given back, and what it guarded may be half written. So each floor says
// which locks have to be taken before a fork and given back after it, in both processes.
#pragma once

#include <cstdint>

namespace strata {

/// In the order in which fork() takes locks: who holds one may take those behind it.
enum class ForkOrder {
  tables,        ///< no lock: what is made on first use, and takes locks while it is made
  compiler,      ///< which compiler of the host's there is
  backends,      ///< LLVM and drivers: opening them, then what goes on in them
  disk_cache,    ///< the folder of compiled kernels, then what is in it
  kernel_cache,  ///< compiled kernels
  graph,         ///< memory of nodes, then the table of nodes
  memory,        ///< free blocks
  trace,         ///< the trace that the flag VIZ asks for
  flags,
  expressions,  ///< the table of expressions
  threads,      ///< oneTBB: beginning to use it
};

/// Takes part in every fork() of this process from now on. @pre at namespace scope: there is no way to take it back
class ForkHook {
 public:
  using Function = void (*)();

  /// @param before in the parent: takes the locks, and makes whatever is otherwise made on first use
  /// @param after  gives them back, in the parent and in the child
  ForkHook(ForkOrder order, Function before, Function after);
  ForkHook(const ForkHook&) = delete;
  ForkHook& operator=(const ForkHook&) = delete;

 private:
  friend struct ForkHandlers;
  ForkOrder order_;
  Function before_, after_;
};

/// How many forks lie between this process and the first of its line that used Strata. What has threads, or locks of one object,
/// compares this with what it was when they were made.
std::uint64_t fork_generation();

}  // namespace strata
