// Arguments are integers.
// expect: no match
#include "strata/affine/affine_static.h"

const auto value = strata::affine<"i + 2">(1.5);
