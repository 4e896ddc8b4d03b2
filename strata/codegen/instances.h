// to_instances(): rewrites the parallel loop of a list for devices that launch many instances of a kernel (OpenCL,
// CUDA, ...), one instance per iteration.
#pragma once

#include <vector>

#include "strata/ir/uop.h"
#include "strata/view/int.h"

namespace strata {

/// Returns a list for a launch along axis 0, in which instance gidx0 (a SPECIAL) runs iteration gidx0 of the parallel
/// loop of `list`, which runs [begin0, end0) of [0, trip_count). The last instance, max(trip_count, 1) - 1, also runs
/// the leftover code of the call that ends the range. Further instances do nothing, so that a launch may be rounded up:
/// renderers compare the SPECIAL with its size, which is the upper bound of the trip count, and for a symbolic trip
/// count the list has a condition. Linear time.
/// @param stand_ins if not null, receives for each UOp of `list` its UOp in the result; an empty handle where it has
/// none
UOpGraph to_instances(const UOpGraph& list, const Int& trip_count, std::vector<UOp>* stand_ins = nullptr);

}  // namespace strata
