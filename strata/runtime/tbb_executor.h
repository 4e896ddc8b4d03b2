// make_executor(): an Executor (base/executor.h) whose threads are oneTBB's. A build without oneTBB compiles
// absent_tbb_executor.cpp instead of tbb_executor.cpp: its threads are Strata's own (thread_executor.h).
#pragma once

#include <memory>

#include "strata/base/executor.h"
#include "strata/runtime/remedy.h"

namespace strata {

/// An executor of `count` threads, the calling thread included; 0: one for each processor. Never more threads than
/// processors. If the system refuses threads, the executor has fewer, and one line on standard error says so. A loop
/// body may run a loop on this or another executor. If bodies throw, one of the exceptions reaches the caller, after
/// all running bodies have ended.
/// @throws Error (domain) for a negative count
std::unique_ptr<Executor> make_executor(int count);

/// What to install for executors with threads: nothing, all builds have them.
[[deprecated("all builds have threads")]] inline Remedy thread_remedy() { return {}; }

/// make_executor(), under a name that reads well in a call: tiled(t).parallelLoops(1, callback, threads(8))
inline std::unique_ptr<Executor> threads(int count) { return make_executor(count); }

}  // namespace strata
