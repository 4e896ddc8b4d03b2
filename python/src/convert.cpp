#include "python/src/convert.h"

#include <structseq.h>

namespace strata::python {

namespace {

/// Whether `object` is a NumPy scalar, such as np.float32(1), which counts as a number.
bool is_numpy_scalar(PyObject* object) {
  const std::string_view name = Py_TYPE(object)->tp_name;
  return name.starts_with("numpy.") && name != "numpy.ndarray" && PyObject_HasAttrString(object, "dtype") &&
         PyNumber_Check(object) != 0;
}

bool is_bool(PyObject* object) {
  return PyBool_Check(object) || std::string_view(Py_TYPE(object)->tp_name).starts_with("numpy.bool");
}

/// Whether `object` is a single size. An array has __index__, too, whatever its shape, so its number of dimensions
/// decides.
bool is_size(PyObject* object) {
  if (py::isinstance<Expr>(py::handle(object))) return true;
  if (!PyIndex_Check(object) || is_integer(object)) return PyIndex_Check(object);
  return py::getattr(object, "ndim", py::int_(0)).equal(py::int_(0));
}

bool names_axis(std::string_view parameter) {
  return parameter.find("axis") != std::string_view::npos || parameter.find("axes") != std::string_view::npos ||
         parameter.find("dim") != std::string_view::npos;
}

Number number_of_int(PyObject* object) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow == 0) return value;
  if (overflow > 0) {
    const unsigned long long large = PyLong_AsUnsignedLongLong(object);
    if (PyErr_Occurred() == nullptr) return large;
    PyErr_Clear();
  }
  throw Error(ErrorKind::overflow, "[number] " + py::cast<std::string>(py::repr(object)) + " does not fit in 64 bits");
}

/// The items of a sequence, as a tuple, because converting an item may run code that changes the sequence. @throws
/// py::type_error
py::tuple items_of(const Given& g, const char* wanted) {
  if (PyUnicode_Check(g.object) || !PySequence_Check(g.object)) g.refuse(wanted);
  PyObject* const items = PySequence_Tuple(g.object);
  if (items == nullptr) {
    PyErr_Clear();
    g.refuse(wanted);
  }
  return py::reinterpret_steal<py::tuple>(items);
}

template <class F>
void for_each_item(const Given& g, const char* wanted, const F& f) {
  const py::tuple items = items_of(g, wanted);
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(items.ptr()); ++k) f(g.with(PyTuple_GET_ITEM(items.ptr(), k)));
}

}  // namespace

void Given::refuse(const char* wanted) const {
  throw py::type_error(
      detail::message(function, "(): ", parameter, " must be ", wanted, ", not ", Py_TYPE(object)->tp_name));
}

bool is_integer(PyObject* object) {
  if (PyLong_CheckExact(object)) return true;
  return PyIndex_Check(object) && !is_bool(object) && tensor_in(object) == nullptr &&
         PyObject_HasAttrString(object, "__dlpack__") == 0;
}

std::int64_t integer_of(const Given& g) {
  if (!is_integer(g.object))
    g.refuse(names_axis(g.parameter) ? "an integer (a bool or tensor is no axis)" : "an integer");
  return int_of_object(g.object).value();
}

