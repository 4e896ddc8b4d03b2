// The name of an axis is an identifier.
// expect: the name of an axis is an identifier
#include "strata/affine/affine_axes.h"

const auto [i] = strata::axes<"i+1">;
const auto value = i(i = 3);
