// A stride beyond 64 bits.
// expect: LayoutTextError<3, .*64 bits
#include "strata/layout/layout_static.h"

const auto value = strata::layout<"3:99999999999999999999">(1);
