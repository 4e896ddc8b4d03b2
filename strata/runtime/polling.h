// Polling: the function that long kernels call to ask whether to stop (codegen/polls.h), and the state of its thread.
// CompiledKernel makes one Polling for each call of such a kernel.
#pragma once

#include <atomic>
#include <future>

namespace strata {

/// While an object lives, a kernel on its thread stops at its next poll once `is_stopped` is set. If `is_asking`, which
/// is true on the thread that requested the run, a poll also runs that thread's InterruptChecks (base/interrupt.h). If
/// a check throws, its exception is kept and `is_stopped` is set, so that the run's other threads stop, too.
class Polling {
 public:
  Polling(std::atomic<bool>& is_stopped, bool is_asking);
  ~Polling();
  Polling(const Polling&) = delete;
  Polling& operator=(const Polling&) = delete;

  /// Call after the kernel has returned. @throws what a check threw: an exception cannot pass through the frames of
  /// compiled code
  void finish() {
    if (thrown_.valid()) thrown_.get();
  }
  /// The address of `int poll(void)`, which kernels call. Its result 1 means: return.
  static void* address();

 private:
  static int poll() noexcept;

  std::atomic<bool>& is_stopped_;
  const bool is_asking_;
  std::future<void> thrown_;  // the exception of a check, if one threw
  Polling* outer_;            // of the outer kernel, if a check of it runs this one
};

}  // namespace strata
