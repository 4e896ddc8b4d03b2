// A function that the grammar does not have.
// expect: affine_error<1, .*unknown function
#include "strata/affine/affine_static.h"

const auto value = strata::affine<"sin(i)">(1);
