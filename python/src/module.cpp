// The extension module strata._strata.
#include "python/src/bind.h"
#include "python/src/refusals.h"
#include "python/src/running.h"
#include "strata/base/version.h"

PYBIND11_MODULE(_strata, m) {
  namespace sp = strata::python;
  m.doc() = "Exact symbolic index algebra and tensor compiler.";
  m.attr("__version__") = STRATA_VERSION;
  sp::watch_signals();
  sp::bind_errors(m);
  sp::bind_dtypes(m);
  sp::bind_expr(m);
  sp::bind_view(m);
  sp::bind_layout(m);
  sp::bind_affine(m);
  sp::bind_uops(m);
  sp::bind_programs(m);
  sp::bind_tensors(m);
  sp::bind_nn(m);
  sp::bind_optim(m);
  sp::bind_files(m);
  sp::bind_onnx(m);
  sp::bind_flags(m);
  m.def("_unknown_argument", &sp::unknown_argument, "The message for an argument that a function does not have.");
  sp::refuse_in_a_line(m);
}
