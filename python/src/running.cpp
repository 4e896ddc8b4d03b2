#include "python/src/running.h"

namespace strata::python {

void SignalWatch::ran(RanKernel) {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < kPause) return;
  last_ = now;
  const py::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

}  // namespace strata::python
