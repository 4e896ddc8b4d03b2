// A UOp, or a part of it, as text. Lists are UOpGraph::text().
#pragma once

#include <string>

#include "strata/ir/uop.h"

namespace strata {

/// The line that `u` has in its list's text, with the end of the line.
std::string line_of(UOp u);

/// The argument as that line ends in it; "None" where there is none.
std::string arg_text(UOp u);

}  // namespace strata
