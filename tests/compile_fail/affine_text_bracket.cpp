// A bracket that is never closed.
// expect: affine_error<5, .*is never closed
#include "strata/affine/affine_static.h"

const auto value = strata::affine<"i * (i + 1">(1);
