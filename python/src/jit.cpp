// strata.jit: captures a Python function once and replays it (tensor/jit.h).
//
// The tensors and the bound variables among the arguments, also those inside tuples, lists and dictionaries, are the
// arguments of the capture. The others form a key; each key has its own Jit. A replayed result is rebuilt from its
// tensors and the key of the captured result.
#include <Python.h>
#include <structmember.h>

#include <map>
#include <memory>
#include <vector>

#include "python/src/convert.h"
#include "python/src/expr_casters.h"
#include "python/src/jit_export.h"
#include "python/src/memory.h"
#include "python/src/running.h"
#include "strata/onnx/to_onnx.h"
#include "strata/tensor/jit.h"

namespace strata::python {

namespace {

constexpr int kMostNesting = 32;  // the greatest depth of nested tuples, lists and dictionaries

bool is_value(PyObject* o) {
  return o == Py_None || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyBool_Check(o) || PyUnicode_CheckExact(o) ||
         PyBytes_CheckExact(o);
}

/// The tensors, integers with bound variables, and other objects that taken_apart() found.
struct Parts {
  std::vector<Tensor> tensors;
  std::vector<Expr> integers;
  std::vector<py::object> objects;  // objects that the key identifies by their addresses; kept alive
};

/// The key of arguments or results without their tensors: a hashable tuple, from which put_together() rebuilds them.
/// Its forms are ("t",) for a tensor, ("e", address) for an expression of bound variables, by its node without values,
/// ("v", type, value) for a simple value, ("o", address) for another object, ("l", parts...) for a list, ("u",
/// parts...) for a tuple, ("d", keys, parts...) for a dictionary.
py::object taken_apart(PyObject* o, Parts& parts, int depth = 0) {
  if (depth > kMostNesting) throw py::type_error("jit: arguments and results are nested too deep");
  if (const Tensor* const t = tensor_in(o)) {
    parts.tensors.push_back(*t);
    return py::make_tuple("t");
  }
  if (is_value(o)) return py::make_tuple("v", py::handle(reinterpret_cast<PyObject*>(Py_TYPE(o))), py::handle(o));
  if (py::isinstance<Expr>(o)) {
    const Expr e = py::cast<Expr>(py::handle(o));
    const auto [plain, values] = unbind(e);
    if (!values.empty() || e.is_constant()) {
      parts.integers.push_back(e);
      parts.objects.push_back(object_of_expr(plain));  // keeps the node
      return py::make_tuple("e", reinterpret_cast<std::uintptr_t>(plain.node()));
    }
  }
  py::list out;
  if (PyTuple_Check(o) || PyList_CheckExact(o)) {
    out.append(PyTuple_Check(o) ? "u" : "l");
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(o); ++k)
      out.append(taken_apart(PySequence_Fast_GET_ITEM(o, k), parts, depth + 1));
    return py::tuple(out);
  }
  if (PyDict_CheckExact(o)) {
    const auto dict = py::reinterpret_borrow<py::dict>(o);
    out.append("d");
    out.append(py::tuple(py::list(dict.attr("keys")())));
    for (const auto& item : dict) out.append(taken_apart(item.second.ptr(), parts, depth + 1));
    return py::tuple(out);
  }
  parts.objects.push_back(py::reinterpret_borrow<py::object>(o));
  return py::make_tuple("o", reinterpret_cast<std::uintptr_t>(o));
}

char kind_of(const py::tuple& shape) { return PyUnicode_AsUTF8(PyTuple_GET_ITEM(shape.ptr(), 0))[0]; }

/// What put_together() takes, in order.
struct Given {
  std::span<const Tensor> tensors;
  std::span<const Expr> integers = {};
  std::size_t next_tensor = 0, next_integer = 0;
};

py::object put_together(const py::tuple& shape, Given& given) {
  const auto part = [&](std::size_t k) {
    return put_together(py::reinterpret_borrow<py::tuple>(PyTuple_GET_ITEM(shape.ptr(), static_cast<Py_ssize_t>(k))),
                        given);
  };
  switch (kind_of(shape)) {
    case 't': return object_of(given.tensors[given.next_tensor++]);
    case 'e': return object_of_expr(given.integers[given.next_integer++]);
    case 'v': return shape[2];
    case 'u': {
      py::tuple out(shape.size() - 1);
      for (std::size_t k = 0; k < out.size(); ++k) out[k] = part(k + 1);
      return out;
    }
    case 'l': {
      py::list out;
      for (std::size_t k = 1; k < shape.size(); ++k) out.append(part(k));
      return out;
    }
    case 'd': {
      py::dict out;
      const py::tuple keys = shape[1];
      for (std::size_t k = 0; k < keys.size(); ++k) out[keys[k]] = part(k + 2);
      return out;
    }
    default:  // an object, which is kept alive beside the key
      return py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(py::cast<std::uintptr_t>(shape[1])));
  }
}

