#include "python/src/call.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include <Python.h>
#include <structmember.h>

#include "python/src/location.h"
#include "python/src/refusals.h"
#include "strata/base/spelling.h"
#include "strata/base/text.h"

namespace strata::python {

namespace {

PyObject* interned(std::string_view text) {
  PyObject* out = PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  if (out == nullptr) throw py::error_already_set();
  PyUnicode_InternInPlace(&out);
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// Synonyms of parameter names in NumPy, PyTorch and tinygrad.
constexpr std::array<std::array<std::string_view, 4>, 3> kSynonyms{{
    {"axis", "dim", "axes", "dims"},
    {"keepdim", "keepdims"},
    {"self", "input"},
}};

std::vector<PyObject*> names_of(std::string_view text) {
  std::vector<PyObject*> out;
  bool is_closed = false;
  while (!text.empty()) {
    const std::size_t bar = std::min(text.find('|'), text.size());
    const bool ends_closed = text.substr(0, bar).ends_with('!');
    out.push_back(interned(text.substr(0, bar - (ends_closed ? 1 : 0))));
    is_closed = is_closed || ends_closed;
    text.remove_prefix(std::min(bar + 1, text.size()));
  }
  if (is_closed) return out;
  const std::string_view first = PyUnicode_AsUTF8(out.front());
  for (const auto& group : kSynonyms)
    if (std::find(group.begin(), group.end(), first) != group.end())
      for (const std::string_view other : group)
        if (other != first && !other.empty()) out.push_back(interned(other));
  return out;
}

bool is_several(PyObject* object) { return PyTuple_Check(object) || PyList_Check(object); }

struct FunctionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  std::shared_ptr<const Function> function;
};

const Function& function_in(PyObject* self) { return *reinterpret_cast<FunctionObject*>(self)->function; }

PyObject* call_function(PyObject* self, PyObject* const* args, std::size_t count, PyObject* names) {
  try {
    return function_in(self)(args, static_cast<std::size_t>(PyVectorcall_NARGS(count)), names);
  } catch (const std::exception&) {
    raise_current_exception();
    return nullptr;
  }
}

void delete_function(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  reinterpret_cast<FunctionObject*>(self)->function.~shared_ptr();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* bind_function(PyObject* self, PyObject* instance, PyObject*) {
  if (instance == nullptr || instance == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}

/// The inspect.Signature, which help() and editors show.
py::object inspected(const Function& f) {
  const py::object inspect = py::module_::import("inspect"), parameter = inspect.attr("Parameter");
  py::list parameters;
  for (const Parameter& p : f.parameters()) {
    py::object kind = parameter.attr(p.rest           ? "VAR_POSITIONAL"
                                     : p.by_name_only ? "KEYWORD_ONLY"
                                                      : "POSITIONAL_OR_KEYWORD");
    py::dict more;
    if (p.fallback != nullptr && !p.rest) more["default"] = py::handle(p.fallback);
    parameters.append(parameter(p.name(), kind, **more));
  }
  return inspect.attr("Signature")(parameters);
}

/// For each parameter: its names, its type, the default as it was written (None: required), and its kind.
py::list parameter_rows(const Function& f) {
  py::list out;
  for (const Parameter& p : f.parameters()) {
    py::list names;
    for (PyObject* const name : p.names) names.append(py::handle(name));
    const char* const kind = p.rest ? "rest" : p.by_name_only ? "name" : "position";
    py::object fallback = py::none();
    if (p.fallback != nullptr) fallback = py::str(p.text);
    out.append(py::make_tuple(py::tuple(names), p.type, fallback, kind));
  }
  return out;
}

template <class Get>
PyObject* got(const Get& get) {
  try {
    return py::object(get()).release().ptr();
  } catch (const std::exception&) {
    raise_current_exception();
    return nullptr;
  }
}

// clang-format off
PyObject* get_name(PyObject* self, void*) { return PyUnicode_FromString(function_in(self).name()); }
PyObject* get_doc(PyObject* self, void*) { return PyUnicode_FromString(function_in(self).doc().c_str()); }
PyObject* get_parameters(PyObject* self, void*) { return got([&] { return parameter_rows(function_in(self)); }); }
PyObject* get_result(PyObject* self, void*) { return PyUnicode_FromString(function_in(self).result()); }
PyObject* get_signature(PyObject* self, void*) { return got([&] { return inspected(function_in(self)); }); }
// clang-format on
PyObject* show_function(PyObject* self) {
  return PyUnicode_FromFormat("<strata function %s>", function_in(self).name());
}
/// __reduce__: pickle and copy treat a function as a global name of the module.
PyObject* reduce_function(PyObject* self, PyObject*) { return get_name(self, nullptr); }

PyGetSetDef function_properties[] = {
    {"__name__", get_name, nullptr, nullptr, nullptr},
    {"__qualname__", get_name, nullptr, nullptr, nullptr},
    {"__doc__", get_doc, nullptr, nullptr, nullptr},
    {"__signature__", get_signature, nullptr, nullptr, nullptr},
    {"__parameters__", get_parameters, nullptr,
     "A list of (names, type, default, kind), one tuple for each parameter. Used to make "
     "stubs.",
     nullptr},
    {"__result__", get_result, nullptr, "The annotation of the result. Used to make stubs.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMethodDef function_methods[] = {
    {"__reduce__", reduce_function, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

template <class F>
void* slot(F* f) {
  return reinterpret_cast<void*>(f);
}

PyTypeObject* new_function_type(const char* name, bool is_method) {
  std::vector<PyType_Slot> slots{
      {Py_tp_dealloc, slot(&delete_function)}, {Py_tp_call, slot(&PyVectorcall_Call)},
      {Py_tp_repr, slot(&show_function)},      {Py_tp_getset, function_properties},
      {Py_tp_methods, function_methods},       {Py_tp_members, function_members},
  };
  if (is_method) slots.push_back({Py_tp_descr_get, slot(&bind_function)});
  slots.push_back({0, nullptr});
  unsigned flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE;
  if (is_method) flags |= Py_TPFLAGS_METHOD_DESCRIPTOR;
  PyType_Spec spec{name, sizeof(FunctionObject), 0, flags, slots.data()};
  PyObject* const type = PyType_FromSpec(&spec);
  if (type == nullptr) throw py::error_already_set();
  return reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace

PyObject* object_of_function(std::shared_ptr<const Function> function, bool binds) {
  static PyTypeObject* const method_type = new_function_type("strata.method", true);
  static PyTypeObject* const function_type = new_function_type("strata.function", false);
  PyTypeObject* const type = binds ? method_type : function_type;
  PyObject* const out = type->tp_alloc(type, 0);
  if (out == nullptr) throw py::error_already_set();
  auto* const object = reinterpret_cast<FunctionObject*>(out);
  object->vectorcall = &call_function;
  new (&object->function) std::shared_ptr<const Function>(std::move(function));
  return out;
}

const Function* function_of_object(py::handle object) {
  return Py_TYPE(object.ptr())->tp_dealloc == &delete_function ? &function_in(object.ptr()) : nullptr;
}
std::shared_ptr<const Function> shared_function(py::handle object) {
  return reinterpret_cast<FunctionObject*>(object.ptr())->function;
}

PyObject* literal(std::string_view text) {
  if (text == "None") Py_RETURN_NONE;
  if (text == "True") Py_RETURN_TRUE;
  if (text == "False") Py_RETURN_FALSE;
  if (text == "()") return PyTuple_New(0);
  if (text == "inf") return PyFloat_FromDouble(std::numeric_limits<double>::infinity());
  if (text.starts_with('\'')) return interned(text.substr(1, text.size() - 2));
  const char* const end = text.data() + text.size();
  long long integer = 0;
  if (const auto read = std::from_chars(text.data(), end, integer); read.ptr == end)
    return PyLong_FromLongLong(integer);
  const std::optional<double> real = read_double(text);
  STRATA_ASSERT(real.has_value(), "no literal: ", text);
  return PyFloat_FromDouble(*real);
}

Function::Function(const char* name, const char* parameters, bool is_method, const char* doc) : name_(name), doc_(doc) {
  if (is_method) read_one("self", false);
  read(parameters);
  STRATA_ASSERT(parameters_.size() <= kMostParameters, name, " has too many parameters");
}

void Function::read(std::string_view text) {
  bool by_name_only = false;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view one = trimmed(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (one == "*")
      by_name_only = true;
    else
      read_one(one, by_name_only);
    by_name_only = by_name_only || parameters_.back().rest;
  }
}

void Function::read_one(std::string_view text, bool by_name_only) {
  Parameter p;
  p.rest = text.starts_with('*');
  if (p.rest) text.remove_prefix(1);
  const std::size_t equals = text.find('=');
  p.names = names_of(text.substr(0, equals));
  if (equals != std::string_view::npos) {
    p.text = text.substr(equals + 1);
    p.fallback = literal(p.text);
  }
  p.by_name_only = by_name_only;
  if (!by_name_only) ++positions_;
  parameters_.push_back(std::move(p));
}

void Function::set_types(const std::vector<const char*>& parameters, const char* result) {
  STRATA_ASSERT(parameters.size() == parameters_.size(), name_, " takes ", parameters.size(), " arguments in C++ and ",
                parameters_.size(), " in Python");
  for (std::size_t k = 0; k < parameters.size(); ++k) parameters_[k].type = parameters[k];
  result_ = result;
}

/// For each parameter, the one of its names that is nearest to `given`.
std::vector<std::string> Function::names_to_give(std::string_view given) const {
  std::vector<std::string> out;
  for (const Parameter& p : parameters_) {
    std::vector<std::string> names;
    for (PyObject* const name : p.names) names.emplace_back(PyUnicode_AsUTF8(name));
    if (names[0] != "self") out.push_back(nearest_first(given, std::move(names))[0]);
  }
  return out;
}

std::size_t Function::position_of(PyObject* name) const {
  for (std::size_t k = 0; k < parameters_.size(); ++k)
    for (PyObject* const known : parameters_[k].names)
      if (known == name) return k;
  for (std::size_t k = 0; k < parameters_.size(); ++k)  // a name that was not interned
    for (PyObject* const known : parameters_[k].names)
      if (PyUnicode_Compare(known, name) == 0) return k;
  const std::string text_of_name = py::cast<std::string>(py::handle(name));
  throw py::type_error(unknown_argument(name_, text_of_name, names_to_give(text_of_name)));
}

void Function::fill(PyObject* const* args, std::size_t count, PyObject* names, PyObject** values,
                    py::object& rest) const {
  const std::size_t size = parameters_.size();
  std::fill(values, values + size, nullptr);
  std::size_t most = positions_, taken = count;
  if (positions_ > 0 && parameters_[positions_ - 1].rest && count >= positions_) {
    const std::size_t at = positions_ - 1;
    if (is_several(args[at])) {
      most = size;  // as in NumPy, the arguments behind the tuple are those of the next parameters
    } else if (count > positions_ || !PySequence_Check(args[at]) || tensor_in(args[at]) != nullptr) {
      rest = py::reinterpret_steal<py::object>(PyTuple_New(static_cast<Py_ssize_t>(count - at)));
      for (std::size_t k = at; k < count; ++k)
        PyTuple_SET_ITEM(rest.ptr(), static_cast<Py_ssize_t>(k - at), Py_NewRef(args[k]));
      values[at] = rest.ptr();
      taken = at;
      most = size;
    }
  }
  if (taken > most)
    throw py::type_error(detail::message(name_, "() takes at most ", most, " argument", most == 1 ? "" : "s",
                                         " by position, not ", count));
  std::copy(args, args + taken, values);
  const std::size_t named = names == nullptr ? 0 : static_cast<std::size_t>(PyTuple_GET_SIZE(names));
  for (std::size_t k = 0; k < named; ++k) {
    const std::size_t at = position_of(PyTuple_GET_ITEM(names, static_cast<Py_ssize_t>(k)));
    if (values[at] != nullptr)
      throw py::type_error(detail::message(name_, "() got '", parameters_[at].name(), "' twice"));
    values[at] = args[count + k];
  }
  for (std::size_t k = 0; k < size; ++k) {
    if (values[k] != nullptr) continue;
    values[k] = parameters_[k].fallback;
    if (values[k] == nullptr) throw py::type_error(detail::message(name_, "() needs '", parameters_[k].name(), "'"));
  }
}

PyObject* Function::operator()(PyObject* const* args, std::size_t count, PyObject* names) const {
  std::array<PyObject*, kMostParameters> values;
  py::object rest;
  fill(args, count, names, values.data(), rest);
  const LocationScope scope(name_);
  try {
    return call(values.data());
  } catch (const py::type_error& e) {  // from a conversion that does not know the function
    const std::string_view text = e.what();
    if (text.starts_with(name_) || text.find("(): ") != std::string_view::npos) throw;
    throw py::type_error(detail::message(name_, "(): ", text));
  }
}

}  // namespace strata::python
