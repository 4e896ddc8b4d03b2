// The pass "decompose": a lowered kernel in the ops that a backend has.
//
// decompose.h has the formulas; lower.h makes the kernel, whose ops are those of the tensors. The arithmetic of indices stays as it is:
// its divisors are proven positive and its shifts in range, so that no backend needs a formula for it.
#pragma once

#include "strata/codegen/lower.h"

namespace strata {

/// `kernel` with each of its element_ops that is not in `native` replaced by what its decomposition builds. The graph is another one; stores, loops
/// and accesses refer to the new UOps. A kernel of native ops alone comes back as it was.
/// @throws Error (undefined) where an op is neither native nor basic and has no decomposition
Lowered decomposed(Lowered kernel, const OpSet& native);

}  // namespace strata
