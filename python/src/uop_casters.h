// The objects of UOps and their lists in Python, and conversions that the bindings of UOps, graphs and renderers share
// (uop.cpp, linearizer.cpp, render.cpp, lazy_op.cpp).
#pragma once

#include <memory>
#include <string>

#include "python/src/expr_casters.h"
#include "strata/ir/uop.h"

namespace strata::python {

/// A list of UOps. The list of a compiled kernel is frozen: UOps cannot be added.
struct UOpList {
  std::shared_ptr<UOpGraph> graph = std::make_shared<UOpGraph>();
  bool is_frozen = false;
};

/// A UOp. The object keeps the list of the UOp alive.
struct UOpObject {
  std::shared_ptr<const UOpGraph> graph;
  UOp uop;
};

/// Makes an Enum class in `m` whose members have the values 1, 2, ...
py::object make_enum(py::module_& m, const char* name, const std::vector<std::string>& members, const char* doc);
void bind_op_enums(py::module_& m);  // op_enums.cpp
/// The Enum member of an op, e.g. BinaryOps.ADD.
py::object object_of_op(Ops op);
/// The op of an Enum member, or of a name: BinaryOps.ADD, "BinaryOps.ADD", "ADD". @throws Error (domain) for anything
/// else
Ops op_of_object(const py::handle& object);
/// A Python number as a scalar of `dtype`. @throws py::type_error if the object is not a number, or is a fraction and
/// `dtype` is an integer dtype
Scalar scalar_of_object(const py::handle& object, DType dtype);
py::object object_of_scalar(const Scalar& value);
/// The dtype of an object; dtypes::none for None.
DType dtype_or_none(const py::handle& object);
/// The object of a dtype; None for dtypes::none.
py::object object_of_dtype_or_none(DType dtype);
std::vector<UOp> uops_of(const std::vector<UOpObject>& objects);

}  // namespace strata::python
