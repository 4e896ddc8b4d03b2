// The layout algebra (CuTe's layouts): hierarchies of sizes and strides, at run time and at compile time.
#pragma once

#include "strata/base/standard.h"

#include "strata/layout/layout.h"
#include "strata/layout/layout_algebra.h"
#include "strata/layout/layout_by_mode.h"
#include "strata/layout/layout_convert.h"
#include "strata/layout/layout_static.h"
#include "strata/layout/swizzle.h"
