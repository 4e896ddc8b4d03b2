// What stands in the brackets of a tensor, as NumPy and PyTorch have it: integers, slices with any step, None, Ellipsis, lists, masks and
// tensors or arrays of integers.
#pragma once

#include "python/src/bind.h"
#include "python/src/tensor_object.h"

namespace strata::python {

/// x[key]. Realizes masks. @throws py::type_error for what is no subscript, Error (shape) as Tensor::index
Tensor subscripted(const Tensor& x, PyObject* key);
/// x with `value` where x[key] is; where a place is named twice: the last one, or the sum. A list is what stands in brackets, too.
Tensor with_put(const Tensor& x, PyObject* key, const Operand& value, bool accumulate);
/// x[key] = value: set_in_place().
void put_at(const Tensor& x, PyObject* key, PyObject* value);

}  // namespace strata::python
