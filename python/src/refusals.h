// Error messages about arguments that a function does not take, in one line instead of pybind11's list of C++
// signatures.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "python/src/bind.h"

namespace strata::python {

/// The message for an unknown keyword: "Linear() has no parameter 'bais', but bias, in_features, out_features", where
/// the known names are ordered by their similarity to `given`.
std::string unknown_argument(std::string_view function, std::string_view given, std::vector<std::string> known);

/// Wraps all functions, methods and constructors of the module. When no overload takes the arguments, pybind11 prints
/// all overloads with C++ names, and the values of the arguments; a wrapped function names the wrong argument in one
/// line. @pre everything is bound
void refuse_in_a_line(const py::module_& m);

}  // namespace strata::python
