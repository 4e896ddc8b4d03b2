// Watchdog: a deadline for calls of a library that wait for other processes.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace strata {

/// While it lives: ends the process with a message once MESH_TIMEOUT has passed. 0: never.
class Watchdog {
 public:
  /// @param what e.g. "connecting" @throws Error (domain) where the flag is negative
  explicit Watchdog(std::string what);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog();

 private:
  void watch();

  std::string what_;
  std::int64_t limit_;  // in seconds
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_done_ = false;
  std::thread thread_;
};

}  // namespace strata
