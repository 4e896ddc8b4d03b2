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

void bind_optimizer_class(py::module_& m) {
  py::class_<nn::Optimizer>(
      m, "Optimizer", py::dynamic_attr(), collected_once(),
      "The base class of optimisers, which update parameters by their gradients. All parameters of "
      "one dtype become views of one tensor, so a step is one kernel for each dtype. An optimiser "
      "keeps the tensors that it was made with: after layer.weight = t, it still updates the old "
      "weight.")
      .def(
          "step",
          [](nn::Optimizer& o) {
            const LocationScope scope("step");
            running([&] { o.step(); });
          },
          "Updates the parameters by their gradients, and realizes them. A parameter without a "
          "gradient keeps its values. Raises DomainError if no parameter has a gradient.")
      .def("zero_grad", &nn::Optimizer::zero_grad,
           "Clears the gradients of all parameters: their `grad` is None afterwards.")
      .def(
          "state_dict",
          [](const nn::Optimizer& o) {
            py::dict out;
            for (const auto& [name, tensor] : o.state_dict()) out[name.c_str()] = object_of(tensor);
            return out;
          },
          "The tensors with which training can be resumed, as a dictionary: 'steps', 'lr', and the "
          "state of each parameter, as 'state.P.K' for tensor K of parameter P. The parameters "
          "themselves are in Module.state_dict(). strata.save() writes the dictionary to a file.")
      .def(
          "load_state_dict",
          [](nn::Optimizer& o, const py::dict& state) {
            nn::NamedTensors given;
            for (const auto& [name, tensor] : state)
              given.emplace_back(py::cast<std::string>(name), tensor_of({tensor.ptr(), "load_state_dict", "state"}));
            running([&] { o.load_state_dict(given); });
          },
          py::arg("state"),
          "Restores the state that state_dict() returned. Raises DomainError for a missing or unknown "
          "name, and ShapeError if shapes differ. After an error the optimiser is unchanged.")
      .def_property("lr", &nn::Optimizer::lr, &nn::Optimizer::set_lr,
                    "The learning rate of the next steps. Kernels take it as an input, so a new rate compiles "
                    "nothing.")
      .def_property_readonly(
          "params", [](const nn::Optimizer& o) { return o.parameters(); }, "The parameters, as a list of tensors.");
}

void bind_optimizers(py::module_& m) {
  py::class_<nn::SGD, nn::Optimizer>(
      m, "SGD", py::dynamic_attr(), collected_once(),
      "Stochastic gradient descent, as torch.optim.SGD: g += weight_decay * w; v = momentum * v + "
      "(1 - dampening) * g; w -= lr * v, or with `nesterov` w -= lr * (g + momentum * v). At the "
      "first step, v is g. `params` is an iterable of tensors or of pairs (name, tensor), or a "
      "Module, as of all optimisers. Raises DomainError for a negative option, and for `nesterov` "
      "without a momentum or with a dampening.")
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
  bind_adam<nn::Adam>(m, "Adam", 1e-8, 0,
                      "Adam of Kingma and Ba, 2015, as torch.optim.Adam: g += weight_decay * w; m = beta1 * m + (1 "
                      "- beta1) * g; v = beta2 * v + (1 - beta2) * g**2; w -= lr * m / (1 - beta1**t) / (sqrt(v / "
                      "(1 - beta2**t)) + eps) at step t. Raises DomainError for a negative option, or if a beta is "
                      "1 or more.");
  bind_adam<nn::AdamW>(m, "AdamW", 1e-8, 0.01,
                       "AdamW of Loshchilov and Hutter, 2019, as torch.optim.AdamW: Adam whose weight decay is not "
                       "part of the gradient. At each step the parameters are first multiplied by 1 - lr * "
                       "weight_decay.");
  bind_adam<nn::LAMB>(m, "LAMB", 1e-6, 0,
                      "LAMB of You et al., 2020: w -= lr * |w| / |d| * d, where d is Adam's step plus weight_decay "
                      "* w, and the norms are L2 norms of each parameter. The ratio of the norms is 1 if a norm is "
                      "0.");
  py::class_<nn::RMSprop, nn::Optimizer>(
      m, "RMSprop", py::dynamic_attr(), collected_once(),
      "RMSprop, as torch.optim.RMSprop: g += weight_decay * w; s = alpha * s + (1 - alpha) * g**2; "
      "d = g / (sqrt(s) + eps); w -= lr * d, or with momentum v = momentum * v + d; w -= lr * v. "
      "Raises DomainError for a negative option, or if `alpha` is 1 or more.")
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
  py::module_ optim = m.def_submodule(
      "_optim", "Optimisers, gradient clipping and schedules of learning rates, under PyTorch's names.");
  bind_optimizer_class(optim);
  bind_optimizers(optim);
  optim.def(
      "clip_grad_norm",
      [](const py::object& parameters, double most) {
        const LocationScope scope("clip_grad_norm");
        return nn::clip_grad_norm(parameters_of(parameters), most);
      },
      py::arg("parameters"), py::arg("max_norm"),
      "Multiplies all gradients by min(1, max_norm / (norm + 1e-6)), where `norm` is the L2 norm "
      "of all gradients together. Returns `norm` before the scaling, as a tensor. Raises "
      "DomainError if no parameter has a gradient.");
  optim.def(
      "clip_grad_value",
      [](const py::object& parameters, double most) {
        const LocationScope scope("clip_grad_value");
        nn::clip_grad_value(parameters_of(parameters), most);
      },
      py::arg("parameters"), py::arg("clip_value"),
      "Clips each element of each gradient to [-clip_value, clip_value]. Raises DomainError if "
      "`clip_value` is negative.");
  optim.def("step_schedule", &nn::step_schedule, py::arg("lr"), py::arg("step"), py::arg("every"),
            py::arg("factor") = 0.1,
            "The learning rate of `step` (0, 1, ...) from the initial rate `lr`: lr * factor**(step // "
            "every). Raises DomainError unless every > 0. Assign the result to Optimizer.lr, as that of "
            "the other schedules.");
  optim.def("exponential_schedule", &nn::exponential_schedule, py::arg("lr"), py::arg("step"), py::arg("factor"),
            "The learning rate of `step` (0, 1, ...) from the initial rate `lr`: lr * factor**step.");
  optim.def("cosine_schedule", &nn::cosine_schedule, py::arg("lr"), py::arg("step"), py::arg("steps"),
            py::arg("last") = 0.0,
            "The learning rate of `step` (0, 1, ...): half a cosine wave from `lr` at step 0 down to "
            "`last` at step `steps`, and `last` afterwards.");
  optim.def("warmup_cosine_schedule", &nn::warmup_cosine_schedule, py::arg("lr"), py::arg("step"), py::arg("warmup"),
            py::arg("steps"),
            "The learning rate of `step` (0, 1, ...): linear from 0 at step 0 to `lr` at step `warmup`, "
            "then half a cosine wave down to 0 at step `steps`.");
}

}  // namespace strata::python
