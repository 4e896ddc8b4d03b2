// pybind11 implements all of its functions by one C function, the dispatcher, which chooses the overload. This file
// replaces the dispatcher by dispatched(), which calls it. If no overload accepts the arguments, dispatched() reads the
// signatures in pybind11's message, and raises an error with a message of one line.
#include "python/src/refusals.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "strata/base/spelling.h"

namespace strata::python {

namespace {

constexpr std::string_view kRefused = "(): incompatible ";
constexpr std::string_view kConstructor = "(): incompatible constructor";

struct SignatureParameter {
  std::string name, text;  // "bias", "bias: bool = True"
  bool has_default = false;
};
/// The signature of one overload.
struct Signature {
  std::string owner;  // the class, if it is a constructor
  std::vector<SignatureParameter> parameters;
  bool takes_any_position = false, takes_any_name = false;
};

/// Removes the paths of modules from names: "strata._strata._nn.Linear" gives "Linear".
std::string without_modules(std::string text) {
  for (std::size_t at; (at = text.find("strata._strata.")) != std::string::npos;) {
    std::size_t end = at + std::string_view("strata._strata.").size();
    while (text.compare(end, 1, "_") == 0) {  // an inner module, e.g. _nn
      const std::size_t dot = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", end);
      if (dot == std::string::npos || text[dot] != '.') break;
      end = dot + 1;
    }
    text.erase(at, end - at);
  }
  return text;
}

/// Splits "x: int, f: Callable[[int, int], int] = None" at commas outside of brackets and quotes.
std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> out;
  int depth = 0;
  char quote = 0;
  std::string part;
  const auto end = [&] {
    const std::size_t first = part.find_first_not_of(' ');
    if (first != std::string::npos) out.push_back(part.substr(first));
    part.clear();
  };
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{' || c == '<') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}' || c == '>') {
      --depth;
    } else if (c == ',' && depth == 0) {
      end();
      continue;
    }
    part += c;
  }
  end();
  return out;
}

/// Reads a signature: "strata._strata._nn.Linear(in_features: int, bias: bool = True)", or "(self: X, x: int) -> Y".
std::optional<Signature> read_signature(std::string_view line, bool is_constructor) {
  const std::size_t open = line.find('(');
  const std::size_t arrow = is_constructor ? std::string_view::npos : line.rfind(") -> ");
  const std::size_t close = arrow != std::string_view::npos ? arrow : line.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  Signature out;
  out.owner = without_modules(std::string(line.substr(0, open)));
  for (std::string& text : parts_of(line.substr(open + 1, close - open - 1))) {
    if (text.starts_with("**")) {
      out.takes_any_name = true;
    } else if (text.starts_with('*')) {
      out.takes_any_position = true;
    } else {
      text = without_modules(std::move(text));
      const std::size_t end = std::min(text.find(':'), text.find(" ="));
      out.parameters.push_back({text.substr(0, end), text, text.find(" = ") != std::string::npos});
    }
  }
  return out;
}

/// A call that was refused, with the signatures from pybind11's message.
struct RefusedCall {
  std::string function;
  bool is_constructor = false;
  std::vector<Signature> signatures;
  std::vector<std::string> positions;                      // the types of positional arguments
  std::vector<std::pair<std::string, std::string>> names;  // keywords with types
};

/// str(o); empty if that fails, e.g. because it is not UTF-8.
std::string text_of(PyObject* o) {
  PyObject* const text = PyObject_Str(o);
  Py_ssize_t size = 0;
  const char* const chars = text == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(text, &size);
  std::string out = chars == nullptr ? "" : std::string(chars, static_cast<std::size_t>(size));
  Py_XDECREF(text);
  PyErr_Clear();
  return out;
}

std::string type_name(PyObject* o) {
  const std::string_view full = Py_TYPE(o)->tp_name;  // with or without its module
  return std::string(full.substr(full.rfind('.') + 1));
}

