// The interpreter's lock (GIL) and signals. running() calls C++ that may take long without the GIL, so that other
// Python threads run, and with a check for signals, so that Ctrl-C stops it. Bindings that compile, run or realize use
// it.
#pragma once

#include <optional>

#include "python/src/bind.h"
#include "strata/base/interrupt.h"

namespace strata::python {

/// Runs the handlers of pending signals, if this is the first thread. An exception of a handler (KeyboardInterrupt) is
/// thrown as py::error_already_set. Takes the GIL itself.
void check_signals();
/// Makes long work on this thread call check_signals(), as long as the thread lives.
void watch_signals();

/// Releases the GIL while an object lives. NOTE: if the interpreter ends meanwhile, the thread sleeps forever instead
/// of taking the GIL again: Python up to 3.13 would end the thread by unwinding its stack, through C++ frames that are
/// not prepared for it.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

/// Holds the GIL while an object lives, whether or not the thread held it before. NOTE: see Unlocked about
/// the end of the interpreter.
class Locked {
 public:
  Locked();
  ~Locked() { PyGILState_Release(state_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyGILState_STATE state_;
};

/// PyObject_Call(): calls a Python object. NOTE: see Unlocked about the end of the interpreter: Python code may release
/// the GIL.
PyObject* call_python(PyObject* function, PyObject* args, PyObject* kwargs);

/// Returns f(), called without the GIL and interruptible by signals. @pre the GIL is held, and f touches no Python
/// object
template <class F>
auto running(const F& f) {
  // The first thread has a check already (watch_signals()); another thread gets its own check for this call.
  std::optional<InterruptCheck> check;
  if (!InterruptCheck::is_active()) check.emplace(&check_signals);
  const Unlocked unlocked;
  return f();
}

}  // namespace strata::python
