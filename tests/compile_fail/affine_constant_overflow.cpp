// Overflow in a constant expression.
// expect: throw_overflow
#include "strata/affine/affine_static.h"

constexpr auto value = strata::affine<"i * 2">(INT64_MAX);
