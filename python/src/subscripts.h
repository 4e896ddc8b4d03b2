// Subscripts of tensors in Python, x[key] and x[key] = value, with NumPy's and PyTorch's meaning: integers, slices with
// any step, None, Ellipsis, lists, masks, and tensors or arrays of integers.
#pragma once

#include "python/src/bind.h"
#include "python/src/tensor_object.h"

namespace strata::python {

/// x[key]. Realizes masks, because the number of their true elements is a size. @throws py::type_error for an object
///   that is no subscript, Error (shape) as Tensor::index()
Tensor subscripted(const Tensor& x, PyObject* key);
/// A copy of x whose elements x[key] are `value`; with `reduce` the old elements are combined with it.
/// If the key names an element twice, the last value counts, or with `reduce` each. A list as the key means a tuple
/// of subscripts.
Tensor with_put(const Tensor& x, PyObject* key, const Operand& value, const std::optional<Tensor::Reduce>& reduce);
/// x[key] = value, by set_in_place().
void put_at(const Tensor& x, PyObject* key, PyObject* value);

}  // namespace strata::python
