// What kernels call to poll (codegen/polls.h).
#pragma once

#include <atomic>
#include <future>

namespace strata {

/// While it lives, kernels that its thread runs stop where `is_stopped` is set; on the thread that asked for the run they ask its
/// InterruptChecks (base/interrupt.h), and set it where one throws.
class Polling {
 public:
  Polling(std::atomic<bool>& is_stopped, bool is_asking);
  ~Polling();
  Polling(const Polling&) = delete;
  Polling& operator=(const Polling&) = delete;

  /// The kernel has returned. @throws what a check threw
  void finish() {
    if (thrown_.valid()) thrown_.get();
  }
  /// Of `int poll(void)`, which is 1 where the kernel has to return.
  static void* address();

 private:
  static int poll() noexcept;

  std::atomic<bool>& is_stopped_;
  const bool is_asking_;
  std::future<void> thrown_;  // what a check threw, if any did
  Polling* outer_;            // of a kernel in which a check runs others
};

}  // namespace strata
