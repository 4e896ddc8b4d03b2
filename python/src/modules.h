// Modules of strata/nn for Python, which adds to them what a class written in Python keeps in its attributes.
#pragma once

#include <vector>

#include "python/src/convert.h"
#include "strata/nn/module.h"

namespace strata::python {

/// A module of Python and those inside of it, with their names: the object itself first, under "".
struct FoundModule {
  std::string prefix;  ///< "hidden.", or nothing
  py::object object;
};

std::vector<FoundModule> modules_in(const py::object& module);

void bind_layer_classes(py::module_& m);  // layers.cpp
void bind_norm_layers(py::module_& m);    // layers.cpp

}  // namespace strata::python
