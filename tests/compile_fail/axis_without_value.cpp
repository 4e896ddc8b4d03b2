// Each axis needs a value.
// expect: axis_without_value<.*"j"
#include "strata/affine/affine_axes.h"

const auto [i, j] = strata::axes<"i", "j">;
constexpr auto g = i * 128 + j;
const auto value = g(i = 3);