/// The name of a function for errors and traces, e.g. "Model.step (train.py:12)".
std::string name_of(PyObject* function) {
  const py::handle f(function);
  const py::object name = py::getattr(f, "__qualname__", py::none());
  std::string out = name.is_none() ? py::repr(f).cast<std::string>() : py::str(name).cast<std::string>();
  const py::object code = py::getattr(f, "__code__", py::none());
  if (!code.is_none())
    out += " (" + py::str(code.attr("co_filename")).cast<std::string>() + ":" +
           py::str(code.attr("co_firstlineno")).cast<std::string>() + ")";
  return out;
}

/// The captures of calls whose arguments have the same key.
class JitCalls {
 public:
  /// @param arguments the key; null: all arguments are tensors by position
  JitCalls(PyObject* function, py::object arguments, std::vector<py::object> objects, std::size_t captures)
      : function_(function),
        arguments_(std::move(arguments)),
        argument_objects_(std::move(objects)),
        jit_([this](std::span<const Tensor> tensors, std::span<const Expr> integers) { return run(tensors, integers); },
             captures, name_of(function)) {}

  py::object operator()(std::span<const Tensor> inputs, std::span<const Expr> integers = {}) {
    std::vector<Tensor> results = running([&] { return jit_(inputs, integers); });
    if (is_one_tensor_) return object_of(std::move(results[0]));
    const std::vector<Expr> now = results_for(integers);
    Given given{results, now};
    return put_together(results_, given);
  }
  Jit& jit() { return jit_; }
  /// The keys of the result, where that is a dictionary of tensors; else nothing.
  std::vector<std::string> result_names() const {
    std::vector<std::string> out;
    if (!ran_ || kind_of(results_) != 'd') return out;
    const py::tuple keys = results_[1];
    for (std::size_t k = 0; k < keys.size(); ++k) {
      if (kind_of(results_[k + 2]) != 't' || !py::isinstance<py::str>(keys[k])) return {};
      out.push_back(py::cast<std::string>(keys[k]));
    }
    return out;
  }

