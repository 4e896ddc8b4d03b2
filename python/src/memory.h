// Memory that Python objects and tensors share: buffers on the memory of a Python object, and arrays and memoryviews on
// the memory of a tensor.
//
// A buffer on the memory of a Python object holds a reference to the object. The last handle may be dropped on any
// thread, which must not wait for the interpreter's lock (GIL): it may hold a mutex that the holder of the GIL waits
// for, which would be a deadlock. So the deleter only puts the object into a list; the interpreter drops the reference
// later, from a pending call.
#pragma once

#include <memory>

#include "python/src/bind.h"
#include "python/src/tensor_object.h"
#include "strata/tensor/interop.h"

namespace strata::python {

/// A deleter for Buffer::from_pointer() that drops the reference to `object`, later. @pre the GIL is held
Buffer::Deleter letting_go(py::object object);

/// A pointer that keeps `object` alive; the last copy drops the reference in the same way. @pre the GIL is held
std::shared_ptr<PyObject> kept_object(py::object object);

/// The dtype of a memoryview's format, e.g. f32 for "f" and "<f"; null means "B". Nothing if no dtype has such
/// elements, or the format is big-endian.
std::optional<DType> dtype_of_format(const char* format);
/// The format of a dtype in the notation of Python's struct module; null for bfloat16, which has none.
const char* format_of(DType dtype);

/// The elements of `x` in memory that the host sees, with shape and strides. Realizes `x`, without the GIL.
StridedBuffer host_memory(const Tensor& x);
/// A read-only NumPy array on the memory of `x`, which the array keeps alive. Realizes `x`.
/// @throws py::type_error for bfloat16 without the package ml_dtypes
py::object shared_array(const Tensor& x);
/// A writable NumPy array with a copy of the elements.
py::object copied_array(const Tensor& x);

/// A tensor with a copy of the elements, in memory that nothing else refers to. Realizes `x`.
Tensor copied_tensor(const Tensor& x);

/// The buffer protocol of tensors (tp_as_buffer): read-only, and row-major for consumers that ask for it.
int get_buffer(PyObject* self, Py_buffer* view, int flags);
void release_buffer(PyObject* self, Py_buffer* view);

}  // namespace strata::python