std::optional<RefusedCall> read_refusal(const std::string& text, PyObject* args, PyObject* kwargs) {
  RefusedCall out;
  const std::size_t mark = text.find(kRefused), end = text.find("\n\nInvoked with:");
  if (mark == std::string::npos || end == std::string::npos || text.find('\n') < mark) return std::nullopt;
  out.is_constructor = text.compare(mark, kConstructor.size(), kConstructor) == 0;
  out.function = text.substr(0, mark);
  for (std::size_t at = text.find("\n    ", mark); at < end; at = text.find("\n    ", at + 1)) {
    const std::size_t begin = text.find(". ", at) + 2;
    if (auto one = read_signature(text.substr(begin, text.find('\n', begin) - begin), out.is_constructor))
      out.signatures.push_back(std::move(*one));
  }
  if (out.signatures.empty()) return std::nullopt;
  if (out.is_constructor) out.function = out.signatures[0].owner;
  for (Py_ssize_t k = out.is_constructor ? 1 : 0; k < PyTuple_GET_SIZE(args); ++k)
    out.positions.push_back(type_name(PyTuple_GET_ITEM(args, k)));
  if (kwargs != nullptr)
    for (const auto& [name, value] : py::reinterpret_borrow<py::dict>(kwargs))
      out.names.emplace_back(text_of(name.ptr()), type_name(value.ptr()));
  return out;
}

bool has_parameter(const Signature& s, const std::string& name) {
  return s.takes_any_name || std::any_of(s.parameters.begin(), s.parameters.end(),
                                         [&](const SignatureParameter& p) { return p.name == name; });
}

/// The names of all parameters, except self and pybind11's "arg0" for parameters without a name.
std::vector<std::string> names_to_give(const RefusedCall& call) {
  std::vector<std::string> out;
  for (const Signature& s : call.signatures)
    for (const SignatureParameter& p : s.parameters)
      if (p.name != "self" && !p.name.starts_with("arg") && std::find(out.begin(), out.end(), p.name) == out.end())
        out.push_back(p.name);
  return out;
}

/// The message for a wrong number of arguments, if there is only one overload; empty if the number is right.
std::string wrong_count(const RefusedCall& call) {
  if (call.signatures.size() != 1) return {};
  const Signature& s = call.signatures[0];
  const bool is_method = !call.is_constructor && !s.parameters.empty() && s.parameters[0].name == "self";
  const std::size_t own = is_method ? 1 : 0, size = s.parameters.size(), given = call.positions.size();
  if (given > size && !s.takes_any_position)
    return detail::message(call.function, "() takes at most ", size - own, " argument", size - own == 1 ? "" : "s",
                           " by position, not ", given - std::min(own, given));
  for (std::size_t k = 0; k < size; ++k) {
    const SignatureParameter& p = s.parameters[k];
    const bool is_named =
        std::any_of(call.names.begin(), call.names.end(), [&](const auto& n) { return n.first == p.name; });
    if (is_named && k < given) return detail::message(call.function, "() got '", p.name, "' twice");
    if (!is_named && k >= given && !p.has_default) return detail::message(call.function, "() needs '", p.name, "'");
  }
  return {};
}

std::string joined_texts(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& t : texts) out += (out.empty() ? "" : ", ") + t;
  return out;
}

/// The message for wrong types: "Linear(in_features: int, bias: bool = True) does not take (str, bias=int)".
std::string wrong_types(const RefusedCall& call) {
  std::string out;
  for (const Signature& s : call.signatures) {
    std::vector<std::string> parameters;
    for (const SignatureParameter& p : s.parameters)
      if (p.name != "self") parameters.push_back(p.text);
    if (s.takes_any_position) parameters.push_back("*args");
    out += detail::message(out.empty() ? "" : " or ", call.function, "(", joined_texts(parameters), ")");
  }
  const bool is_method = !call.is_constructor && !call.signatures[0].parameters.empty() &&
                         call.signatures[0].parameters[0].name == "self" && !call.positions.empty();
  std::vector<std::string> given(call.positions.begin() + (is_method ? 1 : 0), call.positions.end());
  for (const auto& [name, type] : call.names) given.push_back(detail::message(name, "=", type));
  return out + " does not take (" + joined_texts(given) + ")";
}

