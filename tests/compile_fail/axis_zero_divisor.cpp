// A divisor that is 0.
// expect: throw_zero_divisor
#include "strata/affine/affine_axes.h"

const auto [i, j] = strata::axes<"i", "j">;
constexpr auto g = i * 128 + j;
constexpr auto h = i / 0;
