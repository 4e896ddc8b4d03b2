// In place of tbb_executor.cpp where oneTBB is not to be had: see tbb_executor.h.
#include "strata/runtime/tbb_executor.h"

namespace strata {

std::unique_ptr<Executor> make_executor(int count) {
  STRATA_CHECK(count >= 0, domain, "[make_executor] ", count, " threads");
  return std::make_unique<SerialExecutor>();
}

Remedy thread_remedy() { return {"libtbb-dev", true}; }

}  // namespace strata
