// The Enum classes UnaryOps, BinaryOps, ... of the op table, and conversions between Python numbers and typed scalars.
#include <array>
#include <cmath>

#include "python/src/uop_casters.h"
#include "strata/ir/ops.h"

namespace strata::python {

namespace {

std::vector<PyObject*> op_members;  // the member of each op; they live as long as the process

constexpr std::array<const char*, 8> kGroupNames = {"UnaryOps", "BinaryOps",   "TernaryOps", "ReduceOps",
                                                    "ScanOps",  "MovementOps", "LoadOps",    "BufferOps"};

}  // namespace

py::object make_enum(py::module_& m, const char* name, const std::vector<std::string>& members, const char* doc) {
  const py::object made =
      py::module_::import("enum").attr("Enum")(name, py::cast(members), py::arg("module") = "strata._strata");
  made.attr("__doc__") = doc;
  m.attr(name) = made;
  return made;
}

void bind_op_enums(py::module_& m) {
  for (std::size_t group = 0; group < kGroupNames.size(); ++group) {
    std::vector<std::string> names;
    for (const OpRow& r : op_rows())
      if (static_cast<std::size_t>(r.group) == group) names.emplace_back(r.name);
    make_enum(m, kGroupNames[group], names,
              "The ops of this group. str() of a member is the specification's name, e.g. 'BinaryOps.ADD'.");
  }
  op_members.resize(op_rows().size());
  for (const OpRow& r : op_rows()) {
    const py::object group = m.attr(kGroupNames[static_cast<std::size_t>(r.group)]);
    op_members[static_cast<std::size_t>(r.op)] = py::object(group.attr(py::str(std::string(r.name)))).release().ptr();
  }
}

py::object object_of_op(Ops op) { return py::reinterpret_borrow<py::object>(op_members[static_cast<std::size_t>(op)]); }

Ops op_of_object(const py::handle& object) {
  const std::string name = py::str(object);
  const std::optional<Ops> found = find_op(name);
  STRATA_CHECK(found, domain, "[op] there is no op '", name, "'");
  return *found;
}

Scalar scalar_of_object(const py::handle& object, DType dtype) {
  if (PyFloat_Check(object.ptr())) {
    const double value = object.cast<double>();
    if (!dtype.is_float() && !(std::trunc(value) == value && std::abs(value) < 0x1p63))
      throw py::type_error(detail::message(py::repr(object).cast<std::string>(), " is not a value of ", dtype.name()));
    return Scalar::of(dtype, value);
  }
  if (!PyIndex_Check(object.ptr()))
    throw py::type_error(detail::message("not a number: ", py::repr(object).cast<std::string>()));
  const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(object.ptr()));
  if (!number) throw py::error_already_set();
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow == 0) return Scalar::of(dtype, static_cast<std::int64_t>(value));
  return Scalar::of(dtype, number.cast<std::uint64_t>());
}

py::object object_of_scalar(const Scalar& value) {
  if (value.dtype().is_bool()) return py::bool_(value.as_bool());
  if (value.dtype().is_float()) return py::float_(value.as_double());
  if (value.dtype().is_unsigned()) return py::int_(value.as_uint());
  return py::int_(value.as_int());
}

DType dtype_or_none(const py::handle& object) { return object.is_none() ? dtypes::none : dtype_of_object(object); }

py::object object_of_dtype_or_none(DType dtype) {
  return dtype.is_none() ? py::object(py::none()) : object_of_dtype(dtype);
}

}  // namespace strata::python
