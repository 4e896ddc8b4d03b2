// A UOp as text. Lists are UOpGraph::text().
#pragma once

#include <string>

#include "strata/ir/uop.h"

namespace strata {

/// The line that `u` has in its list's text, with the end of the line.
std::string line_of(UOp u);

}  // namespace strata
