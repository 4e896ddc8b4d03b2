#include "python/src/running.h"

#include <unistd.h>

namespace strata::python {

namespace {

/// Whether this is the first thread, which runs signal handlers and ends the interpreter.
bool is_first_thread() { return getpid() == gettid(); }

/// Sleeps forever: for a thread whose interpreter has ended.
[[noreturn]] void stay() {
  for (;;) pause();
}

/// Returns f(), which throws nothing itself. If the stack is unwound anyway, Python is ending the thread; the thread
/// sleeps forever instead.
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

// NOTE: an interpreter that has ended does not know its threads any more, so PyGILState_Ensure() is not called then.
Locked::Locked()
    : state_(staying([] {
        if (Py_IsInitialized() == 0 && !is_first_thread()) stay();
        return PyGILState_Ensure();
      })) {}

PyObject* call_python(PyObject* function, PyObject* args, PyObject* kwargs) {
  return staying([&] { return PyObject_Call(function, args, kwargs); });
}

void check_signals() {
  // NOTE: exit handlers of C run when the interpreter is gone, e.g. the goodbye of a mesh.
  if (!is_first_thread() || Py_IsInitialized() == 0) return;
  const Locked locked;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

void watch_signals() {
  static const InterruptCheck& check = *new InterruptCheck(&check_signals);  // never destroyed
  static_cast<void>(check);
}

}  // namespace strata::python
