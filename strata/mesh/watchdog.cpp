#include "strata/mesh/watchdog.h"

#include <unistd.h>

#include <chrono>
#include <utility>

#include "strata/base/check.h"
#include "strata/base/flags.h"

namespace strata {

Watchdog::Watchdog(std::string what) : what_(std::move(what)), limit_(flags::MESH_TIMEOUT.get()) {
  STRATA_CHECK(limit_ >= 0, domain, "[mesh] STRATA_MESH_TIMEOUT is ", limit_, ", not 0 or more seconds");
  if (limit_ > 0) thread_ = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    is_done_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, std::chrono::seconds(limit_), [this] { return is_done_; })) return;
  const std::string text = detail::message("[mesh] the ranks did not meet within ", limit_,
                                           " s (STRATA_MESH_TIMEOUT): ", what_, " waits for all of them\n");
  _exit(write(STDERR_FILENO, text.data(), text.size()) < 0 ? 2 : 1);
}

}  // namespace strata
