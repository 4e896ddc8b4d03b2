// Loops over tensors in plain memory, fully checked and planned before the first element is visited.
#pragma once

#include "strata/base/standard.h"

#include "strata/loops/expr_pieces.h"
#include "strata/loops/tiled.h"
