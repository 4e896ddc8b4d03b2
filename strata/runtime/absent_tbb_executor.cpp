// In place of tbb_executor.cpp where oneTBB is not to be had: see tbb_executor.h.
#include <algorithm>
#include <thread>

#include "strata/runtime/tbb_executor.h"
#include "strata/runtime/thread_executor.h"

namespace strata {

std::unique_ptr<Executor> make_executor(int count) {
  STRATA_CHECK(count >= 0, domain, "[make_executor] ", count, " threads");
  const int processors = std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
  const int threads = count == 0 ? processors : std::min(count, processors);
  if (threads == 1) return std::make_unique<SerialExecutor>();
  return make_thread_executor(threads);
}

}  // namespace strata
