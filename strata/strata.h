// All of Strata.
#pragma once

#include "strata/base/check.h"
#include "strata/base/executor.h"
#include "strata/base/version.h"
#include "strata/expr.h"
#include "strata/runtime/tbb_executor.h"
#include "strata/view.h"
