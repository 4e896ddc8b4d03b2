// A layout without a complement.
// expect: the_layout_has_no_complement
#include "strata/layout/layout_algebra.h"
#include "strata/layout/layout_static.h"

using strata::layout;
constexpr auto kSize = complement(layout<"(4,4):(1,6)">.value(), 24).size();
