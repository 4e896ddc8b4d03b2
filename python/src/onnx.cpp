// strata.onnx: models in the ONNX format as modules.
#include "python/src/convert.h"
#include "python/src/location.h"
#include "python/src/modules.h"
#include "python/src/running.h"
#include "strata/onnx/model.h"
#include "strata/onnx/operators.h"

namespace strata::python {

namespace {

/// A list of texts in lists of lists, as the shape says; a scalar is one text.
py::object lists_of_texts(const onnx::Texts& texts) {
  std::vector<py::object> level;
  for (const std::string& text : texts.elements) level.push_back(py::str(text));
  for (std::size_t d = texts.shape.size(); d-- > 0;) {
    std::vector<py::object> outer;
    const auto size = static_cast<std::size_t>(texts.shape[d]);
    const std::size_t count = size == 0 ? 1 : level.size() / size;
    for (std::size_t k = 0; k < count; ++k) {
      py::list part;
      for (std::size_t i = 0; i < size; ++i) part.append(level[k * size + i]);
      outer.push_back(part);
    }
    level = std::move(outer);
  }
  return level.empty() ? py::object(py::list()) : level[0];
}

/// Texts of nested lists, or of an array of objects with tolist().
onnx::Texts texts_of_lists(py::object given) {
  if (py::hasattr(given, "tolist")) given = given.attr("tolist")();
  onnx::Texts out;
  std::vector<py::object> level = {given};
  while (!level.empty() && py::isinstance<py::sequence>(level[0]) && !py::isinstance<py::str>(level[0])) {
    STRATA_CHECK(out.shape.size() < 32, shape, "[onnx] lists of texts are nested more than 32 deep");
    std::vector<py::object> inner;
    const std::size_t size = py::len(level[0]);
    for (const py::object& list : level) {
      STRATA_CHECK(!py::isinstance<py::str>(list) && py::len(list) == size, shape,
                   "[onnx] lists of texts have different lengths");
      for (const py::handle item : list) inner.push_back(py::reinterpret_borrow<py::object>(item));
    }
    out.shape.push_back(static_cast<std::int64_t>(size));
    level = std::move(inner);
  }
  for (const py::object& text : level) {
    if (!py::isinstance<py::str>(text)) throw py::type_error("[onnx] texts are expected: str in lists");
    out.elements.push_back(py::cast<std::string>(text));
  }
  return out;
}

onnx::Datum datum_of_object(const py::object& given, const onnx::Port& port) {
  using Kind = onnx::Port::Kind;
  if (port.kind == Kind::texts) return texts_of_lists(given);
  if (port.kind == Kind::optional && given.is_none()) return onnx::EmptyOptional{};
  const bool is_list = py::isinstance<py::list>(given) || py::isinstance<py::tuple>(given);
  if (port.kind == Kind::sequence || (port.kind == Kind::optional && is_list)) {
    onnx::Sequence out;
    for (const py::handle item : given) out.emplace_back(tensor_from_object(item.ptr(), "onnx"));
    return out;
  }
  const bool is_typed = port.kind == Kind::tensor;
  return is_typed ? tensor_from_object(given.ptr(), "onnx", port.dtype) : tensor_from_object(given.ptr(), "onnx");
}

py::object object_of_datum(const onnx::Datum& value) {
  if (value.is_tensor()) return object_of(value.tensor());
  if (value.is_texts()) return lists_of_texts(value.texts());
  if (!value.is_sequence()) return py::none();
  py::list out;
  for (const onnx::Datum& item : value.sequence()) out.append(object_of_datum(item));
  return out;
}

/// The arguments of a call as the model's inputs, in the order in which they are given.
onnx::NamedValues inputs_of(const onnx::Model& model, const py::args& args, const py::kwargs& kwargs) {
  std::vector<onnx::Port> ports = model.inputs();
  ports.insert(ports.end(), model.optional_inputs().begin(), model.optional_inputs().end());
  onnx::NamedValues given;
  const auto give = [&](const std::string& name, const py::object& value) {
    for (const onnx::Port& port : ports)
      if (port.name == name) return given.emplace_back(name, datum_of_object(value, port)), void();
    throw Error(ErrorKind::domain, "[onnx] the model has no input \"" + name + "\"");
  };
  std::size_t position = 0;
  for (const py::handle value : args) {
    if (PyDict_Check(value.ptr())) {
      for (const auto& [name, item] : py::reinterpret_borrow<py::dict>(value))
        give(py::cast<std::string>(name), py::reinterpret_borrow<py::object>(item));
      continue;
    }
    STRATA_CHECK(position < ports.size(), domain, "[onnx] ", args.size(), " inputs are given; the model has ",
                 ports.size());
    give(ports[position++].name, py::reinterpret_borrow<py::object>(value));
  }
  for (const auto& [name, value] : kwargs) give(py::cast<std::string>(name), py::reinterpret_borrow<py::object>(value));
  return given;
}

py::object bound_inputs(const onnx::Model& model, const py::args& args, const py::kwargs& kwargs) {
  const LocationScope scope("onnx");
  const onnx::NamedValues given = inputs_of(model, args, kwargs);
  py::list out;
  for (const auto& [name, value] : running([&] { return model.bound(given); })) out.append(object_of_datum(value));
  return py::tuple(out);
}

py::object call_model(const onnx::Model& model, const py::args& args, const py::kwargs& kwargs) {
  const LocationScope scope("onnx");
  const onnx::NamedValues given = inputs_of(model, args, kwargs);
  const onnx::NamedValues results = running([&] { return model(given); });
  if (results.size() == 1) return object_of_datum(results[0].second);
  py::dict out;
  for (const auto& [name, value] : results) out[py::str(name)] = object_of_datum(value);
  return out;
}

py::dict types_of(const std::vector<onnx::Port>& ports) {
  py::dict out;
  for (const onnx::Port& port : ports) out[py::str(port.name)] = port.type_text();
  return out;
}

using Bounds = std::map<std::string, std::pair<std::int64_t, std::int64_t>>;

std::unique_ptr<onnx::Model> load_model(const py::object& path, const std::optional<std::string>& device,
                                        bool check_sizes, const std::optional<Bounds>& sizes) {
  const auto name = py::cast<std::string>(py::module_::import("os").attr("fspath")(path));
  onnx::LoadOptions options{.checks_sizes = check_sizes};
  if (sizes) options.bounds = *sizes;
  if (device) options.device = &Device::get(*device);
  return running([&] { return onnx::load(name, options); });
}

py::list operator_names() {
  py::list out;
  for (const onnx::Operator& row : onnx::operators())
    out.append(py::make_tuple(py::str(row.domain.data(), row.domain.size()), py::str(row.name.data(), row.name.size()),
                              row.since, row.until));
  return out;
}

}  // namespace

void bind_onnx(py::module_& m) {
  py::module_ onnx = m.def_submodule("_onnx", "Models in the ONNX format.");
  py::class_<onnx::Model, nn::Module>(
      onnx, "Model", py::dynamic_attr(), collected_once(),
      R"(A model in the ONNX format: a module that is called with its inputs, in order or by name.

Inputs are tensors, or what tensors are made of: NumPy arrays, lists of numbers. Texts are str in nested lists, a sequence is a list of
tensors, an optional without a value is None. Names that are not words of Python are given in a dict. The result is the output, or a dict
of the outputs by name if there are several.)")
      .def("__call__", &call_model)
      .def("forward", &call_model, "The same as calling the model.")
      .def(
          "bound", &bound_inputs,
          R"(The inputs, in the order in which they are given, as tensors whose sizes are bound variables: for a function that `strata.jit`
captures, and that one capture serves for all sizes within the bounds of load().)")
      .def_property_readonly(
          "inputs", [](const onnx::Model& model) { return types_of(model.inputs()); },
          "The inputs that a call needs, by name, with their types: {'x': 'f32[n, 3]'}.")
      .def_property_readonly(
          "optional_inputs", [](const onnx::Model& model) { return types_of(model.optional_inputs()); },
          "Inputs for which the file has values; a call may give others.")
      .def_property_readonly(
          "outputs", [](const onnx::Model& model) { return types_of(model.outputs()); },
          "The outputs by name, with their types.");
  onnx.def("load", &load_model, py::arg("path"), py::kw_only(), py::arg("device") = py::none(),
           py::arg("check_sizes") = true, py::arg("sizes") = py::none(),
           R"(Reads an ONNX file. The model is in evaluation; train() records gradients.

`device` is the device that computes, by default the default one. With check_sizes=False inputs may have other sizes than the file states.
`sizes` bounds symbolic sizes of inputs by their names: {"n": (1, 512)}. Kernels are then compiled once for all sizes within the bounds,
and the outputs are computed in the call. A size outside of its bounds raises ShapeError.
Raises an error that names all operators that are missing, before anything runs.)");
  onnx.def("operators", &operator_names,
           "The operators that models may have: tuples (domain, name, first version, last version); a last version of "
           "0 means that no "
           "last one is known.");
}

}  // namespace strata::python
