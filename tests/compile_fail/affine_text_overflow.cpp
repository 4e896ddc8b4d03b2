// A constant that does not fit.
// expect: affine_error<5, .*the number does not fit in 64 bits
#include "strata/affine/affine_static.h"

const auto value = strata::affine<"i * 9223372036854775808">(1);
