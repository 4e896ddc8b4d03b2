// Conversions of expressions for the bindings of the algebra. As an argument, an integer means a constant expression; a
// result that is a variable becomes an object of the class Variable.
#pragma once

#include <string_view>
#include <vector>

#include "python/src/bind.h"

namespace strata::python {

/// The parameter type for an expression or an integer: a binding takes `const ExprArg& e` and uses `*e`.
struct ExprArg {
  Expr value;
  const Expr& operator*() const { return value; }
};
/// The result type for an expression.
struct ExprResult {
  Expr value;
};
/// An object whose annotation is Any: trees of integers, arguments of ops.
struct AnyObject {
  py::object value;
};

/// The object of an expression: a Variable if `e` is one, else an Expr.
py::object object_of_expr(const Expr& e);
/// A dict from Variable objects to integers.
py::dict dict_of_values(const Values& values);
/// The values of a dict whose keys are variables, or names of variables in `variables`.
/// @throws py::type_error for another key or value, Error (overflow) for a value beyond 64 bits
Values values_of_mapping(const py::dict& mapping, const std::vector<Variable>& variables);
/// The substitution of a dict from expressions to expressions or integers. @throws py::type_error for another key or
/// value
Substitution substitution_of_mapping(const py::dict& mapping);
std::vector<Expr> exprs_of(const std::vector<ExprArg>& arguments);
std::vector<ExprResult> results_of(const std::vector<Expr>& exprs);
/// The state that pickle saves: the nodes of an expression as tuples, operands before their users.
py::list state_of_expr(const Expr& e);
/// The expression of such a state. @throws Error (request) if state_of_expr() cannot have returned the list
Expr expr_of_state(const py::list& state);
/// "yes", "no" or "unknown".
std::string_view name_of_answer(Answer answer);
/// Effort::rules for "rules", Effort::exact for "exact". @throws Error (domain) for another name
Effort effort_of_name(std::string_view name);

// expr_functions.cpp, shape_tracker.cpp, linearizer.cpp, render.cpp, lazy_op.cpp
void bind_expr_functions(py::module_& m);
void bind_shape_tracker(py::module_& m);
void bind_lazy_op(py::module_& m);
void bind_linearizer(py::module_& m);
void bind_render(py::module_& m);

}  // namespace strata::python

namespace pybind11::detail {

template <>
struct type_caster<strata::python::ExprArg> {
  PYBIND11_TYPE_CASTER(strata::python::ExprArg, const_name("Expr | int"));
  bool load(handle source, bool) {
    if (isinstance<strata::Expr>(source)) {
      value.value = source.cast<const strata::Expr&>();
      return true;
    }
    if (!PyIndex_Check(source.ptr())) return false;
    // Arrays and tensors have the method, and most of them refuse.
    const auto index = reinterpret_steal<object>(PyNumber_Index(source.ptr()));
    if (!index) {
      PyErr_Clear();
      return false;
    }
    value.value = strata::python::int_of_object(index).expr();
    return true;
  }
};

template <>
struct type_caster<strata::python::ExprResult> {
  PYBIND11_TYPE_CASTER(strata::python::ExprResult, const_name("Expr"));
  bool load(handle, bool) { return false; }
  static handle cast(const strata::python::ExprResult& source, return_value_policy, handle) {
    return strata::python::object_of_expr(source.value).release();
  }
};

template <>
struct type_caster<strata::python::AnyObject> {
  PYBIND11_TYPE_CASTER(strata::python::AnyObject, const_name("Any"));
  bool load(handle source, bool) {
    value.value = reinterpret_borrow<object>(source);
    return true;
  }
  static handle cast(const strata::python::AnyObject& source, return_value_policy, handle) {
    return object(source.value).release();
  }
};

}  // namespace pybind11::detail
