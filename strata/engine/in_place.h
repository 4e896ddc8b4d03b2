// Updates in place: kernels that write a new value over the old one. Internal to engine/.
#pragma once

#include <optional>

#include "strata/graph/lazy_op.h"

namespace strata {

/// The kernel `ast` with buffer `output` in place of buffer `input`, which is dropped: it reads the old value of each
/// element and then writes the new one. Nothing unless each element of `output` is computed elementwise from the same
/// element of `input`, and all reads of `input` are one load. The compiler checks that no iteration reads what another
/// one writes (codegen/legal.h).
/// @pre `output` is written alone, and `input` is read alone
std::optional<LazyOp> kernel_in_place(const LazyOp& ast, int output, int input);

/// A kernel in place that leaves most elements as they are, e.g. x[i] = v, as one that computes the others alone: a
/// STORE of `c ? v : x`, where x is the old element and c is true in a box of indices, stores v in that box. Nothing
/// for any other kernel.
std::optional<LazyOp> kernel_of_changes(const LazyOp& ast);

}  // namespace strata
