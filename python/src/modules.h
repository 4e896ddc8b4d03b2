// Modules of strata/nn for Python, which adds to them what a class written in Python keeps in its attributes.
#pragma once

#include <type_traits>
#include <vector>

#include "python/src/convert.h"
#include "strata/nn/module.h"

namespace strata::python {

/// A module of Python and those inside of it, with their names: the object itself first, under "".
struct FoundModule {
  std::string prefix;  ///< "hidden.", or nothing
  py::object object;
};

/// @throws TypeError where the constructor of a module of C++ has not run. NOTE: pybind11 takes such an object for one whose memory
/// holds something.
void check_made(py::handle module);

/// Attributes of its own for a class of modules, which the collector of garbage sees once.
/// NOTE: py::dynamic_attr() alone has them seen twice in objects of classes below it from Python 3.11 on: in cycles they would never
/// be collected.
py::custom_type_setup collected_once();

/// Each module once. module_tensors.cpp
std::vector<FoundModule> modules_in(const py::object& module);

/// Where a module keeps the names of its buffers.
inline constexpr const char* kBuffers = "_buffer_names";
/// Parameters, or all that is state: each tensor once, under its first name, or under all names.
/// @throws Error (domain) where two tensors have one name
nn::NamedTensors tensors_of_module(const py::object& module, bool with_buffers, bool all_names);

void bind_layer_classes(py::module_& m);  // layers.cpp
void bind_norm_layers(py::module_& m);    // layers.cpp

}  // namespace strata::python

namespace pybind11::detail {

/// Modules are looked at only when they are made.
template <class T>
class type_caster<T, std::enable_if_t<std::is_base_of_v<strata::nn::Module, T>>>
    : public type_caster_base<T> {
 public:
  bool load(handle source, bool convert) {
    strata::python::check_made(source);
    return type_caster_base<T>::load(source, convert);
  }
};

}  // namespace pybind11::detail
