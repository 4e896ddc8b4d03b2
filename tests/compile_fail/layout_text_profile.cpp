// Strides that do not nest as the sizes do.
// expect: LayoutTextError<7, .*do not nest
#include "strata/layout/layout_static.h"

const auto value = strata::layout<"(3,4):1">(1);
