// Arguments name their axis.
// expect: assignments to its axes
#include "strata/affine/affine_axes.h"

const auto [i, j] = strata::axes<"i", "j">;
constexpr auto g = i * 128 + j;
const auto value = g(3, 4);
