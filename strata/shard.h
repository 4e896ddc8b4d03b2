// Shardings: which rank of a mesh owns which element, and the messages between two shardings.
#pragma once

#include "strata/base/standard.h"

#include "strata/shard/carry.h"
#include "strata/shard/exchange.h"
#include "strata/shard/image.h"
#include "strata/shard/mesh.h"
#include "strata/shard/sharding.h"
#include "strata/shard/stripes.h"
