// save() and load() of tensors in npy, npz and safetensors files. The ending of the name decides the format.
#include <string>

#include "python/src/convert.h"
#include "python/src/running.h"
#include "strata/nn/module.h"
#include "strata/nn/npy.h"
#include "strata/nn/npz.h"
#include "strata/nn/safetensors.h"

namespace strata::python {

namespace {

/// The path of a str or of an object with __fspath__().
std::string path_of(const py::object& path) {
  return py::cast<std::string>(py::module_::import("os").attr("fspath")(path));
}

enum class FileKind : std::uint8_t { npy, npz, safetensors };

FileKind kind_of_file(const char* operation, const std::string& path) {
  if (path.ends_with(".npy")) return FileKind::npy;
  if (path.ends_with(".npz")) return FileKind::npz;
  STRATA_CHECK(path.ends_with(".safetensors"), domain, "[", operation, "] '", path,
               "' ends in neither .npy nor .npz nor .safetensors");
  return FileKind::safetensors;
}

py::dict dict_of_arrays(const NamedArrays& arrays) {
  py::dict out;
  for (const auto& [name, array] : arrays) out[py::str(name)] = object_of(nn::from_array(array));
  return out;
}

NamedArrays arrays_of_dict(const py::dict& tensors) {
  NamedArrays out;
  for (const auto& [name, value] : tensors) {
    const Tensor t = tensor_of({value.ptr(), "save", "tensors"});
    out.emplace_back(py::cast<std::string>(name), running([&] { return nn::to_array(t); }));
  }
  return out;
}

py::object load_file(const py::object& path) {
  const std::string name = path_of(path);
  switch (kind_of_file("load", name)) {
    case FileKind::npy: return object_of(nn::from_array(running([&] { return read_npy(name); })));
    case FileKind::npz: return dict_of_arrays(running([&] { return read_npz(name); }));
    default: return dict_of_arrays(running([&] { return read_safetensors(name); }).tensors);
  }
}

/// The tensors to save: a dictionary, or the state_dict() of an object that has one.
py::dict state_of_object(const py::object& what) {
  if (PyDict_Check(what.ptr())) return what;
  if (py::isinstance<nn::Module>(what)) return what.attr("state_dict")();
  throw py::type_error("save(): a tensor (to .npy), a dictionary of tensors or a module is expected");
}

void save_file(const py::object& what, const py::object& path,
               const std::vector<std::pair<std::string, std::string>>& metadata) {
  const std::string name = path_of(path);
  const FileKind kind = kind_of_file("save", name);
  if (kind == FileKind::npy) {
    const Tensor t = tensor_of({what.ptr(), "save", "tensor"});
    running([&] { write_npy(name, nn::to_array(t)); });
    return;
  }
  const NamedArrays arrays = arrays_of_dict(state_of_object(what));
  running([&] {
    if (kind == FileKind::npz)
      write_npz(name, arrays);
    else
      write_safetensors(name, {arrays, metadata});
  });
}

py::dict metadata_of_file(const py::object& path) {
  py::dict out;
  for (const auto& [name, text] : read_safetensors(path_of(path)).metadata) out[py::str(name)] = text;
  return out;
}

}  // namespace

void bind_files(py::module_& m) {
  m.def("load", &load_file, py::arg("path"),
        "Returns the tensor of a .npy file, or a dict from names to tensors of a .npz or "
        ".safetensors file. The data of a .safetensors file are not read before they are used.");
  m.def(
      "save",
      [](const py::object& what, const py::object& path, const py::dict& metadata) {
        std::vector<std::pair<std::string, std::string>> texts;
        for (const auto& [name, text] : metadata)
          texts.emplace_back(py::cast<std::string>(name), py::cast<std::string>(text));
        save_file(what, path, texts);
      },
      py::arg("what"), py::arg("path"), py::arg("metadata") = py::dict(),
      "Writes a tensor to a .npy file, or a dict of tensors or the state of a module to a .npz "
      "or .safetensors file. `metadata` is a dict of texts for a .safetensors file.");
  m.def("load_metadata", &metadata_of_file, py::arg("path"),
        "Returns the metadata of a .safetensors file: a dict of texts.");
}

}  // namespace strata::python
