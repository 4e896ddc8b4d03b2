// Three coordinates for two modes.
// expect: LayoutCoordinateCount<2, 3>
#include "strata/layout/layout_static.h"

const auto value = strata::layout<"(3,4):(4,1)">(1, 2, 0);
