// The class nn.Module. A layer of C++ registers its tensors itself. A module that is written in Python has them in its
// attributes, as in PyTorch: tensors that require gradients are parameters, modules are inner modules, also in lists,
// tuples and dictionaries. Another tensor is part of the state if register_buffer() named it.
#include <memory>
#include <unordered_set>

#include "python/src/location.h"
#include "python/src/modules.h"
#include "strata/nn/layers.h"
#include "strata/tensor/access.h"

namespace strata::python {

namespace {

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

/// load_state_dict(): assigns the values to the tensors of the same names. A tensor with several names needs a value
/// under one of them. If it throws, nothing has changed.
void load_state(const py::object& module, const py::dict& state, bool strict) {
  const nn::NamedTensors own = tensors_of_module(module, true, true);
  std::vector<std::pair<Tensor, Tensor>> changes;
  std::unordered_set<std::string> known;
  std::unordered_set<const TensorState*> found;
  for (const auto& [name, tensor] : own)
    if (state.contains(name)) found.insert(TensorAccess::state(tensor).get());
  for (const auto& [name, tensor] : own) {
    known.insert(name);
    if (!state.contains(name)) {
      STRATA_CHECK(!strict || found.contains(TensorAccess::state(tensor).get()), domain, "[load_state_dict] '", name,
                   "' is missing");
      continue;
    }
    const Tensor value = tensor_of({py::object(state[name.c_str()]).ptr(), "load_state_dict", "state"});
    STRATA_CHECK(value.shape() == tensor.shape(), shape, "[load_state_dict] '", name, "' is of shape ",
                 render(tensor.shape()), ", not ", render(value.shape()));
    nn::check_dtypes(name, tensor.dtype(), value.dtype());
    changes.emplace_back(tensor, value.cast(tensor.dtype()).to(tensor.device()).detach());
  }
  for (const auto& item : state) {
    const auto name = py::cast<std::string>(item.first);
    STRATA_CHECK(!strict || nn::is_batch_count(name) || known.contains(name), domain,
                 "[load_state_dict] the module has no '", name, "'");
  }
  for (const auto& [tensor, value] : changes) tensor.assign(value);
}

/// nn.quantize(): calls `calibrate`, which runs the model, and makes the layers of C++ in all modules inside compute in
/// integers.
void quantize_all(const py::object& module, const py::function& calibrate, bool per_channel,
                  std::optional<double> percentile, std::vector<std::string> exclude) {
  std::vector<std::pair<std::string, nn::Module*>> modules;
  std::unordered_set<const nn::Module*> seen;
  for (const FoundModule& found : modules_in(module))
    for (const auto& [name, inner] : py::cast<nn::Module&>(found.object).named_modules()) {
      if (!seen.insert(inner).second) continue;
      std::string full = found.prefix + name;
      if (!full.empty() && full.back() == '.') full.pop_back();
      modules.emplace_back(std::move(full), inner);
    }
  nn::quantize_layers(modules, [&] { calibrate(); }, {per_channel, percentile, std::move(exclude)});
}

/// Makes those layers quantised of which `state` has the tensors.
void restore_quantized(nn::Module& module, const py::dict& state) {
  for (const auto& [name, inner] : module.named_modules()) {
    auto* const layer = dynamic_cast<nn::QuantizableLayer*>(inner);
    const std::string prefix = name.empty() ? name : name + ".";
    if (layer == nullptr || !state.contains((prefix + "input_scale").c_str())) continue;
    nn::NamedTensors own;
    for (const char* const part : {"weight", "bias", "output_scale", "input_scale", "input_zero_point"})
      own.emplace_back(part, py::cast<Tensor>(py::object(state[(prefix + part).c_str()])));
    layer->set_quantized(own);
  }
}

void train_all(const py::object& module, bool on) {
  for (const FoundModule& found : modules_in(module)) py::cast<nn::Module&>(found.object).train(on);
}

void forget_gradients(const py::object& module) {
  for (const auto& [name, tensor] : tensors_of_module(module, false, false)) tensor.set_grad(std::nullopt);
}

std::string text_of_module(const py::object& module) {
  std::string out = py::cast<std::string>(py::object(py::type::handle_of(module).attr("__name__"))) + "(";
  bool is_first = true;
  for (const auto& [name, tensor] : tensors_of_module(module, true, false)) {
    out += (is_first ? "" : ", ") + name + "=" + render(tensor.shape());
    is_first = false;
  }
  return out + ")";
}

py::list named_modules(const py::object& module) {
  py::list out;
  for (const FoundModule& found : modules_in(module))
    out.append(
        py::make_tuple(found.prefix.substr(0, found.prefix.empty() ? 0 : found.prefix.size() - 1), found.object));
  return out;
}

void register_buffer(const py::object& self, const std::string& name, const Tensor& tensor) {
  const py::dict attributes = self.attr("__dict__");
  if (!attributes.contains(kBuffers)) attributes[kBuffers] = py::list();
  py::object(attributes[kBuffers]).attr("append")(name);
  self.attr(name.c_str()) = object_of(tensor);
}

int traverse_module(PyObject* self, visitproc visit, void* argument) {
  // From Python 3.11 on, the traverse function of a subclass that is written in Python visits the attributes itself.
  constexpr bool is_seen_below = PY_VERSION_HEX >= 0x030B0000;
  PyObject** const attributes = _PyObject_GetDictPtr(self);
  const bool sees = !is_seen_below || Py_TYPE(self)->tp_traverse == &traverse_module;
  if (sees && attributes != nullptr && *attributes != nullptr)
    if (const int out = visit(*attributes, argument); out != 0) return out;
  return visit(reinterpret_cast<PyObject*>(Py_TYPE(self)), argument);
}

/// Training and evaluation, the modules inside, and the text.
void bind_modules_inside(py::class_<nn::Module>& base) {
  base.def("named_modules", &named_modules,
           "This module and all modules inside, as a list of pairs (name, module). This module has the "
           "name ''.")
      .def(
          "train",
          [](py::object self, bool on) {
            train_all(self, on);
            return self;
          },
          py::arg("mode") = true,
          "Switches this module and all modules inside to training, or with mode=False to evaluation. "
          "In training, Dropout drops elements and BatchNorm uses the statistics of the batch. A new "
          "module is in training. Returns the module.")
      .def(
          "eval",
          [](py::object self) {
            train_all(self, false);
            return self;
          },
          "train(False): switches this module and all modules inside to evaluation. Returns the module.")
      .def_property_readonly("training", &nn::Module::is_training,
                             "True in training, False in evaluation; see train().")
      .def("zero_grad", &forget_gradients, "Clears the gradients of all parameters: their `grad` is None afterwards.")
      .def("__repr__", &text_of_module);
}

void bind_module_class(py::module_& m) {
  py::class_<nn::Module> base(
      m, "Module", py::dynamic_attr(), collected_once(),
      R"(The base class of layers and networks: a function with named parameters, buffers and inner modules.

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden, self.out = nn.Linear(64, 32), nn.Linear(32, 10)
        def forward(self, x):
            return self.out(self.hidden(x).relu())

    net = Net()
    optimizer = optim.Adam(net.parameters())
    nn.save(net, "net.safetensors")

A module finds its parts in its attributes, and in lists, tuples and dictionaries there. A tensor that requires
gradients is a parameter; in a list, tuple or dictionary, a tensor that was computed from others is not. A Module is an
inner module. The name of a part is its path: net.l[0] has the name 'l.0', and net.d["key"] has the name 'd.key'.)");
  base.def(py::init<>())
      .def(
          "__call__",
          [](const py::object& self, const py::args& args, const py::kwargs& kwargs) {
            return self.attr("forward")(*args, **kwargs);
          },
          "Calls forward(), which the class defines, with the same arguments.")
      .def("register_buffer", &register_buffer, py::arg("name"), py::arg("tensor"),
           "Sets the attribute `name` to `tensor` and makes it a buffer: a tensor that is in "
           "state_dict() but is not a parameter.")
      .def(
          "_native_state", [](const nn::Module& l) { return dict_of(l.state_dict()); },
          "The tensors of the C++ part of the module, by name.")
      .def("_restore_quantized", &restore_quantized, py::arg("state"),
           "Makes the layers of the C++ part quantised whose tensors `state` has, by name.")
      .def(
          "_set_native",
          [](nn::Module& l, const std::string& name, const std::optional<Tensor>& tensor) {
            l.set(name, tensor, true);
          },
          py::arg("name"), py::arg("tensor"),
          "Makes `tensor` itself the tensor of that name in the C++ part of the module; None removes "
          "an optional one.")
      .def(
          "parameters", [](const py::object& self) { return list_of(tensors_of_module(self, false, false)); },
          "The parameters of this module and of the modules inside, as a list: the tensors that an "
          "optimiser updates. A tensor with several names occurs once.")
      .def(
          "named_parameters",
          [](const py::object& self) {
            return py::list(dict_of(tensors_of_module(self, false, false)).attr("items")());
          },
          "The parameters as a list of pairs (name, tensor). A parameter of an inner module has the "
          "name 'inner.name'.")
      .def(
          "state_dict", [](const py::object& self) { return dict_of(tensors_of_module(self, true, true)); },
          "The parameters and buffers of this module and of the modules inside, as a dictionary by "
          "name. A tensor with several names occurs under each of them. The tensors are the module's "
          "own, not copies.")
      .def("load_state_dict", &load_state, py::arg("state"), py::arg("strict") = true,
           "Assigns the values of `state`, a dictionary by name, to the tensors of the same names, cast "
           "to their dtypes. Names that end in num_batches_tracked, which PyTorch's batch norms save, "
           "are ignored. Raises DomainError for a missing or unknown name (strict=False ignores both), "
           "and ShapeError if shapes differ. After an error the module is unchanged.");
  bind_modules_inside(base);
}

/// The context manager for nn::NoInitialValues. One object may be entered several times, also inside itself.
class NoInitialValuesContext {
 public:
  void enter() { inside_.push_back(std::make_unique<nn::NoInitialValues>()); }
  void exit() {
    if (!inside_.empty()) inside_.pop_back();
  }