 private:
  /// Runs the Python function. The key of its result must be the same at each run.
  std::vector<Tensor> run(std::span<const Tensor> inputs, std::span<const Expr> integers) {
    const Locked acquire;
    const py::object result = call(inputs, integers);
    Parts parts;
    const py::tuple shape = taken_apart(result.ptr(), parts);
    if (ran_ && !shape.equal(results_))
      throw py::type_error(
          "jit: apart from tensors, the function returns a result that differs from the first "
          "result");
    results_ = shape;
    is_one_tensor_ = kind_of(shape) == 't';
    result_objects_ = std::move(parts.objects);
    result_integers_ = std::move(parts.integers);
    is_own_.resize(result_integers_.size(), false);
    for (std::size_t k = 0; k < result_integers_.size(); ++k)
      for (const auto& [variable, value] : unbind(result_integers_[k]).second)
        for (const auto& [of_argument, given] : values_of(integers))
          if (same(variable, of_argument) && value != given) is_own_[k] = true;
    ran_ = true;
    return parts.tensors;
  }
  static Values values_of(std::span<const Expr> arguments) {
    Values out;
    for (const Expr& argument : arguments)
      for (const auto& known : unbind(argument).second) out.push_back(known);
    return out;
  }
  /// The integers of the result with the values that variables have in `arguments`. Other variables, and those to which
  /// the function gave another value, keep that of the captured call.
  std::vector<Expr> results_for(std::span<const Expr> arguments) const {
    std::vector<Expr> out = result_integers_;
    if (out.empty()) return out;
    const Values values = values_of(arguments);
    for (std::size_t k = 0; k < out.size(); ++k) {
      if (is_own_[k]) continue;
      Substitution map;
      for (const Variable& v : variables(out[k]))
        for (const auto& [variable, value] : values)
          if (v.bound_value() && same(v.unbind().first, variable)) map.emplace_back(v, variable.bind(value));
      out[k] = substitute(out[k], map);
    }
    return out;
  }
  py::object call(std::span<const Tensor> inputs, std::span<const Expr> integers) {
    if (!arguments_) {
      py::tuple args(inputs.size());
      for (std::size_t k = 0; k < inputs.size(); ++k) args[k] = object_of(inputs[k]);
      return called(args, {});
    }
    Given given{inputs, integers};
    const py::tuple both = put_together(arguments_, given);
    return called(both[0], both[1]);
  }
  py::object called(const py::handle& args, const py::handle& named) const {
    const auto result = py::reinterpret_steal<py::object>(call_python(function_, args.ptr(), named.ptr()));
    if (!result) throw py::error_already_set();
    return result;
  }

  PyObject* function_;  // borrowed: JitState keeps it alive
  py::object arguments_;
  std::vector<py::object> argument_objects_, result_objects_;
  std::vector<Expr> result_integers_;
  std::vector<bool> is_own_;  // by integer of the result: the function gave a variable another value than the arguments
  py::tuple results_;
  bool is_one_tensor_ = false, ran_ = false;
  Jit jit_;
};

struct JitState {
  py::object function;
  std::size_t captures;
  std::map<std::size_t, std::unique_ptr<JitCalls>> plain;  // by the number of tensors
  py::dict by_arguments;                                   // from keys to indices in `others`
  std::vector<std::unique_ptr<JitCalls>> others;
  JitCalls* last = nullptr;    // of the most recent call
  std::size_t last_plain = 0;  // its tensors, where all arguments were tensors by position

  JitCalls& for_plain(std::size_t count) {
    auto& calls = plain[count];
    if (!calls) calls = std::make_unique<JitCalls>(function.ptr(), py::object(), std::vector<py::object>(), captures);
    last_plain = count;
    return *(last = calls.get());
  }
  JitCalls& for_arguments(const py::object& arguments, std::vector<py::object>&& objects) {
    last_plain = 0;
    if (by_arguments.contains(arguments)) return *(last = others[py::cast<std::size_t>(by_arguments[arguments])].get());
    others.push_back(std::make_unique<JitCalls>(function.ptr(), arguments, std::move(objects), captures));
    by_arguments[arguments] = others.size() - 1;
    return *(last = others.back().get());
  }
  template <class F>
  void for_each(const F& f) {
    for (auto& [count, calls] : plain) f(calls->jit());
    for (auto& calls : others) f(calls->jit());
  }
};

struct JitObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* weak_references;
  PyObject* attributes;
  JitState* state;
};

JitState& state_of(PyObject* self) { return *reinterpret_cast<JitObject*>(self)->state; }

/// Collects the tensors, if all arguments are tensors; else returns false.
bool take_plain(PyObject* const* args, std::size_t count, std::vector<Tensor>& tensors) {
  for (std::size_t k = 0; k < count; ++k) {
    const Tensor* const t = tensor_in(args[k]);
    if (t == nullptr) return false;
    tensors.push_back(*t);
  }
  return true;
}

