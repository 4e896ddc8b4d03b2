// export_c() of a captured function of Python.
#pragma once

#include <Python.h>

#include <string>
#include <vector>

#include "strata/tensor/jit.h"

namespace strata::python {

/// The signature and the docstring of export_c().
extern const char* const kExportText;

/// A list of words; empty for None.
std::vector<std::string> names_in(PyObject* list);

/// Exports what `jit` captured, as the arguments say, and returns a dictionary. Null with an error of Python's.
/// @param jit null before the first call @param names of the parameters of the function @throws as export_c()
PyObject* exported_jit(Jit* jit, const std::vector<std::string>& names, PyObject* args, PyObject* kwargs);

}  // namespace strata::python
