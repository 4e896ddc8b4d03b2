// Executors with threads: oneTBB behind base/executor.h. A build without oneTBB, or under ThreadSanitizer, which takes a
// library that it did not compile for a race, has absent_tbb_executor.cpp in place of tbb_executor.cpp: then every
// executor is the serial one, and says so by concurrency() == 1.
#pragma once

#include <memory>

#include "strata/base/executor.h"
#include "strata/runtime/remedy.h"

namespace strata {

/// An executor of at most `count` threads, the calling one included; 0 stands for one a processor. There are never more
/// threads than processors, and fewer, with a warning, where the system refuses them. A body may itself use this executor or
/// another one. When bodies throw, one of the exceptions reaches the caller, after all running bodies have ended.
/// @throws Error (domain) for a negative count.
std::unique_ptr<Executor> make_executor(int count);

/// What executors need to have threads; nothing where they have.
Remedy thread_remedy();

/// As it is written in a call: tiled(t).parallelLoops(1, callback, threads(8))
inline std::unique_ptr<Executor> threads(int count) { return make_executor(count); }

}  // namespace strata
