// The parallel loop for devices that launch instances: a turn each, told by SPECIAL.
#pragma once

#include <vector>

#include "strata/ir/uop.h"
#include "strata/view/int.h"

namespace strata {

/// `list`, whose parallel loop runs from begin0 to end0 of [0, turns), as one for a launch along axis 0: instance
/// gidx0 makes turn gidx0. Instance max(turns, 1) - 1 is the call that ends the range, and makes what is left over.
/// Instances beyond it do nothing, so that a launch may be rounded up; SPECIAL says how many there are at most.
/// Linear time.
/// @param places where not null, gets for each UOp of `list` what stands for it; empty where nothing does
UOpGraph to_instances(const UOpGraph& list, const Int& turns, std::vector<UOp>* places = nullptr);

}  // namespace strata
