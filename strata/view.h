// Views, stacks of them, layouts, and loops over them.
#pragma once

#include "strata/base/standard.h"

#include "strata/expr.h"
#include "strata/view/equal.h"
#include "strata/view/expr_pieces.h"
#include "strata/view/int.h"
#include "strata/view/layout.h"
#include "strata/view/layout_algebra.h"
#include "strata/view/layout_by_mode.h"
#include "strata/view/layout_convert.h"
#include "strata/view/layout_static.h"
#include "strata/view/mdspan.h"
#include "strata/view/shape_tracker.h"
#include "strata/view/swizzle.h"
#include "strata/view/tiled.h"
#include "strata/view/view.h"
