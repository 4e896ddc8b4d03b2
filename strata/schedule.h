// From graphs to kernels in order, and where results between them live.
#pragma once

#include "strata/base/standard.h"

#include "strata/schedule/memory_plan.h"
#include "strata/schedule/schedule.h"
