// A text that is wrong names the column and the reason.
// expect: affine_error<5, .*expected a value
#include "strata/affine/affine_static.h"

const auto value = strata::affine<"1 + * 2">();
