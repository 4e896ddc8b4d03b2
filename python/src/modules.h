// nn.Module in Python. A class that is written in Python keeps parameters and inner modules in its attributes, without
// registering them; the functions here find them there (module_tensors.cpp). nn.cpp, layers.cpp and optim.cpp use them.
#pragma once

#include <type_traits>
#include <vector>

#include "python/src/convert.h"
#include "strata/nn/module.h"

namespace strata::python {

/// A module that modules_in() found, with the prefix of its tensors' names.
struct FoundModule {
  std::string prefix;  ///< e.g. "hidden."; empty for the outermost module
  py::object object;
};

/// Checks that the C++ constructor of a module has run, which it has not if a subclass does not call
/// super().__init__().
/// @throws TypeError if not. NOTE: pybind11 does not check, and would use uninitialized memory.
void check_made(py::handle module);

/// Gives a class of modules a __dict__ that the garbage collector visits once.
/// NOTE: with py::dynamic_attr() alone, from Python 3.11 on the __dict__ of a subclass's object is visited twice, and
/// objects in reference cycles are never collected.
py::custom_type_setup collected_once();

/// `module` itself, first, then all modules inside it, each once under its first name. In module_tensors.cpp.
std::vector<FoundModule> modules_in(const py::object& module);

/// The attribute in which a module keeps the names of its buffers.
inline constexpr const char* kBuffers = "_buffer_names";
/// The parameters of a module and of those inside it, by name; `with_buffers`: the buffers, too. `all_names`: a tensor
/// with several names is listed under each of them; else once, under its first name.
/// @throws Error (domain) if two tensors have the same name
nn::NamedTensors tensors_of_module(const py::object& module, bool with_buffers, bool all_names);

void bind_layer_classes(py::module_& m);  // layers.cpp
void bind_norm_layers(py::module_& m);    // layers.cpp

}  // namespace strata::python

namespace pybind11::detail {

/// Refuses a module whose constructor has not run, see check_made().
template <class T>
class type_caster<T, std::enable_if_t<std::is_base_of_v<strata::nn::Module, T>>> : public type_caster_base<T> {
 public:
  bool load(handle source, bool convert) {
    strata::python::check_made(source);
    return type_caster_base<T>::load(source, convert);
  }
};

}  // namespace pybind11::detail
