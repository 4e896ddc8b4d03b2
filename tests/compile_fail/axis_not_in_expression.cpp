// An axis that the expression does not have.
// expect: axis_not_in_expression<.*"k"
#include "strata/affine/affine_axes.h"

const auto [i, j] = strata::axes<"i", "j">;
constexpr auto g = i * 128 + j;
const auto [k] = strata::axes<"k">;
const auto value = g(i = 3, j = 4, k = 5);
