// Memory that Python and tensors share.
//
// An object whose memory a tensor reads is let go when nothing needs the memory any more, by whatever thread that is, which may not
// wait for the interpreter's lock: it could hold a lock that the lock's holder wants. So such objects are put aside, and let go by
// the interpreter when it next comes by.
#pragma once

#include <memory>

#include "python/src/bind.h"
#include "python/src/tensor_object.h"
#include "strata/tensor/interop.h"

namespace strata::python {

/// A deleter that lets `object` go, some time later. @pre the GIL is held
Buffer::Deleter letting_go(py::object object);

/// An object that is let go in the same way when the last pointer goes. @pre the GIL is held
std::shared_ptr<PyObject> kept_object(py::object object);

/// What a memoryview's format says; nothing where no dtype has such elements, or their bytes are in another order.
std::optional<DType> dtype_of_format(const char* format);
/// The format of elements, as the struct module has it; null for bfloat16, which has none.
const char* format_of(DType dtype);

/// The elements of `x` where the host sees them. Realizes, without the lock.
StridedBuffer host_memory(const Tensor& x);
/// The elements of `x` as an array of NumPy's over the same memory, which it keeps; it is read-only. Realizes.
/// @throws py::type_error for bfloat16 without ml_dtypes
py::object shared_array(const Tensor& x);
/// The same in memory of its own, which may be written.
py::object copied_array(const Tensor& x);

/// The same elements in memory that nobody else has. Realizes.
Tensor copied_tensor(const Tensor& x);

/// tp_as_buffer of tensors.
int get_buffer(PyObject* self, Py_buffer* view, int flags);
void release_buffer(PyObject* self, Py_buffer* view);

}  // namespace strata::python
