// strata.optim: optimisers, gradient clipping, schedules of learning rates.
#include "strata/nn/optim.h"
#include "python/src/convert.h"
#include "python/src/location.h"
#include "python/src/modules.h"
#include "python/src/running.h"
#include "strata/nn/module.h"

namespace strata::python {

namespace {

/// The tensors of an iterable of tensors or of pairs (name, tensor), or the parameters of a module.
std::vector<Tensor> parameters_of(const py::object& given) {
  const py::object all = py::isinstance<nn::Module>(given) ? py::object(given.attr("parameters")()) : given;
  if (tensor_in(all.ptr()) != nullptr) return {*tensor_in(all.ptr())};
  std::vector<Tensor> out;
  for (const py::handle one : py::iter(all)) {
    PyObject* const item =
        PyTuple_Check(one.ptr()) && PyTuple_GET_SIZE(one.ptr()) == 2 ? PyTuple_GET_ITEM(one.ptr(), 1) : one.ptr();
    const Tensor* const t = tensor_in(item);
    if (t == nullptr) Given{item, "optimizer", "parameters"}.refuse("tensors");
    out.push_back(*t);
  }
  return out;
}

nn::AdamOptions adam_options(double lr, std::pair<double, double> betas, double eps, double weight_decay) {
  return {.lr = lr, .beta1 = betas.first, .beta2 = betas.second, .eps = eps, .weight_decay = weight_decay};
}

template <class O>
void bind_adam(py::module_& m, const char* name, double eps, double weight_decay, const char* doc) {
  py::class_<O, nn::Optimizer>(m, name, py::dynamic_attr(), collected_once(), doc)
      .def(py::init(
               [](const py::object& parameters, double lr, std::pair<double, double> betas, double e, double decay) {
                 return std::make_unique<O>(parameters_of(parameters), adam_options(lr, betas, e, decay));
               }),
           py::arg("params"), py::arg("lr") = 1e-3, py::arg("betas") = std::pair(0.9, 0.999), py::arg("eps") = eps,
           py::arg("weight_decay") = weight_decay);
}

void bind_optimizers(py::module_& m) {
  py::class_<nn::Optimizer>(m, "Optimizer", py::dynamic_attr(), collected_once(),
                            "What moves parameters against their gradients. All parameters of a "
                            "dtype are one tensor, of which they are views: a step is one kernel.")
      .def(
          "step",
          [](nn::Optimizer& o) {
            const LocationScope scope("step");
            running([&] { o.step(); });
          },
          "Moves the parameters. Realizes. Raises DomainError where none has a gradient.")
      .def("zero_grad", &nn::Optimizer::zero_grad, "Forgets the gradients.")
      .def(
          "state_dict",
          [](const nn::Optimizer& o) {
            py::dict out;
            for (const auto& [name, tensor] : o.state_dict()) out[name.c_str()] = object_of(tensor);
            return out;
          },
          "What a run is taken up again with: steps, lr, and what is kept for each parameter; "
          "strata.save() writes it to a file.")
      .def(
          "load_state_dict",
          [](nn::Optimizer& o, const py::dict& state) {
            nn::NamedTensors given;
            for (const auto& [name, tensor] : state)
              given.emplace_back(py::cast<std::string>(name), tensor_of({tensor.ptr(), "load_state_dict", "state"}));
            running([&] { o.load_state_dict(given); });
          },
          py::arg("state"),
          "Takes up what state_dict() gave. Raises DomainError naming what is missing or unknown, "
          "ShapeError where sizes differ; nothing has changed then.")
      .def_property("lr", &nn::Optimizer::lr, &nn::Optimizer::set_lr,
                    "The learning rate: no part of a kernel, so that changing it compiles nothing.")
      .def_property_readonly("params", [](const nn::Optimizer& o) { return o.parameters(); }, "The parameters.");
  py::class_<nn::SGD, nn::Optimizer>(m, "SGD", py::dynamic_attr(), collected_once(),
                                     "Stochastic gradient descent, with momentum where it is not 0.")
      .def(py::init([](const py::object& parameters, double lr, double momentum, double dampening, double decay,
                       bool nesterov) {
             return std::make_unique<nn::SGD>(parameters_of(parameters), nn::SgdOptions{.lr = lr,
                                                                                        .momentum = momentum,
                                                                                        .dampening = dampening,
                                                                                        .weight_decay = decay,
                                                                                        .nesterov = nesterov});
           }),
           py::arg("params"), py::arg("lr") = 1e-3, py::arg("momentum") = 0.0, py::arg("dampening") = 0.0,
           py::arg("weight_decay") = 0.0, py::arg("nesterov") = false);
  bind_adam<nn::Adam>(m, "Adam", 1e-8, 0, "Kingma and Ba, 2015; weight decay as part of the gradient.");
  bind_adam<nn::AdamW>(m, "AdamW", 1e-8, 0.01, "Loshchilov and Hutter, 2019: weight decay apart from the gradient.");
  bind_adam<nn::LAMB>(m, "LAMB", 1e-6, 0, "You et al., 2020: Adam's step, scaled for each parameter to its own size.");
  py::class_<nn::RMSprop, nn::Optimizer>(m, "RMSprop", py::dynamic_attr(), collected_once(),
                                         "Steps over the root of a moving mean of squares.")
      .def(py::init([](const py::object& parameters, double lr, double alpha, double eps, double decay,
                       double momentum) {
             return std::make_unique<nn::RMSprop>(
                 parameters_of(parameters),
                 nn::RmspropOptions{.lr = lr, .alpha = alpha, .eps = eps, .weight_decay = decay, .momentum = momentum});
           }),
           py::arg("params"), py::arg("lr") = 1e-2, py::arg("alpha") = 0.99, py::arg("eps") = 1e-8,
           py::arg("weight_decay") = 0.0, py::arg("momentum") = 0.0);
}

}  // namespace

void bind_optim(py::module_& m) {
  py::module_ optim = m.def_submodule("_optim", "Optimisers, named as PyTorch has them.");
  bind_optimizers(optim);
  optim.def(
      "clip_grad_norm",
      [](const py::object& parameters, double most) {
        const LocationScope scope("clip_grad_norm");
        return nn::clip_grad_norm(parameters_of(parameters), most);
      },
      py::arg("parameters"), py::arg("max_norm"),
      "Scales gradients so that their norm, all together, is at most this; gives the norm that it "
      "was.");
  optim.def(
      "clip_grad_value",
      [](const py::object& parameters, double most) {
        const LocationScope scope("clip_grad_value");
        nn::clip_grad_value(parameters_of(parameters), most);
      },
      py::arg("parameters"), py::arg("clip_value"),
      "Each element of each gradient between -clip_value and clip_value.");
  optim.def("step_schedule", &nn::step_schedule, py::arg("lr"), py::arg("step"), py::arg("every"),
            py::arg("factor") = 0.1, "The learning rate times a factor, every so many steps.");
  optim.def("exponential_schedule", &nn::exponential_schedule, py::arg("lr"), py::arg("step"), py::arg("factor"),
            "lr * factor**step");
  optim.def("cosine_schedule", &nn::cosine_schedule, py::arg("lr"), py::arg("step"), py::arg("steps"),
            py::arg("last") = 0.0, "Half a cosine from lr to `last`.");
  optim.def("warmup_cosine_schedule", &nn::warmup_cosine_schedule, py::arg("lr"), py::arg("step"), py::arg("warmup"),
            py::arg("steps"), "From 0 to lr over the warmup, then half a cosine to 0.");
}

}  // namespace strata::python
