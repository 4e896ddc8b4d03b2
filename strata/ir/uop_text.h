// The text of single UOps, for messages and traces. UOpGraph::text() is the text of a list.
#pragma once

#include <string>

#include "strata/ir/uop.h"

namespace strata {

/// The line of `u` in UOpGraph::text(), including the line break: u's number in its list, op, dtype, numbers of the
/// sources, argument.
///    4 UOps.ALU            : dtypes.float              [2, 3]                           BinaryOps.ADD
/// @pre `u` is not an empty handle
std::string line_of(UOp u);

/// The argument of `u` as in the last column of line_of(u), e.g. "('data0', dtypes.float)" of a DEFINE_GLOBAL; "None"
/// without an argument.
std::string arg_text(UOp u);

}  // namespace strata