PyObject* call_jit(PyObject* self, PyObject* const* args, std::size_t flagged, PyObject* names) {
  try {
    const auto count = static_cast<std::size_t>(PyVectorcall_NARGS(flagged));
    std::vector<Tensor> inputs;
    inputs.reserve(count);
    if (names == nullptr && take_plain(args, count, inputs))
      return state_of(self).for_plain(count)(inputs).release().ptr();
    py::tuple positions(count);
    for (std::size_t k = 0; k < count; ++k) positions[k] = py::handle(args[k]);
    py::dict named;
    for (Py_ssize_t k = 0; names != nullptr && k < PyTuple_GET_SIZE(names); ++k)
      named[py::handle(PyTuple_GET_ITEM(names, k))] = py::handle(args[count + static_cast<std::size_t>(k)]);
    Parts parts;
    const py::object arguments = taken_apart(py::make_tuple(positions, named).ptr(), parts);
    JitCalls& calls = state_of(self).for_arguments(arguments, std::move(parts.objects));
    return calls(parts.tensors, parts.integers).release().ptr();
  } catch (const std::exception&) {
    raise_current_exception();
    return nullptr;
  }
}

void delete_jit(PyObject* self) {
  auto* const object = reinterpret_cast<JitObject*>(self);
  PyObject_GC_UnTrack(self);
  if (object->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  Py_CLEAR(object->attributes);
  delete object->state;
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}
int visit_jit(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<JitObject*>(self)->attributes);
  return 0;
}
PyObject* bind_jit_method(PyObject* self, PyObject* instance, PyObject*) {
  return instance == nullptr || instance == Py_None ? Py_NewRef(self) : PyMethod_New(self, instance);
}

PyObject* new_jit(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"function", "captures", nullptr};
  PyObject* function = nullptr;
  Py_ssize_t captures = 8;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "O|n:_Jit", const_cast<char**>(keywords), &function, &captures) == 0)
    return nullptr;
  if (PyCallable_Check(function) == 0 || captures < 1) {
    PyErr_SetString(PyExc_TypeError, "jit: a function and a number of captures (1 or more) are expected");
    return nullptr;
  }
  PyObject* const self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  auto* const object = reinterpret_cast<JitObject*>(self);
  object->vectorcall = &call_jit;
  object->state =
      new JitState{py::reinterpret_borrow<py::object>(function), static_cast<std::size_t>(captures), {}, {}, {}};
  return self;
}

PyObject* jit_runs(PyObject* self, void*) {
  std::size_t sum = 0;
  state_of(self).for_each([&](const Jit& j) { sum += j.runs(); });
  return PyLong_FromSize_t(sum);
}
PyObject* jit_replays(PyObject* self, void*) {
  std::size_t sum = 0;
  state_of(self).for_each([&](const Jit& j) { sum += j.replays(); });
  return PyLong_FromSize_t(sum);
}

/// The names of the first `count` parameters of a Python function; empty where it has none of its own.
std::vector<std::string> parameter_names(const py::object& function, std::size_t count) {
  std::vector<std::string> out;
  const py::object code = py::getattr(function, "__code__", py::none());
  if (code.is_none() || count == 0) return out;
  const auto known = py::cast<std::size_t>(code.attr("co_argcount"));
  const bool is_method = !py::getattr(function, "__self__", py::none()).is_none();
  const py::tuple names = code.attr("co_varnames");
  if (known < count + (is_method ? 1 : 0)) return out;
  for (std::size_t k = is_method ? 1 : 0; out.size() < count; ++k) out.push_back(py::cast<std::string>(names[k]));
  return out;
}

PyObject* export_jit(PyObject* self, PyObject* args, PyObject* kwargs) {
  try {
    JitState& state = state_of(self);
    const std::vector<std::string> names =
        state.last == nullptr ? std::vector<std::string>() : parameter_names(state.function, state.last_plain);
    return exported_jit(state.last == nullptr ? nullptr : &state.last->jit(), names, args, kwargs);
  } catch (const std::exception&) {
    raise_current_exception();
    return nullptr;
  }
}

