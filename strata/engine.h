// realize(), which runs graphs, the cache of compiled kernels, and the storage of realized nodes.
#pragma once

#include "strata/base/standard.h"

#include "strata/engine/buffer_storage.h"
#include "strata/engine/kernel_cache.h"
#include "strata/engine/realize.h"
#include "strata/engine/schedule_cache.h"
