// What the bindings of UOps, graphs and renderers share.
#pragma once

#include <memory>
#include <string>

#include "python/src/expr_casters.h"
#include "strata/ir/uop.h"

namespace strata::python {

/// A list of UOps. What a kernel was compiled to is frozen.
struct UOpList {
  std::shared_ptr<UOpGraph> graph = std::make_shared<UOpGraph>();
  bool is_frozen = false;
};

/// A UOp that keeps its list alive.
struct UOpObject {
  std::shared_ptr<const UOpGraph> graph;
  UOp uop;
};

/// A class of Python's enum module whose members are numbered from 1.
py::object make_enum(py::module_& m, const char* name, const std::vector<std::string>& members,
                     const char* doc);
void bind_op_enums(py::module_& m);  // op_enums.cpp
/// The member of UnaryOps, BinaryOps, ... that an op is.
py::object object_of_op(Ops op);
/// The op that a member of an Enum, or a name, means: BinaryOps.ADD, "BinaryOps.ADD", "ADD". @throws Error (domain)
Ops op_of_object(const py::handle& object);
/// A number of Python in a dtype. @throws py::type_error for what is none, or a fraction for integers
Scalar scalar_of_object(const py::handle& object, DType dtype);
py::object object_of_scalar(const Scalar& value);
/// A dtype, or none for None.
DType dtype_or_none(const py::handle& object);
/// The dtype, or None for none.
py::object object_of_dtype_or_none(DType dtype);
std::vector<UOp> uops_of(const std::vector<UOpObject>& objects);

}  // namespace strata::python
