// Staging: which tile of a buffer is used inside of a loop, and how it lies in scratch memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "strata/codegen/coordinates.h"
#include "strata/codegen/nests.h"

namespace strata {

/// The tile of a load: its index is base + t, with 0 <= t < extent, in each dimension.
struct Tile {
  const LazyNode* load = nullptr;
  std::vector<Expr> base;  ///< over the loops around the tile
  Index extent;
  Index stride;           ///< in scratch memory; the dimension of the lanes is innermost
  std::size_t inner = 0;  ///< the dimension of stride 1
  std::int64_t size() const { return product(extent); }
};

/// An output coordinate: what the loops outside of the stage say of it, and how far those inside reach beyond.
struct OutsideCoordinate {
  Expr base;
  std::int64_t reach = 1;  ///< coordinates are base + [0, reach)
  bool has_lanes = false;
};

/// Whether what `store` stores is made of buffer `slot`.
bool loads_buffer(const LazyNode& store, int slot);

/// The output coordinates, one an axis of `of`, as the loops of `place` up to the outermost one of the stage's axis have them;
/// those loops are added to `around`. @throws Error (domain) where what is inside has a symbolic size
std::vector<OutsideCoordinate> outside_of(const Stage& stage, const KernelAxes& axes,
                                          std::span<const std::size_t> of, const Nest& nest,
                                          std::vector<UOp>& around);

/// The tile of buffer `slot` that `store` needs at `idxs` (one coordinate an axis of `axes`), where all reductions are inside.
/// @throws Error (domain) naming `what` where the buffer is loaded at more than one place, under a condition of a PAD, or at an
///   index that is no base + tile of numbers; where the tile is larger than kMostStagedBytes
Tile plan_tile(const LazyNode& store, int slot, const KernelAxes& axes, std::span<const std::size_t> of,
               std::span<const OutsideCoordinate> idxs, const std::string& what);

inline constexpr std::int64_t kMostStagedBytes = std::int64_t{1} << 19;

}  // namespace strata
