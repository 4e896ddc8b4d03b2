// C++ that may take long: without the lock of the interpreter, and so that Ctrl-C ends it.
#pragma once

#include <chrono>
#include <optional>

#include "python/src/bind.h"
#include "strata/engine/realize.h"

namespace strata::python {

/// Looks after signals between kernels: what a handler raises (KeyboardInterrupt) ends the run. What was realized by then stays so.
class SignalWatch final : public RunListener {
 public:
  void ran(RanKernel kernel) override;

 private:
  // Asking takes the lock, for which other threads of Python may let us wait.
  static constexpr std::chrono::milliseconds kPause{20};
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// f() without the lock. @pre the GIL is held, and f touches no Python object
template <class F>
auto running(const F& f) {
  std::optional<SignalWatch> watch;
  if (RunListener::current() == nullptr) watch.emplace();  // who listens already wants to hear
  const py::gil_scoped_release release;
  return f();
}

}  // namespace strata::python
