// Binds vmap(), jvp() and checkpoint(): strata/_transforms.py flattens arguments and results into lists of tensors.
#include <optional>
#include <utility>
#include <vector>

#include "python/src/call.h"
#include "python/src/location.h"
#include "python/src/tensor_object.h"
#include "strata/tensor/transforms.h"

namespace strata::python {

namespace {

using Tensors = std::vector<Tensor>;
using AxesOfTensors = std::vector<std::optional<std::int64_t>>;

/// `f`, from a list of tensors to a list of tensors.
TensorsFunction function_of(const py::object& f) {
  return [&f](std::span<const Tensor> xs) {
    py::list given;
    for (const Tensor& x : xs) given.append(object_of(x));
    return py::cast<Tensors>(f(given));
  };
}

/// @param out_axes a function without arguments that is called behind f
Tensors mapped(const py::object& f, const Tensors& xs, const AxesOfTensors& in_axes, const py::object& out_axes) {
  const LocationScope scope("vmap");
  VmapOptions options{.in_axes = in_axes};
  const TensorsFunction called = function_of(f);
  return vmap(
      [&](std::span<const Tensor> given) {
        Tensors results = called(given);
        options.out_axes = py::cast<AxesOfTensors>(out_axes());
        return results;
      },
      xs, options);
}

std::pair<Tensors, Tensors> along(const py::object& f, const Tensors& xs, const Tensors& tangents) {
  const LocationScope scope("jvp");
  return jvp(function_of(f), xs, tangents);
}

Tensors again(const py::object& f, const Tensors& xs) {
  const LocationScope scope("checkpoint");
  return checkpoint(function_of(f), xs);
}

}  // namespace

void bind_transforms(py::module_& m) {
  m.def("_vmap", &mapped);
  m.def("_jvp", &along);
  m.def("_checkpoint", &again);
}

}  // namespace strata::python
