// From tensors to values of Python.
#pragma once

#include <string>

#include "python/src/bind.h"
#include "python/src/tensor_object.h"

namespace strata::python {

/// Tensor(data, dtype, device, requires_grad); null pointers are not given, None is the default.
Tensor made_tensor(PyObject* data, PyObject* dtype, PyObject* device, bool requires_grad);
/// The one element, as a bool, int or float of Python. Realizes. @throws Error (shape) unless there is one
py::object item_of_tensor(const Tensor& x);
/// @throws Error (shape) unless there is one element
bool truth_of_tensor(const Tensor& x);
std::string text_of_tensor(const Tensor& x);

/// shape, dtype and so on: tp_getset of tensors.
extern PyGetSetDef tensor_properties[];

}  // namespace strata::python
