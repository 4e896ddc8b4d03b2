// link(): checks a Definition before anything runs, and gives every value a slot. Names are looked up in the graph and
// in the graphs around it; a value is defined before it is read.
#pragma once

#include "strata/onnx/definition.h"

namespace strata::onnx {

/// @throws Error (parse) for names that are defined twice or not at all, cycles, and attributes or numbers of inputs
///   that do not fit the operator; (undefined) with all operators that are missing, and their nodes
void link(Definition& model);

}  // namespace strata::onnx
