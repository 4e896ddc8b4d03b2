// The functions that fill the Python module, and conversions that several of its files use.
//
// Each file binds one topic in a function bind_<topic>. module.cpp calls them in an order such that a class is bound
// before functions whose signatures name it. Names in anonymous namespaces must be unique in this folder, because its
// files are compiled in groups.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string_view>

#include "strata/base/check.h"
#include "strata/dtype/dtype.h"
#include "strata/expr/expr.h"
#include "strata/runtime/device.h"
#include "strata/view/int.h"

namespace strata::python {

namespace py = pybind11;

void bind_errors(py::module_& m);    // errors.cpp
void bind_dtypes(py::module_& m);    // dtype.cpp
void bind_expr(py::module_& m);      // expr.cpp
void bind_view(py::module_& m);      // view.cpp, shape_tracker.cpp
void bind_layout(py::module_& m);    // layout.cpp
void bind_affine(py::module_& m);    // affine.cpp
void bind_uops(py::module_& m);      // uop.cpp, linearizer.cpp, render.cpp
void bind_programs(py::module_& m);  // device_program.cpp
void bind_tensors(py::module_& m);   // tensors.cpp
void bind_jit(py::module_& m);       // jit.cpp
void bind_nn(py::module_& m);        // nn.cpp, layers.cpp
void bind_optim(py::module_& m);     // optim.cpp
void bind_files(py::module_& m);     // files.cpp
void bind_onnx(py::module_& m);      // onnx.cpp
void bind_flags(py::module_& m);     // flags.cpp

/// Sets the Python exception for the C++ exception that is being handled. @pre called in a catch clause
void raise_current_exception();

/// The dtype of a strata.DType, a name, a NumPy dtype or scalar type, or of the types bool, int and float.
/// @throws py::type_error for other objects
DType dtype_of_object(py::handle object);
/// The dtype of a name; nothing if there is none.
std::optional<DType> try_dtype(const std::string& name);
/// The parameter type for pybind11 functions that accept any object that dtype_of_object() converts.
struct DTypeArg {
  DType value;
  operator DType() const { return value; }
};
/// The object of a dtype. A scalar dtype has one object, so `x.dtype is strata.float32` holds.
py::object object_of_dtype(DType dtype);

/// The Device object of a device; its name if the class is not bound.
py::object object_of_device(const Device& device);

/// The size of a Python or NumPy integer, or of an expression. @throws py::type_error for other objects, Error
/// (overflow) beyond 64 bits
Int int_of_object(py::handle object);
/// A Python int; an Expr if the size is symbolic.
py::object object_of_int(const Int& value);

}  // namespace strata::python

namespace pybind11::detail {

/// Sizes: Python integers and expressions, but no bools and floats.
template <>
struct type_caster<strata::Int> {
  PYBIND11_TYPE_CASTER(strata::Int, const_name("int | Expr"));
  bool load(handle source, bool) {
    if (PyBool_Check(source.ptr()) || PyFloat_Check(source.ptr())) return false;
    if (!PyIndex_Check(source.ptr()) && !isinstance<strata::Expr>(source)) return false;
    value = strata::python::int_of_object(source);
    return true;
  }
  static handle cast(const strata::Int& source, return_value_policy, handle) {
    return strata::python::object_of_int(source).release();
  }
};

/// Shapes and strides: accepts any sequence of sizes, returns a tuple.
template <class T, std::size_t n>
struct type_caster<strata::SmallVec<T, n>> {
  using Vec = strata::SmallVec<T, n>;
  PYBIND11_TYPE_CASTER(Vec, const_name("tuple[") + make_caster<T>::name + const_name(", ...]"));
  bool load(handle source, bool convert) {
    if (!isinstance<sequence>(source) || isinstance<str>(source)) return false;
    for (const handle item : reinterpret_borrow<sequence>(source)) {
      make_caster<T> element;
      if (!element.load(item, convert)) return false;
      value.push_back(cast_op<T>(element));
    }
    return true;
  }
  template <class V>
  static handle cast(V&& source, return_value_policy policy, handle parent) {
    tuple out(source.size());
    for (std::size_t k = 0; k < source.size(); ++k)
      out[k] = reinterpret_steal<object>(make_caster<T>::cast(source[k], policy, parent));
    return out.release();
  }
};

template <>
struct type_caster<strata::python::DTypeArg> {
  PYBIND11_TYPE_CASTER(strata::python::DTypeArg, const_name("DTypeLike"));
  bool load(handle source, bool) {
    value.value = strata::python::dtype_of_object(source);
    return true;
  }
  static handle cast(const strata::python::DTypeArg& source, return_value_policy, handle) {
    return strata::python::object_of_dtype(source.value).release();
  }
};

}  // namespace pybind11::detail
