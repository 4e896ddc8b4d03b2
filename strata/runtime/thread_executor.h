// make_thread_executor(): an Executor whose threads are std::threads (thread_pool.h). A build without oneTBB has no
// other; with oneTBB the children of fork() have it, because oneTBB's threads exist only in the parent.
#pragma once

#include <memory>

#include "strata/base/executor.h"

namespace strata {

/// An executor of `count` threads, the calling thread included. They start with the first loop of more than one chunk.
/// A child of fork() starts threads of its own. When the process ends they are joined; loops that begin after that run
/// on the calling thread. @pre count > 0
std::unique_ptr<Executor> make_thread_executor(int count);

}  // namespace strata
