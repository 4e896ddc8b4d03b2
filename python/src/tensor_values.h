// Conversions between tensors and Python values: the constructor Tensor(...), item(), bool(), repr(), and the
// properties of the class.
#pragma once

#include <string>

#include "python/src/bind.h"
#include "python/src/tensor_object.h"

namespace strata::python {

/// The result of Tensor(data, dtype, device, requires_grad). A null pointer: not given; None: the default.
Tensor made_tensor(PyObject* data, PyObject* dtype, PyObject* device, bool requires_grad);
/// The only element of `x`, as a Python bool, int or float. Realizes. @throws Error (shape) unless `x` has one element
py::object item_of_tensor(const Tensor& x);
/// bool(x). Realizes. @throws Error (shape) unless `x` has one element
bool truth_of_tensor(const Tensor& x);
/// repr(x)
std::string text_of_tensor(const Tensor& x);

/// The properties of the class (tp_getset): shape, dtype, device, ...
extern PyGetSetDef tensor_properties[];

}  // namespace strata::python
