// What is said of arguments that a function does not take.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "python/src/bind.h"

namespace strata::python {

/// "Linear() has no parameter 'bais', but bias, in_features, out_features": the nearest first.
std::string unknown_argument(std::string_view function, std::string_view given,
                             std::vector<std::string> known);

/// pybind11 prints all overloads, with C++ names, and the values that were given. From now on the functions, methods and constructors
/// in the module say in a line which argument they do not take. @pre everything is bound
void refuse_in_a_line(const py::module_& m);

}  // namespace strata::python
