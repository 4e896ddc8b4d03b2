#include "python/src/running.h"

#include <unistd.h>

namespace strata::python {

namespace {

/// The one that runs handlers of signals, and that ends the interpreter.
bool is_first_thread() { return getpid() == gettid(); }

/// Where a thread stays whose interpreter has ended.
[[noreturn]] void stay() {
  for (;;) pause();
}

/// f(), which throws nothing by itself: what unwinds the stack is the end of the thread.
template <class F>
auto staying(const F& f) {
  try {
    return f();
  } catch (...) {
    stay();
  }
}

}  // namespace

Unlocked::~Unlocked() {
  staying([this] { PyEval_RestoreThread(state_); });
}

// NOTE: an interpreter that has ended has forgotten its threads, too.
Locked::Locked()
    : state_(staying([] {
        if (Py_IsInitialized() == 0 && !is_first_thread()) stay();
        return PyGILState_Ensure();
      })) {}

PyObject* call_python(PyObject* function, PyObject* args, PyObject* kwargs) {
  return staying([&] { return PyObject_Call(function, args, kwargs); });
}

void check_signals() {
  if (!is_first_thread()) return;
  const Locked locked;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

void watch_signals() {
  static const InterruptCheck& check = *new InterruptCheck(&check_signals);  // as long as the thread lives
  static_cast<void>(check);
}

}  // namespace strata::python
