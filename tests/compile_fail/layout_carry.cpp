// A composition whose modes carry into one another.
// expect: modes_carry_into_one_another
#include "strata/layout/layout_algebra.h"
#include "strata/layout/layout_static.h"

using strata::layout;
constexpr auto kSize = composition(layout<"(4,4):(4,1)">.value(), layout<"(2,2):(1,3)">.value()).size();
