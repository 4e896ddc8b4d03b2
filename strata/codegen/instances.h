// The parallel loop for devices that launch instances: an iteration each, told by SPECIAL.
#pragma once

#include <vector>

#include "strata/ir/uop.h"
#include "strata/view/int.h"

namespace strata {

/// `list`, whose parallel loop runs from begin0 to end0 of [0, trip_count), as one for a launch along axis 0: instance
/// gidx0 makes iteration gidx0. Instance max(trip_count, 1) - 1 is the call that ends the range, and makes what is left over.
/// Instances beyond it do nothing, so that a launch may be rounded up; SPECIAL says how many there are at most.
/// Linear time.
/// @param stand_ins where not null, gets for each UOp of `list` what stands for it; empty where nothing does
UOpGraph to_instances(const UOpGraph& list, const Int& trip_count,
                      std::vector<UOp>* stand_ins = nullptr);

}  // namespace strata
