// The text of single UOps, for messages and traces. UOpGraph::text() is the text of a list.
#pragma once

#include <string>

#include "strata/ir/uop.h"

namespace strata {

/// The line of `u` in UOpGraph::text(), including the line break.
std::string line_of(UOp u);

/// The argument of `u` as in the last column of line_of(u); "None" without an argument.
std::string arg_text(UOp u);

}  // namespace strata
