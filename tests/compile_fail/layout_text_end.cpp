// A layout without strides.
// expect: LayoutTextError<4, .*strides are missing
#include "strata/layout/layout_static.h"

const auto value = strata::layout<"(3)">(1);