 private:
  std::vector<std::unique_ptr<nn::NoInitialValues>> inside_;
};

void bind_no_initial_values(py::module_& m) {
  py::class_<NoInitialValuesContext>(m, "_NoInitialValues")
      .def(py::init<>())
      .def("__enter__",
           [](py::object self) {
             py::cast<NoInitialValuesContext&>(self).enter();
             return self;
           })
      .def("__exit__", [](NoInitialValuesContext& c, const py::args&) { c.exit(); });
}

void bind_init(py::module_& m) {
  const auto dtype = py::arg_v("dtype", DTypeArg{dtypes::float32}, "float32");
  m.def(
      "uniform",
      [](const Ints& shape, double low, double high, DTypeArg d) {
        const LocationScope scope("uniform");
        return nn::uniform(shape, low, high, d);
      },
      py::arg("shape"), py::arg("low") = 0.0, py::arg("high") = 1.0, dtype,
      "Initial values, uniform in [low, high). Raises DomainError if low > high.");
  m.def(
      "normal",
      [](const Ints& shape, double mean, double std, DTypeArg d) {
        const LocationScope scope("normal");
        return nn::normal(shape, mean, std, d);
      },
      py::arg("shape"), py::arg("mean") = 0.0, py::arg("std") = 1.0, dtype,
      "Initial values of the normal distribution with mean `mean` and standard deviation `std`. "
      "Raises DomainError if `std` is negative.");
  m.def(
      "kaiming_uniform",
      [](const Ints& shape, double slope, DTypeArg d) {
        const LocationScope scope("kaiming_uniform");
        return nn::kaiming_uniform(shape, slope, d);
      },
      py::arg("shape"), py::arg("a") = 0.0, dtype,
      "Initial values of He et al., 2015, for a leaky ReLU of negative slope `a`: uniform in [-b, "
      "b), where b = sqrt(6 / ((1 + a**2) * fan_in)). For a weight of shape (out, in, sizes...), "
      "fan_in is in * product(sizes). Raises ShapeError below two dimensions.");
  m.def(
      "kaiming_normal",
      [](const Ints& shape, double slope, DTypeArg d) {
        const LocationScope scope("kaiming_normal");
        return nn::kaiming_normal(shape, slope, d);
      },
      py::arg("shape"), py::arg("a") = 0.0, dtype,
      "Initial values of He et al., 2015, with the variance of kaiming_uniform(): normal, with "
      "mean 0 and standard deviation sqrt(2 / ((1 + a**2) * fan_in)).");
  m.def(
      "xavier_uniform",
      [](const Ints& shape, double gain, DTypeArg d) {
        const LocationScope scope("xavier_uniform");
        return nn::xavier_uniform(shape, gain, d);
      },
      py::arg("shape"), py::arg("gain") = 1.0, dtype,
      "Initial values of Glorot and Bengio, 2010: uniform in [-b, b), where b = gain * sqrt(6 / "
      "(fan_in + fan_out)). For a weight of shape (out, in, sizes...), fan_in is in * "
      "product(sizes), and fan_out is out * product(sizes). Raises ShapeError below two dimensions.");
  m.def(
      "xavier_normal",
      [](const Ints& shape, double gain, DTypeArg d) {
        const LocationScope scope("xavier_normal");
        return nn::xavier_normal(shape, gain, d);
      },
      py::arg("shape"), py::arg("gain") = 1.0, dtype,
      "Initial values of Glorot and Bengio, 2010, with the variance of xavier_uniform(): normal, "
      "with mean 0 and standard deviation gain * sqrt(2 / (fan_in + fan_out)).");
}

}  // namespace

py::custom_type_setup collected_once() {
  return py::custom_type_setup([](PyHeapTypeObject* type) { type->ht_type.tp_traverse = &traverse_module; });
}

void check_made(py::handle module) {
  if (!py::isinstance<nn::Module>(module)) return;
  auto* const instance = reinterpret_cast<py::detail::instance*>(module.ptr());
  if (!instance->owned) return;  // an inner layer, which the outer layer has constructed
  py::detail::values_and_holders parts(instance);
  for (const auto& part : parts)
    if (!part.holder_constructed())
      throw py::type_error("a module of class " + py::cast<std::string>(py::type::handle_of(module).attr("__name__")) +
                           " is not made yet: call super().__init__() first");
}

void bind_nn(py::module_& m) {
  py::module_ nn = m.def_submodule("_nn", "Modules and layers, with the names and initial values of PyTorch's.");
  bind_module_class(nn);
  nn.def("_quantize", &quantize_all, py::arg("model"), py::arg("calibrate"), py::arg("per_channel"),
         py::arg("percentile"), py::arg("exclude"));
  bind_no_initial_values(nn);
  py::module_ init = nn.def_submodule("init", "Functions that create tensors of random initial values.");
  bind_init(init);
  bind_layer_classes(nn);
  bind_norm_layers(nn);
}

}  // namespace strata::python
