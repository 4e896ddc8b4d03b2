// A composition that is no layout.
// expect: the_leaf_is_not_refined_by_a_layout
#include "strata/layout/layout_algebra.h"
#include "strata/layout/layout_static.h"

using strata::layout;
constexpr auto kSize = composition(layout<"(4,4):(4,1)">.value(), layout<"6:1">.value()).size();