double real_of(const Given& g) {
  if (PyFloat_CheckExact(g.object)) return PyFloat_AS_DOUBLE(g.object);
  if (PyUnicode_Check(g.object) || PyNumber_Check(g.object) == 0) g.refuse("a number");
  const double out = PyFloat_AsDouble(g.object);
  if (out == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
  return out;
}

bool truth_of(const Given& g) {
  if (is_bool(g.object)) return PyObject_IsTrue(g.object) == 1;
  if (PyLong_Check(g.object)) {
    const long value = PyLong_AsLong(g.object);
    PyErr_Clear();
    if (value == 0 || value == 1) return value == 1;
  }
  g.refuse("a bool");
}

std::string text_of(const Given& g) {
  if (!PyUnicode_Check(g.object)) g.refuse("a text");
  return py::cast<std::string>(py::handle(g.object));
}

const Expr* integer_in(PyObject* object) {
  if (!py::isinstance<Expr>(object)) return nullptr;
  const Expr& e = py::cast<const Expr&>(py::handle(object));
  const std::vector<Variable> all = variables(e);
  const bool has_value =
      std::all_of(all.begin(), all.end(), [](const Variable& v) { return v.bound_value().has_value(); });
  return has_value ? &e : nullptr;
}

std::optional<Number> try_number(PyObject* object) {
  if (PyFloat_Check(object)) return Number(PyFloat_AS_DOUBLE(object));
  if (PyBool_Check(object)) return Number(object == Py_True);
  if (PyLong_Check(object)) return number_of_int(object);
  if (!is_numpy_scalar(object)) return std::nullopt;
  const auto value = py::reinterpret_borrow<py::object>(object).attr("item")();
  if (is_numpy_scalar(value.ptr())) return std::nullopt;
  return try_number(value.ptr());
}

Number number_of(const Given& g) {
  if (const auto n = try_number(g.object)) return *n;
  if (const Tensor* const t = tensor_in(g.object)) return Number(t->scalar());
  g.refuse("a number");
}

std::vector<std::int64_t> integers_of(const Given& g) {
  if (is_integer(g.object) || is_bool(g.object) || tensor_in(g.object) != nullptr) return {integer_of(g)};
  std::vector<std::int64_t> out;
  for_each_item(g, "an integer or a sequence of integers", [&](const Given& item) { out.push_back(integer_of(item)); });
  return out;
}

Int size_of(const Given& g) {
  if (is_bool(g.object) || (!PyIndex_Check(g.object) && !py::isinstance<Expr>(g.object))) g.refuse("made of integers");
  if (const Tensor* const t = tensor_in(g.object))
    if (!t->dtype().is_int() || t->numel() != Int(1)) g.refuse("made of integers");
  return int_of_object(g.object);
}

Ints sizes_of(const Given& g) {
  if (is_size(g.object) || is_bool(g.object)) return {size_of(g)};
  Ints out;
  for_each_item(g, "a size or a sequence of sizes", [&](const Given& item) { out.push_back(size_of(item)); });
  return out;
}

const Device* try_device(std::string name) {
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (name == "CPU") return &Device::default_device();
  for (const Device* d : Device::all())
    if (d->name() == name) return d;
  return nullptr;
}

std::string known_devices() {
  std::string out;
  for (const Device* d : Device::all()) {
    const std::string missing = d->missing();
    out += detail::message(out.empty() ? "" : ", ", d->name(), missing.empty() ? "" : " (", missing,
                           missing.empty() ? "" : ")");
  }
  return out + "; \"cpu\" is " + std::string(Device::default_device().name());
}

const Device& device_of(const Given& g) {
  if (PyUnicode_Check(g.object)) {
    const std::string name = text_of(g);
    if (const Device* const d = try_device(name)) return *d;
    throw Error(ErrorKind::domain,
                detail::message("[", g.function, "] there is no device \"", name, "\": there are ", known_devices()));
  }
  // A Device of Strata has `name`, one of PyTorch `type`.
  const py::object name = py::getattr(g.object, "name", py::getattr(g.object, "type", py::none()));
  if (!PyUnicode_Check(name.ptr())) g.refuse("the name of a device");
  return device_of(g.with(name.ptr()));
}

Tensor tensor_of(const Given& g) {
  if (const Tensor* const t = tensor_in(g.object)) return *t;
  if (g.is_none() || PyUnicode_Check(g.object)) g.refuse("a tensor");
  const Tensor* const first = g.beside != nullptr ? tensor_in(g.beside) : nullptr;
  if (first != nullptr && first->dtype() == dtypes::float64 && PyFloat_Check(g.object))
    return Tensor::full({}, PyFloat_AS_DOUBLE(g.object), dtypes::float64).to(first->device());
  return tensor_from_object(g.object, g.function);
}

std::vector<Tensor> tensors_of(const Given& g) {
  if (const Tensor* const t = tensor_in(g.object)) return t->unbind();
  std::vector<Tensor> out;
  for_each_item(g, "a sequence of tensors", [&](const Given& item) { out.push_back(tensor_of(item)); });
  return out;
}

py::tuple rest_of(const py::object& rest) {
  if (PyTuple_Check(rest.ptr()) || PyList_Check(rest.ptr())) return py::tuple(rest);
  return py::make_tuple(rest);
}

PerAxis per_axis_of(const Given& g) {
  if (is_integer(g.object)) return integer_of(g);
  return integers_of(g);
}

ConvPadding conv_padding_of(const Given& g) {
  if (PyUnicode_Check(g.object)) return choice_of(g, {"same", "valid"}) == 0 ? "same" : "valid";
  if (is_integer(g.object) || is_bool(g.object) || tensor_in(g.object) != nullptr) return integer_of(g);
  std::vector<std::pair<std::int64_t, std::int64_t>> sides;
  std::vector<std::int64_t> each;
  for_each_item(g, "integers, pairs of them, 'same' or 'valid'", [&](const Given& item) {
    if (is_integer(item.object)) {
      each.push_back(integer_of(item));
    } else {
      const auto pair = integers_of(item);
      if (pair.size() != 2) item.refuse("a pair (before, after)");
      sides.emplace_back(pair[0], pair[1]);
    }
  });
  if (!sides.empty() && !each.empty()) g.refuse("integers or pairs of them");
  if (!sides.empty()) return sides;
  return PerAxis(each);
}

std::size_t choice_of(const Given& g, std::initializer_list<const char*> names) {
  const std::string text = text_of(g);
  std::size_t at = 0;
  for (const char* name : names) {
    if (text == name) return at;
    ++at;
  }
  std::string all;
  for (const char* name : names) all += (all.empty() ? "'" : ", '") + std::string(name) + "'";
  throw Error(ErrorKind::domain,
              detail::message("[", g.function, "] ", g.parameter, " is '", text, "', not one of ", all));
}

PyObject* tuple_of(std::vector<Tensor>&& tensors) {
  py::tuple out(tensors.size());
  for (std::size_t k = 0; k < tensors.size(); ++k)
    PyTuple_SET_ITEM(out.ptr(), static_cast<Py_ssize_t>(k), new_tensor(std::move(tensors[k])));
  return out.release().ptr();
}

PyObject* values_indices(ValuesIndices&& v) {
  static PyTypeObject* const type = [] {
    static PyStructSequence_Field fields[] = {{"values", nullptr}, {"indices", nullptr}, {nullptr, nullptr}};
    static PyStructSequence_Desc description{"strata.ValuesIndices",
                                             "A named tuple of values and their indices (int64).", fields, 2};
    return PyStructSequence_NewType(&description);
  }();
  PyObject* const out = type == nullptr ? nullptr : PyStructSequence_New(type);
  if (out == nullptr) throw py::error_already_set();
  PyStructSequence_SetItem(out, 0, new_tensor(std::move(v.both.first)));
  PyStructSequence_SetItem(out, 1, new_tensor(std::move(v.both.second)));
  return out;
}

PyObject* tuple_of_sizes(const Ints& sizes) {
  py::tuple out(sizes.size());
  for (std::size_t k = 0; k < sizes.size(); ++k)
    PyTuple_SET_ITEM(out.ptr(), static_cast<Py_ssize_t>(k), object_of_int(sizes[k]).release().ptr());
  return out.release().ptr();
}

}  // namespace strata::python
