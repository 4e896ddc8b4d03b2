// The scheduler: cuts a graph into kernels in execution order (schedule()), and plans the memory of intermediate
// results (plan_memory()).
#pragma once

#include "strata/base/standard.h"

#include "strata/schedule/memory_plan.h"
#include "strata/schedule/schedule.h"
