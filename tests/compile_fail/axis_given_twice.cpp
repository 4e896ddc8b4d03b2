// An axis takes one value.
// expect: axis_given_twice<.*"i"
#include "strata/affine/affine_axes.h"

const auto [i, j] = strata::axes<"i", "j">;
constexpr auto g = i * 128 + j;
const auto value = g(i = 3, j = 4, i = 5);
