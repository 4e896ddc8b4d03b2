// The pass "decompose": a lowered kernel in the ops that a backend has.
//
// decompose.h has the formulas; lower.h makes the kernel, whose ops are those of the tensors. The arithmetic of indices
// stays as it is: its divisors are proven positive and its shifts in range, so that no backend needs a formula for it.
#pragma once

#include "strata/codegen/lower.h"

namespace strata {

/// Replaces each of the kernel's element_ops that is not in `native` by what its decomposition builds. The result has a
/// graph of its own; its stores, loops and accesses refer to that graph. A kernel of native ops comes back as it is.
/// @throws Error (undefined) where an op is neither native nor basic and has no decomposition
Lowered decomposed(Lowered kernel, const OpSet& native);

}  // namespace strata
