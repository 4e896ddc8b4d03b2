// Views, stacks of Views, and plain memory as a tensor; includes the layout algebra and loops over memory.
#pragma once

#include "strata/base/standard.h"

#include "strata/expr.h"
#include "strata/layout.h"
#include "strata/loops.h"
#include "strata/view/equal.h"
#include "strata/view/int.h"
#include "strata/view/mdspan.h"
#include "strata/view/memory_ref.h"
#include "strata/view/piece_range.h"
#include "strata/view/shape_tracker.h"
#include "strata/view/view.h"
