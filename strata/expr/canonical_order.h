// Lists in canonical order, that of compare(): each instance of std::sort is 4 KB of code, so there is one for a type.
#pragma once

#include <vector>

#include "strata/expr/expr.h"

namespace strata {

void sort_canonically(std::vector<Variable>& list);
/// By variable, then by value.
void sort_canonically(Values& list);
/// Of equal expressions one stays.
void sort_and_merge(std::vector<Expr>& list);

}  // namespace strata
