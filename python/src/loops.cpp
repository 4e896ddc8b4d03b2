// Binds loops: strata/_loops.py flattens the states and sequences of scan() and while_loop() into lists of tensors.
#include <optional>
#include <utility>
#include <vector>

#include "python/src/call.h"
#include "python/src/location.h"
#include "python/src/running.h"
#include "python/src/tensor_object.h"
#include "strata/tensor/scan.h"

namespace strata::python {

namespace {

using Tensors = std::vector<Tensor>;

py::list list_of(std::span<const Tensor> tensors) {
  py::list out;
  for (const Tensor& t : tensors) out.append(object_of(t));
  return out;
}

/// Calls f(state, elements), which returns the lists of the next states and of the outputs.
std::pair<Tensors, Tensors> scanned(const py::object& f, const Tensors& initial, const Tensors& sequences,
                                    const std::optional<Int>& length, bool reverse, std::int64_t checkpoint_every) {
  const LocationScope scope("scan");
  const ScanStep step = [&](std::span<const Tensor> state, std::span<const Tensor> elements) {
    const py::object made = f(list_of(state), list_of(elements));
    return std::pair(py::cast<Tensors>(made[py::int_(0)]), py::cast<Tensors>(made[py::int_(1)]));
  };
  ScanResult out =
      scan(step, initial, sequences, {.length = length, .reverse = reverse, .checkpoint_every = checkpoint_every});
  return {std::move(out.state), std::move(out.outputs)};
}

Tensors looped(const py::object& condition, const py::object& f, const Tensors& initial, const Int& most) {
  const LocationScope scope("while_loop");
  const auto goes_on = [&](std::span<const Tensor> state) { return py::cast<Tensor>(condition(list_of(state))); };
  const auto step = [&](std::span<const Tensor> state) { return py::cast<Tensors>(f(list_of(state))); };
  return while_loop(goes_on, step, initial, most);
}

}  // namespace

void bind_loops(py::module_& m) {
  m.def("_scan", &scanned);
  m.def("_while_loop", &looped);
}

}  // namespace strata::python