/// The tensors in a function's surroundings, with names: in the object that the method is of, in variables from around
/// the function, and in the global variables that it names.
class NamedSurroundings {
 public:
  explicit NamedSurroundings(const py::object& function) {
    const py::object self = py::getattr(function, "__self__", py::none());
    const py::object f = py::getattr(function, "__func__", function);
    if (!self.is_none()) add("self", self);
    const py::object code = py::getattr(f, "__code__", py::none()), call = py::getattr(function, "forward", py::none());
    if (code.is_none() && !call.is_none()) add("self", function);
    if (code.is_none()) return;
    const py::object cells = py::getattr(f, "__closure__", py::none());
    const py::tuple names = code.attr("co_freevars");
    for (std::size_t k = 0; !cells.is_none() && k < names.size(); ++k) {
      const py::object cell = py::tuple(cells)[k];
      if (py::hasattr(cell, "cell_contents")) add(py::cast<std::string>(names[k]), cell.attr("cell_contents"));
    }
    const py::dict globals = f.attr("__globals__");
    for (const py::handle name : py::tuple(code.attr("co_names")))
      if (globals.contains(name)) add(py::cast<std::string>(name), py::reinterpret_borrow<py::object>(globals[name]));
  }
  /// The names of a module begin with that of its variable, unless it is the only one.
  nn::NamedTensors tensors() const {
    nn::NamedTensors out = tensors_;
    for (const auto& [name, state] : modules_)
      for (const auto& [inner, x] : state)
        out.emplace_back(modules_.size() == 1 ? inner : detail::message(name, ".", inner), x);
    return out;
  }
  /// The method, because modules of Python find what they have among their attributes.
  static nn::NamedTensors state_of_module(const py::object& module) {
    nn::NamedTensors out;
    for (const auto& [key, item] : py::dict(module.attr("state_dict")()))
      if (const Tensor* const x = tensor_in(item.ptr())) out.emplace_back(py::cast<std::string>(key), *x);
    return out;
  }
  void add(const std::string& name, const py::object& value, int depth = 0) {
    if (const Tensor* const x = tensor_in(value.ptr())) {
      tensors_.emplace_back(name, *x);
    } else if (py::isinstance<nn::Module>(value)) {
      modules_.emplace_back(name, state_of_module(value));
    } else if (depth < kMostNesting && (PyTuple_CheckExact(value.ptr()) || PyList_CheckExact(value.ptr()))) {
      std::size_t k = 0;
      for (const py::handle item : value)
        add(name + "." + std::to_string(k++), py::reinterpret_borrow<py::object>(item), depth + 1);
    } else if (depth < kMostNesting && PyDict_CheckExact(value.ptr())) {
      for (const auto& [key, item] : py::reinterpret_borrow<py::dict>(value))
        if (py::isinstance<py::str>(key))
          add(name + "." + py::cast<std::string>(key), py::reinterpret_borrow<py::object>(item), depth + 1);
    } else if (depth == 0 && name == "self" && py::hasattr(value, "__dict__")) {
      for (const auto& [key, item] : py::dict(value.attr("__dict__")))
        add(py::cast<std::string>(key), py::reinterpret_borrow<py::object>(item), depth + 1);
    }
  }

 private:
  nn::NamedTensors tensors_;
  std::vector<std::pair<std::string, nn::NamedTensors>> modules_;
};

