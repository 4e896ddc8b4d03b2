// One argument for each name.
// expect: affine_argument_count<1, 2>
#include "strata/affine/affine_static.h"

const auto value = strata::affine<"i + 2">(1, 2);
