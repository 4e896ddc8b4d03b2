// The class DType, conversions between Python objects and dtypes, and conversions of sizes.
#include <array>
#include <string>

#include "python/src/expr_casters.h"

namespace strata::python {

namespace {

std::array<PyObject*, DType::kCount + 1> scalar_dtypes{};  // by id; live as long as the process

/// The name of a dtype in NumPy and PyTorch: "float32", "bool".
std::string long_name(DType d) {
  static constexpr std::string_view names[] = {
      "none",
#define STRATA_DTYPE(id, kind, bits, name, spec, c, significand, min_exponent) #id,
#include "strata/dtype/dtypes.def"
  };
  if (d.is_vector() || d.is_pointer()) return d.name();
  return d == dtypes::boolean ? "bool" : std::string(names[static_cast<std::size_t>(d.id())]);
}

/// NumPy's dtype.str without the byte order, e.g. "f4"; empty if NumPy has no such dtype.
std::string array_code(DType d) {
  if (d.is_none() || d.is_vector() || d.is_pointer() || d == dtypes::bfloat16) return {};
  const char kind = d.is_bool() ? 'b' : d.is_float() ? 'f' : d.is_unsigned() ? 'u' : 'i';
  return kind + std::to_string(d.itemsize());
}

std::optional<DType> dtype_of_code(std::string_view code) {
  if (code.size() == 3 && (code[0] == '<' || code[0] == '|' || code[0] == '=')) code.remove_prefix(1);
  for (const DType d : dtypes::all())
    if (code.size() == 2 && array_code(d) == code) return d;
  return std::nullopt;
}

/// NOTE: "i8" and "u8" have eight bits here. In NumPy they have eight bytes, but dtype.str is "<i8" there.
std::optional<DType> dtype_of_text(std::string_view text) {
  for (const DType d : dtypes::all())
    if (text == d.name() || text == long_name(d)) return d;
  return dtype_of_code(text);
}

/// The dtype of any object that dtype_of_object() accepts; nothing for other objects.
std::optional<DType> meant_dtype(py::handle object) {
  if (py::isinstance<DType>(object)) return py::cast<DType>(object);
  if (PyUnicode_Check(object.ptr())) {
    const std::string text = py::cast<std::string>(object);
    if (const auto d = dtype_of_text(text)) return d;
    return dtypes::parse(text);
  }
  if (object.ptr() == reinterpret_cast<PyObject*>(&PyBool_Type)) return dtypes::boolean;
  if (object.ptr() == reinterpret_cast<PyObject*>(&PyLong_Type)) return dtypes::int64;
  if (object.ptr() == reinterpret_cast<PyObject*>(&PyFloat_Type)) return dtypes::float32;
  // np.dtype("f4") is an object with `str`. np.float32 is a class, whose name is that of the dtype.
  if (PyType_Check(object.ptr())) {
    std::string name = py::cast<std::string>(object.attr("__name__"));
    if (name.ends_with('_')) name.pop_back();  // np.bool_
    return dtype_of_text(name);
  }
  const py::object str = py::getattr(object, "str", py::none());
  if (py::isinstance<py::str>(str)) {
    if (const auto d = dtype_of_code(py::cast<std::string>(str))) return d;
    // For ml_dtypes.bfloat16 `str` is "<V2"; its name is used.
    return dtype_of_text(py::cast<std::string>(py::getattr(object, "name", py::str())));
  }
  // The repr of torch.float32 is "torch.float32".
  const std::string text = py::cast<std::string>(py::repr(object));
  if (text.starts_with("torch.")) return dtype_of_text(text.substr(6));
  return std::nullopt;
}

bool equals(DType self, py::handle other) {
  try {
    const auto d = meant_dtype(other);
    return d.has_value() && *d == self;
  } catch (const Error&) {
    return false;  // a text that is not a dtype
  }
}

py::object numpy_dtype(DType d) {
  const std::string code = array_code(d);
  if (code.empty()) {
    if (d == dtypes::bfloat16) {
      // NumPy has bfloat16 only if the package ml_dtypes has been imported.
      const py::object modules = py::module_::import("sys").attr("modules");
      if (modules.contains("ml_dtypes"))
        return py::module_::import("numpy").attr("dtype")(py::module_::import("ml_dtypes").attr("bfloat16"));
    }
    throw py::type_error("NumPy has no dtype " + long_name(d) + "; convert to float32 by float()");
  }
  return py::module_::import("numpy").attr("dtype")(code);
}

void bind_dtype_class(py::module_& m) {
  py::class_<DType>(m, "DType", R"(The type of an element.

A DType is equal to the same dtype of NumPy and PyTorch and to its name, e.g. `x.dtype == np.float32` and
`x.dtype == "float32"`.
NumPy accepts a DType wherever NumPy expects a dtype, e.g. `numpy.dtype(d)`.)")
      .def(py::init([](const py::object& what) { return dtype_of_object(what); }), py::arg("what"),
           "The dtype of `what`: a name, a dtype of Strata, NumPy or PyTorch, or one of the types "
           "bool, int (int64) and float (float32).")
      .def_property_readonly("name", &long_name, "NumPy's name of the dtype, e.g. 'float32'.")
      .def_property_readonly("short_name", &DType::name, "Strata's short name, e.g. 'f32', or 'f32x8' for a vector.")
      .def_property_readonly("spec_name", &DType::spec_name, "The name in listings of UOps, e.g. 'dtypes.float'.")
      .def_property_readonly("itemsize", &DType::itemsize, "The size of an element in bytes.")
      .def_property_readonly("bits", &DType::bits, "The size of one lane in memory in bits.")
      .def_property_readonly("lanes", &DType::lanes, "The number of lanes of a vector; 1 for a scalar.")
      .def_property_readonly("is_floating_point", &DType::is_float, "True iff the dtype is a float.")
      .def_property_readonly(
          "is_signed", [](DType d) { return d.is_float() || d.is_signed_int(); },
          "True iff the dtype is a float or a signed integer.")
      .def_property_readonly("is_integer", &DType::is_int, "True iff the dtype is an integer; False for bool.")
      .def_property_readonly("is_bool", &DType::is_bool, "True iff the dtype is bool.")
      .def_property_readonly(
          "min", [](DType d) { return lowest(d); }, "The least finite value, as a float.")
      .def_property_readonly(
          "max", [](DType d) { return highest(d); }, "The largest finite value, as a float.")
      .def_property_readonly("numpy", &numpy_dtype, "NumPy's dtype. Raises TypeError if NumPy has no such dtype.")
      .def_property_readonly("dtype", &numpy_dtype,
                             "The same as `numpy`. NumPy reads this attribute to convert the object to a dtype.")
      .def("vec", &DType::vec, py::arg("lanes"),
           "A vector dtype of `lanes` lanes of this scalar; the scalar itself for 1.")
      .def("__eq__", &equals, py::is_operator())
      .def(
          "__ne__", [](DType d, py::handle other) { return !equals(d, other); }, py::is_operator())
      .def("__hash__", [](DType d) { return py::hash(py::str(d.name())); })
      .def("__repr__", [](DType d) { return "strata." + long_name(d); })
      .def("__str__", &long_name)
      .def("__reduce__", [](DType d) { return py::make_tuple(py::type::of<DType>(), py::make_tuple(d.name())); });
}

}  // namespace

std::optional<DType> try_dtype(const std::string& name) {
  if (const auto d = dtype_of_text(name)) return d;
  try {
    return dtypes::parse(name);
  } catch (const Error&) {
    return std::nullopt;
  }
}

DType dtype_of_object(py::handle object) {
  if (const auto d = meant_dtype(object)) return *d;
  throw py::type_error("not a dtype: " + py::cast<std::string>(py::repr(object)));
}

py::object object_of_dtype(DType dtype) {
  if (!dtype.is_vector() && !dtype.is_pointer())
    if (PyObject* const known = scalar_dtypes[static_cast<std::size_t>(dtype.id())])
      return py::reinterpret_borrow<py::object>(known);
  return py::cast(dtype);
}

py::object object_of_device(const Device& device) {
  if (py::detail::get_type_info(typeid(Device)) == nullptr) return py::str(std::string(device.name()));
  return py::cast(&device, py::return_value_policy::reference);
}

Int int_of_object(py::handle object) {
  if (PyLong_CheckExact(object.ptr())) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
    STRATA_CHECK(overflow == 0, overflow, "[size] ", py::cast<std::string>(py::repr(object)),
                 " does not fit in 64 bits");
    return static_cast<std::int64_t>(value);
  }
  if (py::isinstance<Expr>(object)) return py::cast<const Expr&>(object);
  const py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(object.ptr()));
  if (!index) throw py::error_already_set();
  if (!PyLong_CheckExact(index.ptr())) return static_cast<std::int64_t>(PyLong_AsLongLong(index.ptr()));
  return int_of_object(index);
}

py::object object_of_int(const Int& value) {
  if (value.is_number()) return py::int_(value.value());
  return object_of_expr(value.expr());
}

void bind_dtypes(py::module_& m) {
  bind_dtype_class(m);
  for (const DType d : dtypes::all()) {
    const py::object object = py::cast(d);
    scalar_dtypes[static_cast<std::size_t>(d.id())] = object.inc_ref().ptr();
    m.attr(d == dtypes::boolean ? "bool_" : long_name(d).c_str()) = object;
  }
  // PyTorch's short names.
  m.attr("half") = m.attr("float16");
  m.attr("double") = m.attr("float64");
  m.attr("long") = m.attr("int64");
  m.attr("short") = m.attr("int16");
  m.def(
      "promote_types", [](const DTypeArg& a, const DTypeArg& b) { return object_of_dtype(promote(a, b)); },
      py::arg("a"), py::arg("b"),
      "The dtype to which `a` and `b` are promoted, by PyTorch's rules. A signed integer and "
      "uint64 give float64, as in NumPy.");
}

}  // namespace strata::python
