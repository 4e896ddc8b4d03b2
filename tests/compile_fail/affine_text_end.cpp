// A text that stops too early.
// expect: affine_error<4, .*expected a value, found the end
#include "strata/affine/affine_static.h"

const auto value = strata::affine<"i *">(1);
