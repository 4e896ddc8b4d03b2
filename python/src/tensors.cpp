// Binds the class Tensor, and the methods and functions of tensors, in groups.
#include "python/src/call.h"

namespace strata::python {

void bind_tensors(py::module_& m) {
  bind_tensor_class(m);
  bind_generator(m);
  Functions f(m, py::handle(reinterpret_cast<PyObject*>(tensor_class)));
  f.tensor_class().attr("__array_priority__") = 1000;
  // `array + tensor` calls Tensor.__radd__ and not NumPy's operator.
  f.tensor_class().attr("__array_ufunc__") = py::none();
  bind_tensor_values(f);
  bind_operations(f);
  bind_elementwise(f);
  bind_movement(f);
  bind_reductions(f);
  bind_indexed(f);
  bind_matrices(f);
  bind_fourier(f);
  bind_making(f);
  bind_functional(f);
  bind_losses(f);
  bind_gradients(f);
  bind_loops(m);
  bind_streams(m);
  bind_transforms(m);
  bind_sharded(m, f);
  bind_aliases(f);
  bind_jit(m);
}

}  // namespace strata::python
