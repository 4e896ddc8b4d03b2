// C++ that may take long: without the lock of the interpreter, and so that Ctrl-C ends it.
#pragma once

#include <optional>

#include "python/src/bind.h"
#include "strata/base/interrupt.h"

namespace strata::python {

/// Looks after signals: what a handler raises (KeyboardInterrupt) is thrown. With the lock or without it.
void check_signals();
/// From now on long work of this thread looks after signals.
void watch_signals();

/// Lets go of the lock of the interpreter while it lives. NOTE: where the interpreter ends meanwhile, its thread stays where it is for
/// good: Python 3.13 and older would end it, through C++ that does not expect that.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

/// Has the lock while it lives, however it was before. NOTE: as of Unlocked.
class Locked {
 public:
  Locked();
  ~Locked() { PyGILState_Release(state_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyGILState_STATE state_;
};

/// f(), of Python's C interface, which runs code in Python. NOTE: as of Unlocked.
PyObject* call_python(PyObject* function, PyObject* args, PyObject* kwargs);

/// f() without the lock. @pre the GIL is held, and f touches no Python object
template <class F>
auto running(const F& f) {
  std::optional<InterruptCheck> check;  // of threads of Python's other than the first, which gets all signals
  if (!InterruptCheck::is_active()) check.emplace(&check_signals);
  const Unlocked unlocked;
  return f();
}

}  // namespace strata::python
