// Sharded computations: one graph, of which each rank of a mesh computes its parts.
#pragma once

#include "strata/base/standard.h"

#include "strata/spmd/kernel_plan.h"
#include "strata/spmd/part.h"
#include "strata/spmd/plan_cache.h"
#include "strata/spmd/ranks.h"
#include "strata/spmd/reads.h"
#include "strata/spmd/sharded_memory.h"
