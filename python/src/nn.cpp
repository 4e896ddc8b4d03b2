// strata.nn: modules. One of C++ (a layer) names its tensors itself; one that is written in Python has them in its attributes, as
// PyTorch's users write it: tensors that gradients are taken by are parameters, and modules are inside, also in lists, tuples and
// dictionaries of them. Other tensors are part of the state where register_buffer() said so.
#include <algorithm>
#include <unordered_set>

#include "python/src/modules.h"
#include "strata/nn/layers.h"
#include "strata/tensor/access.h"

namespace strata::python {

namespace {

/// What classes of Python derive from.
class PythonModule final : public nn::Module {};

constexpr const char* kBuffers = "_buffer_names";

py::dict attributes_of(const py::object& module) {
  const py::object d = py::getattr(module, "__dict__", py::none());
  return d.is_none() ? py::dict() : py::reinterpret_borrow<py::dict>(d);
}

constexpr int kMostInner = 32;  // of lists, tuples and dictionaries in each other

/// The modules in an attribute: itself, or those in a list, tuple or dictionary.
void add_inner(const std::string& name, const py::object& value, std::vector<FoundModule>& out,
               int depth = 0) {
  if (py::isinstance<nn::Module>(value)) {
    out.push_back({name + ".", value});
    return;
  }
  const bool is_dict = PyDict_Check(value.ptr()) != 0;
  if (depth == kMostInner || (!is_dict && !PyList_Check(value.ptr()) && !PyTuple_Check(value.ptr())))
    return;
  // Copies, as texts of keys may be made by code that changes them.
  const py::list items(is_dict ? py::object(value.attr("items")()) : value);
  for (std::size_t k = 0; k < items.size(); ++k) {
    const py::object item = items[k];
    if (!is_dict) {
      add_inner(name + "." + std::to_string(k), item, out, depth + 1);
      continue;
    }
    const py::tuple pair(item);
    add_inner(name + "." + py::cast<std::string>(py::str(pair[0])), pair[1], out, depth + 1);
  }
}

bool is_buffer(const py::dict& attributes, const py::handle& name) {
  return attributes.contains(kBuffers) &&
         PySequence_Contains(py::object(attributes[kBuffers]).ptr(), name.ptr()) == 1;
}

/// The tensors of a module that are not those of modules inside of it.
void add_own(const FoundModule& found, bool with_buffers, nn::NamedTensors& out) {
  const auto& native = py::cast<const nn::Module&>(found.object);
  for (const auto& [name, tensor] : with_buffers ? native.state_dict() : native.named_parameters())
    out.emplace_back(found.prefix + name, tensor);
  const py::dict attributes = attributes_of(found.object);
  for (const auto& [name, value] : attributes) {
    const Tensor* const t = tensor_in(value.ptr());
    if (t == nullptr) continue;
    const bool buffer = is_buffer(attributes, name);
    if (buffer ? with_buffers : t->requires_grad())
      out.emplace_back(found.prefix + py::cast<std::string>(name), *t);
  }
}

/// Each tensor once, under its first name.
nn::NamedTensors tensors_of_module(const py::object& module, bool with_buffers) {
  nn::NamedTensors all, out;
  for (const FoundModule& found : modules_in(module)) add_own(found, with_buffers, all);
  std::unordered_set<const TensorState*> met;
  for (auto& [name, tensor] : all)
    if (met.insert(TensorAccess::state(tensor).get()).second) out.emplace_back(name, tensor);
  return out;
}

py::dict dict_of(const nn::NamedTensors& tensors) {
  py::dict out;
  for (const auto& [name, tensor] : tensors) out[py::str(name)] = object_of(tensor);
  return out;
}

py::list list_of(const nn::NamedTensors& tensors) {
  py::list out;
  for (const auto& [name, tensor] : tensors) out.append(object_of(tensor));
  return out;
}

/// Takes the values of tensors by name; nothing has changed where it throws.
void load_state(const py::object& module, const py::dict& state, bool strict) {
  const nn::NamedTensors own = tensors_of_module(module, true);
  std::vector<std::pair<Tensor, Tensor>> changes;
  std::unordered_set<std::string> known;
  for (const auto& [name, tensor] : own) {
    known.insert(name);
    if (!state.contains(name)) {
      STRATA_CHECK(!strict, domain, "[load_state_dict] '", name, "' is missing");
      continue;
    }
    const Tensor value =
        tensor_of({py::object(state[name.c_str()]).ptr(), "load_state_dict", "state"});
    STRATA_CHECK(value.shape() == tensor.shape(), shape, "[load_state_dict] '", name,
                 "' is of shape ", render(tensor.shape()), ", not ", render(value.shape()));
    changes.emplace_back(tensor, value.cast(tensor.dtype()).to(tensor.device()).detach());
  }
  for (const auto& item : state) {
    const auto name = py::cast<std::string>(item.first);
    STRATA_CHECK(!strict || nn::is_batch_count(name) || known.contains(name), domain,
                 "[load_state_dict] the module has no '", name, "'");
  }
  for (const auto& [tensor, value] : changes) tensor.assign(value);
}

void train_all(const py::object& module, bool on) {
  for (const FoundModule& found : modules_in(module)) py::cast<nn::Module&>(found.object).train(on);
}

void forget_gradients(const py::object& module) {
  for (const auto& [name, tensor] : tensors_of_module(module, false)) tensor.set_grad(std::nullopt);
}

std::string text_of_module(const py::object& module) {
  std::string out =
      py::cast<std::string>(py::object(py::type::handle_of(module).attr("__name__"))) + "(";
  bool is_first = true;
  for (const auto& [name, tensor] : tensors_of_module(module, true)) {
    out += (is_first ? "" : ", ") + name + "=" + render(tensor.shape());
    is_first = false;
  }
  return out + ")";
}

py::list named_modules(const py::object& module) {
  py::list out;
  for (const FoundModule& found : modules_in(module))
    out.append(py::make_tuple(
        found.prefix.substr(0, found.prefix.empty() ? 0 : found.prefix.size() - 1), found.object));
  return out;
}

void register_buffer(const py::object& self, const std::string& name, const Tensor& tensor) {
  const py::dict attributes = attributes_of(self);
  if (!attributes.contains(kBuffers)) attributes[kBuffers] = py::list();
  py::object(attributes[kBuffers]).attr("append")(name);
  self.attr(name.c_str()) = object_of(tensor);
}

int traverse_module(PyObject* self, visitproc visit, void* argument) {
  // A class of Python has a function of its own, which sees the attributes from 3.11 on.
  constexpr bool is_seen_below = PY_VERSION_HEX >= 0x030B0000;
  PyObject** const attributes = _PyObject_GetDictPtr(self);
  const bool sees = !is_seen_below || Py_TYPE(self)->tp_traverse == &traverse_module;
  if (sees && attributes != nullptr && *attributes != nullptr)
    if (const int out = visit(*attributes, argument); out != 0) return out;
  return visit(reinterpret_cast<PyObject*>(Py_TYPE(self)), argument);
}

void bind_module_class(py::module_& m) {
  py::class_<nn::Module> base(m, "_NativeModule");
  py::class_<PythonModule, nn::Module>(m, "Module", py::dynamic_attr(), collected_once(),
                                       R"(What has parameters, which are found by name.

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden, self.out = nn.Linear(64, 32), nn.Linear(32, 10)
        def forward(self, x):
            return self.out(self.hidden(x).relu())

    net = Net()
    optimizer = optim.Adam(net.parameters())
    nn.save(net, "net.safetensors")

Tensors that gradients are taken by are parameters; modules are found in attributes, and in lists, tuples and dictionaries in them.)")
      .def(py::init<>())
      .def(
          "__call__",
          [](const py::object& self, const py::args& args, const py::kwargs& kwargs) {
            return self.attr("forward")(*args, **kwargs);
          },
          "forward(...), which the class defines.")
      .def("register_buffer", &register_buffer, py::arg("name"), py::arg("tensor"),
           "An attribute that is part of the state, and no parameter.");
  base.def(
          "parameters",
          [](const py::object& self) { return list_of(tensors_of_module(self, false)); },
          "What gradients are taken by.")
      .def(
          "named_parameters",
          [](const py::object& self) {
            return py::list(dict_of(tensors_of_module(self, false)).attr("items")());
          },
          "The same with names, those of inner modules as 'inner.name'.")
      .def(
          "state_dict", [](const py::object& self) { return dict_of(tensors_of_module(self, true)); },
          "Parameters, and what else a module keeps, by name.")
      .def("load_state_dict", &load_state, py::arg("state"), py::arg("strict") = true,
           "Takes the values of tensors by name; num_batches_tracked of PyTorch's batch norms is "
           "left out. Raises DomainError naming what is missing or "
           "unknown, ShapeError where sizes differ; nothing has changed then.")
      .def("named_modules", &named_modules, "The module and those inside, with their names.")
      .def(
          "train",
          [](py::object self, bool on) {
            train_all(self, on);
            return self;
          },
          py::arg("mode") = true,
          "Whether dropout drops and normalisations learn; of all inner modules, too. They do at "
          "first.")
      .def(
          "eval",
          [](py::object self) {
            train_all(self, false);
            return self;
          },
          "train(False)")
      .def_property_readonly("training", &nn::Module::is_training, "Whether train() is on.")
      .def("zero_grad", &forget_gradients, "Forgets all gradients.")
      .def("__repr__", &text_of_module);
}

void bind_init(py::module_& m) {
  const auto dtype = py::arg_v("dtype", DTypeArg{dtypes::float32}, "float32");
  m.def(
      "uniform",
      [](const Ints& shape, double low, double high, DTypeArg d) {
        return nn::uniform(shape, low, high, d);
      },
      py::arg("shape"), py::arg("low") = 0.0, py::arg("high") = 1.0, dtype,
      "Uniform between two bounds.");
  m.def(
      "normal",
      [](const Ints& shape, double mean, double std, DTypeArg d) {
        return nn::normal(shape, mean, std, d);
      },
      py::arg("shape"), py::arg("mean") = 0.0, py::arg("std") = 1.0, dtype, "Normal.");
  m.def(
      "kaiming_uniform",
      [](const Ints& shape, double slope, DTypeArg d) {
        return nn::kaiming_uniform(shape, slope, d);
      },
      py::arg("shape"), py::arg("a") = 0.0, dtype,
      "He et al., 2015: uniform within sqrt(6 / ((1 + a**2) * inputs)).");
  m.def(
      "kaiming_normal",
      [](const Ints& shape, double slope, DTypeArg d) { return nn::kaiming_normal(shape, slope, d); },
      py::arg("shape"), py::arg("a") = 0.0, dtype,
      "He et al., 2015: normal, of a third of that variance.");
  m.def(
      "xavier_uniform",
      [](const Ints& shape, double gain, DTypeArg d) { return nn::xavier_uniform(shape, gain, d); },
      py::arg("shape"), py::arg("gain") = 1.0, dtype,
      "Glorot and Bengio, 2010: uniform within sqrt(6 / (inputs + outputs)).");
  m.def(
      "xavier_normal",
      [](const Ints& shape, double gain, DTypeArg d) { return nn::xavier_normal(shape, gain, d); },
      py::arg("shape"), py::arg("gain") = 1.0, dtype, "Glorot and Bengio, 2010.");
}

}  // namespace

py::custom_type_setup collected_once() {
  return py::custom_type_setup(
      [](PyHeapTypeObject* type) { type->ht_type.tp_traverse = &traverse_module; });
}

void check_made(py::handle module) {
  if (!py::isinstance<nn::Module>(module)) return;
  py::detail::values_and_holders parts(reinterpret_cast<py::detail::instance*>(module.ptr()));
  for (const auto& part : parts)
    if (!part.holder_constructed())
      throw py::type_error("a module of class " +
                           py::cast<std::string>(py::type::handle_of(module).attr("__name__")) +
                           " is not made yet: super().__init__() comes first");
}

std::vector<FoundModule> modules_in(const py::object& module) {
  std::vector<FoundModule> out{{"", module}};
  std::unordered_set<const PyObject*> met{module.ptr()};
  for (std::size_t k = 0; k < out.size(); ++k) {
    check_made(out[k].object);
    std::vector<FoundModule> inner;
    for (const auto& [name, value] : attributes_of(out[k].object))
      add_inner(out[k].prefix + py::cast<std::string>(name),
                py::reinterpret_borrow<py::object>(value), inner);
    for (FoundModule& one : inner)
      if (met.insert(one.object.ptr()).second) out.push_back(std::move(one));
  }
  return out;
}

void bind_nn(py::module_& m) {
  py::module_ nn =
      m.def_submodule("_nn", "Modules and layers, named and initialised as PyTorch has them.");
  bind_module_class(nn);
  py::module_ init = nn.def_submodule("init", "Initial values: functions that make tensors.");
  bind_init(init);
  bind_layer_classes(nn);
  bind_norm_layers(nn);
}

}  // namespace strata::python