std::string text_of_refusal(const RefusedCall& call) {
  for (const auto& [name, type] : call.names)
    if (std::none_of(call.signatures.begin(), call.signatures.end(),
                     [&, &n = name](const Signature& s) { return has_parameter(s, n); }))
      return unknown_argument(call.function, name, names_to_give(call));
  const std::string counted = wrong_count(call);
  return counted.empty() ? wrong_types(call) : counted;
}

PyCFunctionWithKeywords dispatcher = nullptr;  // pybind11's dispatcher, one for all functions

/// Replaces pybind11's current error by a message of one line; other errors stay.
void tell_in_a_line(PyObject* args, PyObject* kwargs) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const auto call = read_refusal(text_of(value), args, kwargs);
  if (!call) return PyErr_Restore(type, value, trace);
  PyErr_SetString(PyExc_TypeError, text_of_refusal(*call).c_str());
  Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(trace);
}

/// Whether every keyword is UTF-8; if not, sets the error. pybind11 would abort the process when it prints such a name.
bool names_are_texts(PyObject* kwargs) {
  PyObject *name = nullptr, *value = nullptr;
  Py_ssize_t at = 0;
  while (PyDict_Next(kwargs, &at, &name, &value) != 0)
    if (!PyUnicode_IS_COMPACT_ASCII(name) && PyUnicode_AsUTF8(name) == nullptr) return false;
  return true;
}

PyObject* dispatched(PyObject* self, PyObject* args, PyObject* kwargs) {
  if (kwargs != nullptr && !names_are_texts(kwargs)) return nullptr;
  PyObject* const out = dispatcher(self, args, kwargs);
  if (out == nullptr && PyErr_ExceptionMatches(PyExc_TypeError) != 0) tell_in_a_line(args, kwargs);
  return out;
}

/// The pybind11 function in an object, also inside an instance method or static method; null for other objects.
PyCFunctionObject* bound_function(PyObject* o) {
  if (PyInstanceMethod_Check(o)) o = PyInstanceMethod_GET_FUNCTION(o);
  py::object inner;
  if (Py_TYPE(o) == &PyStaticMethod_Type) {
    inner = py::handle(o).attr("__func__");  // the static method keeps it alive, too
    o = inner.ptr();
  }
  if (!PyCFunction_Check(o)) return nullptr;
  PyObject* const of = PyCFunction_GET_SELF(o);
  const int flags = PyCFunction_GET_FLAGS(o);
  const bool is_bound =
      of != nullptr && !PyModule_Check(of) && !PyType_Check(of) && flags == (METH_VARARGS | METH_KEYWORDS);
  return is_bound ? reinterpret_cast<PyCFunctionObject*>(o) : nullptr;
}

void redirect(PyObject* o) {
  PyCFunctionObject* const f = bound_function(o);
  if (f == nullptr) return;
  const auto known = std::bit_cast<PyCFunctionWithKeywords>(f->m_ml->ml_meth);
  if (known == &dispatched) return;
  STRATA_ASSERT(dispatcher == nullptr || dispatcher == known, "pybind11 has two dispatchers");
  dispatcher = known;
  f->m_ml->ml_meth = std::bit_cast<PyCFunction>(&dispatched);
}

void redirect_all(py::handle owner) {
  const py::list items(owner.attr("__dict__").attr("items")());
  for (const py::handle item : items) {
    const py::object value = py::reinterpret_borrow<py::tuple>(item)[1];
    const bool is_module = PyModule_Check(value.ptr()) != 0, is_class = PyType_Check(value.ptr()) != 0;
    if (!is_module && !is_class) {
      redirect(value.ptr());
      continue;
    }
    const py::object name = py::getattr(value, is_module ? "__name__" : "__module__", py::str());
    const bool is_below =
        !value.is(owner) && py::isinstance<py::str>(name) && py::cast<std::string>(name).starts_with("strata._strata");
    if (is_below) redirect_all(value);
  }
}

}  // namespace

std::string unknown_argument(std::string_view function, std::string_view given, std::vector<std::string> known) {
  if (known.empty()) return detail::message(function, "() has no parameter '", given, "': it takes no arguments");
  return detail::message(function, "() has no parameter '", given, "', but ",
                         joined_texts(nearest_first(given, std::move(known))));
}

void refuse_in_a_line(const py::module_& m) { redirect_all(m); }

}  // namespace strata::python
