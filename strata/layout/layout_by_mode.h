// Composition and division mode by mode: a tiler of one layout for each of the first modes; the
// modes behind them stay as they are, and count as what is left over.
#pragma once

#include <cstdint>
#include <vector>

#include "strata/layout/layout_algebra.h"

namespace strata {

/// One layout for each of the first modes.
using Tiler = std::vector<Layout>;

// Below, k runs over the modes that have a tile; D(k) = logical_divide(A(k), tiler[k]) = (T(k),
// R(k)). All throw Error (shape) when there are more tiles than modes, and what composition and
// complement throw.

/// @post mode k is composition(A(k), tiler[k]); the other modes are A's
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
