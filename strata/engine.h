// Running graphs.
#pragma once

#include "strata/base/standard.h"

#include "strata/engine/kernel_cache.h"
#include "strata/engine/realize.h"
#include "strata/engine/storage.h"
