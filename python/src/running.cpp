#include "python/src/running.h"

#include <unistd.h>

namespace strata::python {

namespace {

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

Locked::Locked() : state_(staying([] { return PyGILState_Ensure(); })) {}

PyObject* call_python(PyObject* function, PyObject* args, PyObject* kwargs) {
  return staying([&] { return PyObject_Call(function, args, kwargs); });
}

void check_signals() {
  const Locked locked;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

void watch_signals() {
  static const InterruptCheck& check = *new InterruptCheck(&check_signals);  // as long as the thread lives
  static_cast<void>(check);
}

}  // namespace strata::python
