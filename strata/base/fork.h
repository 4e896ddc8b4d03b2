// Hooks that make fork() safe in a process with threads. The child of fork() has only the forking thread, and a copy of
// memory at that moment. A lock that another thread held would never be released in the child, and the data behind it
// may be half written. Each floor therefore registers the locks that are taken before a fork and released after it, in
// both processes.
#pragma once

#include <cstdint>

namespace strata {

/// The order in which fork() takes locks: a thread that holds one lock may take a later one, but not an earlier one.
enum class ForkOrder {
  tables,          ///< no lock: tables that are made on first use; making one takes locks
  compiler,        ///< the search for a C compiler on the host
  backends,        ///< LLVM and drivers: opening them, and calls into them
  disk_cache,      ///< the folder of compiled kernels, and its contents
  kernel_cache,    ///< compiled kernels
  schedule_cache,  ///< schedules by the structure of their graphs
  formulas,        ///< formulas by their functions
  graph,           ///< the memory of nodes, then the table of nodes
  memory,          ///< free blocks
  trace,           ///< the trace file of the flag VIZ
  flags,
  expressions,  ///< the table of expressions
  tensors,      ///< which nodes tensors stand for
  threads,      ///< oneTBB: its first use
};

/// Takes part in every later fork() of this process. @pre at namespace scope, because it cannot be removed
class ForkHook {
 public:
  using Function = void (*)();

  /// @param before called in the parent before fork(): takes the locks, and makes what is otherwise made on first use
  /// @param after  called in the parent and in the child after fork(): releases the locks
  ForkHook(ForkOrder order, Function before, Function after);
  ForkHook(const ForkHook&) = delete;
  ForkHook& operator=(const ForkHook&) = delete;

 private:
  friend struct ForkHandlers;
  ForkOrder order_;
  Function before_, after_;
};

/// The number of forks between this process and the first process of its line that used Strata. An object with threads
/// or locks of its own compares this number with the number at its creation, to notice that it lives in a child.
std::uint64_t fork_generation();

}  // namespace strata
