// What the files of the Python module share: the functions that fill it, and conversions that several of them need.
//
// Each file binds one topic and has one function bind_<topic>, which module.cpp calls in an order in which classes come before those
// that name them. Names in anonymous namespaces are unique in this folder: the files are compiled in groups.
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
void bind_flags(py::module_& m);     // flags.cpp

/// The Python exception of the C++ exception that is being handled becomes the current one. @pre called from a catch clause
void raise_current_exception();

/// What a Python object means as a dtype: a strata.DType, its name, a NumPy dtype or scalar type, bool, int or float.
/// @throws py::type_error where it means none
DType dtype_of_object(py::handle object);
std::optional<DType> try_dtype(const std::string& name);
/// A dtype where an argument of a function bound with pybind11 may be anything that means one: `DTypeArg dtype`, `*dtype`.
struct DTypeArg {
  DType value;
  operator DType() const { return value; }
};
/// The object of a dtype; that of a scalar one is always the same.
py::object object_of_dtype(DType dtype);

/// The Device object of a device; its name where the class is not bound.
py::object object_of_device(const Device& device);

/// An integer of Python (also of NumPy), or an expression. @throws py::type_error for anything else, Error (overflow)
Int int_of_object(py::handle object);
/// A Python int, or an Expr where the size is symbolic.
py::object object_of_int(const Int& value);

}  // namespace strata::python

namespace pybind11::detail {

/// Sizes: Python integers and expressions.
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

/// Shapes and strides: any sequence of sizes comes in, a tuple goes out.
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
