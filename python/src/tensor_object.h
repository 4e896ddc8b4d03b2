// TensorObject: the object of the Python class strata.Tensor, which holds a Tensor handle. It is written with Python's
// C interface instead of pybind11, because the cost of an operator on two tensors should be that of the lazy operation,
// about a microsecond. Functions that are bound with pybind11 take and return tensors through the caster below.
#pragma once

#include <utility>

#include "python/src/bind.h"
#include "strata/tensor/tensor.h"

namespace strata::python {

struct TensorObject {
  PyObject_HEAD PyObject* weak_references;
  PyObject* kept;  ///< a list of objects that must live as long as this one, or null
  Tensor tensor;
};

/// The class strata.Tensor; null before bind_tensor_class().
extern PyTypeObject* tensor_class;

/// The handle in an object of the class or of a subclass; null for other objects.
inline const Tensor* tensor_in(PyObject* object) {
  if (Py_TYPE(object) == tensor_class || PyType_IsSubtype(Py_TYPE(object), tensor_class))
    return &reinterpret_cast<TensorObject*>(object)->tensor;
  return nullptr;
}
/// The object of a tensor. If an object of the same tensor is alive, returns that object, so that `layer.weight is
/// layer.weight` holds.
/// @return a new reference  @throws py::error_already_set out of memory
PyObject* new_tensor(Tensor&& tensor);
inline py::object object_of(Tensor tensor) { return py::reinterpret_steal<py::object>(new_tensor(std::move(tensor))); }

/// A tensor of the numbers in any object: as tensor_of() of convert.h. `owner` is the name of the function in errors.
Tensor tensor_from_object(PyObject* object, const char* owner);
/// @param dtype the dtype of a tensor that is made of Python numbers
Tensor tensor_from_object(PyObject* object, const char* owner, std::optional<DType> dtype);

}  // namespace strata::python

namespace pybind11::detail {

template <>
struct type_caster<strata::Tensor> {
  static constexpr auto name = const_name("Tensor");
  template <class T>
  using cast_op_type = movable_cast_op_type<T>;
  bool load(handle source, bool) {
    value_ = strata::python::tensor_in(source.ptr());
    return value_ != nullptr;
  }
  static handle cast(const strata::Tensor& source, return_value_policy, handle) {
    return strata::python::new_tensor(strata::Tensor(source));
  }
  static handle cast(const strata::Tensor* source, return_value_policy, handle) {
    return source != nullptr ? handle(strata::python::new_tensor(strata::Tensor(*source))) : none().release();
  }
  operator strata::Tensor*() { return const_cast<strata::Tensor*>(value_); }
  operator strata::Tensor&() { return *const_cast<strata::Tensor*>(value_); }
  operator strata::Tensor&&() && {
    copy_.emplace_back(*value_);  // the object keeps its own
    return std::move(copy_.back());
  }

 private:
  const strata::Tensor* value_ = nullptr;
  std::vector<strata::Tensor> copy_;
};

}  // namespace pybind11::detail
