// Finds the calling line of Python code. CPython finds the line of a frame by reading a table from its beginning, so
// lines are cached by code object and instruction: a loop asks for the same lines again and again.
#include "python/src/location.h"

#include <array>
#include <string>
#include <unordered_set>

namespace strata::python {

namespace {

struct KnownLocation {
  PyObject* code = nullptr;  // held: its address is not another's
  int instruction = -1;
  const char* file = nullptr;
  unsigned line = 0;
  bool is_ours = false;  // in a file of the package
};

constexpr std::size_t kKnownLocations = 1024;

KnownLocation& known_location(const PyCodeObject* code, int instruction) {
  static std::array<KnownLocation, kKnownLocations> locations;
  const auto mixed = (reinterpret_cast<std::uintptr_t>(code) >> 4) * 31 + static_cast<std::uintptr_t>(instruction);
  return locations[mixed % kKnownLocations];
}

/// The folder of the package, with its last slash.
const std::string& package_folder() {
  static const std::string folder = [] {
    const py::object file = py::module_::import("strata").attr("__file__");
    std::string path = py::cast<std::string>(file);
    return path.substr(0, path.rfind('/') + 1);
  }();
  return folder;
}

/// A copy of the name that lives as long as the process; there are as many as source files.
const char* kept_file_name(const std::string& name) {
  static std::unordered_set<std::string> names;
  return names.insert(name).first->c_str();
}

int instruction_of(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030b0000
  return PyFrame_GetLasti(frame);
#else
  return PyFrame_GetLineNumber(frame);
#endif
}

const KnownLocation& location_of_frame(PyFrameObject* frame) {
  PyCodeObject* const code = PyFrame_GetCode(frame);  // a new reference
  const int instruction = instruction_of(frame);
  KnownLocation& location = known_location(code, instruction);
  PyObject* const object = reinterpret_cast<PyObject*>(code);
  if (location.code == object && location.instruction == instruction) {
    Py_DECREF(object);
    return location;
  }
  const py::object before = py::reinterpret_steal<py::object>(location.code);
  const auto file = py::cast<std::string>(py::handle(code->co_filename));
  location = {object, instruction, kept_file_name(file), static_cast<unsigned>(PyFrame_GetLineNumber(frame)),
              file.starts_with(package_folder())};
  return location;
}

}  // namespace

Origin calling_location(const char* operation) {
  py::object held;  // frames that the current one does not keep
  for (PyFrameObject* frame = PyEval_GetFrame(); frame != nullptr;) {
    const KnownLocation& location = location_of_frame(frame);
    if (!location.is_ours) return {operation, location.file, location.line};
    frame = PyFrame_GetBack(frame);
    held = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(frame));
  }
  return {operation, "<no Python code>", 0};
}

}  // namespace strata::python
