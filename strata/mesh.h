// Meshes: ranks that move bytes between shardings, over MPI or inside of one process.
#pragma once

#include "strata/base/standard.h"

#include "strata/mesh/box_copy.h"
#include "strata/mesh/exchange_plan.h"
#include "strata/mesh/mesh.h"
#include "strata/mesh/transport.h"
#include "strata/mesh/world.h"
