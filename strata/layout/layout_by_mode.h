// Composition and division mode by mode. A Tiler has one layout for each of the first modes; the
// modes after those stay as they are, and count with the remainders.
#pragma once

#include <cstdint>
#include <vector>

#include "strata/layout/layout_algebra.h"

namespace strata {

/// One layout (tile) for each of the first modes.
using Tiler = std::vector<Layout>;

// Below, k runs over the modes that have a tile, and D(k) = logical_divide(A(k), tiler[k]) =
// (T(k), R(k)). Every function throws Error (shape) when there are more tiles than modes, and throws
// as composition and complement do.

/// @post mode k is composition(A(k), tiler[k]); the other modes are those of A
Layout composition(const Layout& a, const Tiler& tiler, std::uint64_t budget = kMergeBudget);
/// @post (D(0), D(1), ..., other modes)
Layout logical_divide(const Layout& a, const Tiler& tiler, std::uint64_t budget = kMergeBudget);
/// @post ((T(0), T(1), ...), (R(0), R(1), ..., other modes))
Layout zipped_divide(const Layout& a, const Tiler& tiler, std::uint64_t budget = kMergeBudget);
/// @post ((T(0), T(1), ...), R(0), R(1), ..., other modes)
Layout tiled_divide(const Layout& a, const Tiler& tiler, std::uint64_t budget = kMergeBudget);
/// @post (T(0), T(1), ..., R(0), R(1), ..., other modes)
Layout flat_divide(const Layout& a, const Tiler& tiler, std::uint64_t budget = kMergeBudget);

}  // namespace strata