PyObject* to_onnx_jit(PyObject* self, PyObject* args, PyObject* kwargs) {
  try {
    static const char* keywords[] = {"path", "inputs", "outputs", "parameters", "name", nullptr};
    PyObject *path = nullptr, *inputs = nullptr, *outputs = nullptr, *parameters = nullptr;
    const char* name = nullptr;
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OOOz:to_onnx", const_cast<char**>(keywords), &path, &inputs,
                                    &outputs, &parameters, &name) == 0)
      return nullptr;
    JitState& state = state_of(self);
    if (state.last == nullptr)
      throw Error(ErrorKind::domain, "[to_onnx] the function was never called: call it twice first");
    onnx::ToOnnxOptions options;
    options.inputs = names_in(inputs);
    if (options.inputs.empty()) options.inputs = parameter_names(state.function, state.last_plain);
    options.outputs = names_in(outputs);
    if (options.outputs.empty()) options.outputs = state.last->result_names();
    NamedSurroundings named(state.function);
    if (parameters != nullptr && parameters != Py_None) {
      const auto given = py::reinterpret_borrow<py::object>(parameters);
      if (!py::isinstance<nn::Module>(given) && !PyDict_Check(parameters))
        throw py::type_error("to_onnx: parameters are a module, or a dictionary of tensors by name");
      if (py::isinstance<nn::Module>(given)) {
        options.parameters = NamedSurroundings::state_of_module(given);
      } else {
        for (const auto& [key, item] : py::reinterpret_borrow<py::dict>(given)) {
          const Tensor* const x = tensor_in(item.ptr());
          if (x == nullptr)
            throw py::type_error("to_onnx: parameters are a module, or a dictionary of tensors by name");
          options.parameters.emplace_back(py::cast<std::string>(key), *x);
        }
      }
    }
    for (auto& known : named.tensors()) options.parameters.push_back(std::move(known));
    const py::object own_name = py::getattr(state.function, "__name__", py::none());
    options.name = name != nullptr ? name : own_name.is_none() ? "graph" : py::cast<std::string>(own_name);
    const std::string file = py::str(py::module_::import("os").attr("fspath")(py::handle(path)));
    running([&] { onnx::to_onnx(state.last->jit(), file, options); });
    Py_RETURN_NONE;
  } catch (const std::exception&) {
    raise_current_exception();
    return nullptr;
  }
}

PyMethodDef jit_methods[] = {
    {"export_c", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&export_jit)), METH_VARARGS | METH_KEYWORDS,
     kExportText},
    {"to_onnx", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&to_onnx_jit)), METH_VARARGS | METH_KEYWORDS,
     "to_onnx($self, path, *, inputs=None, outputs=None, parameters=None, name=None)\n--\n\n"
     "Writes what the most recently used capture computes as an ONNX file, opset 17.\n\n"
     "inputs, outputs: the names of the arguments, tensors first, and of the results; by default the parameters of\n"
     "the function, and y. parameters: a module, or a dictionary of tensors, for the names of weights; modules and\n"
     "tensors around the function are named without it. name: of the graph. Raises an error that names all operations\n"
     "that the file cannot have, and writes nothing then."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef jit_properties[] = {
    {"runs", jit_runs, nullptr, "The number of times that the Python function ran, including the captures.", nullptr},
    {"replays", jit_replays, nullptr, "The number of times that a capture was replayed.", nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMemberDef jit_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(JitObject, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(JitObject, weak_references), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(JitObject, attributes), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

}  // namespace

void bind_jit(py::module_& m) {
  const auto slot = [](int id, auto* f) { return PyType_Slot{id, reinterpret_cast<void*>(f)}; };
  PyType_Slot slots[] = {
      slot(Py_tp_new, &new_jit),
      slot(Py_tp_dealloc, &delete_jit),
      slot(Py_tp_traverse, &visit_jit),
      slot(Py_tp_call, &PyVectorcall_Call),
      slot(Py_tp_descr_get, &bind_jit_method),
      {Py_tp_methods, jit_methods},
      {Py_tp_getset, jit_properties},
      {Py_tp_members, jit_members},
      {0, nullptr},
  };
  PyType_Spec spec{"strata._Jit", sizeof(JitObject), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
                   slots};
  m.add_object("_Jit", py::reinterpret_steal<py::object>(PyType_FromSpec(&spec)));
}

}  // namespace strata::python
