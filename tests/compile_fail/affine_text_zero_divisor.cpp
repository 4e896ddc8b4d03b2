// A divisor that is 0.
// expect: affine_error<3, .*the divisor is 0
#include "strata/affine/affine_static.h"

const auto value = strata::affine<"i / (2 - 2)">(1);
