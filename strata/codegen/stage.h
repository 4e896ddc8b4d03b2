// Staging (the Opt STAGE): plan_tiles() computes which tile of a buffer a store needs inside of a loop, and the layout
// of that tile in scratch memory. Internal to codegen/.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "strata/codegen/access_map.h"
#include "strata/codegen/coordinates.h"
#include "strata/codegen/nests.h"

namespace strata {

/// The elements of a LOAD that are staged: in each dimension of the source of its access map, the indices
/// base + t * unit with 0 <= t < extent.
struct Tile {
  const LazyNode* load = nullptr;
  AccessMap map;
  std::vector<Expr> base;  ///< over the counters of the loops around the tile
  Index unit, extent;
  Ints count;             ///< of the elements that are copied: the extent, or the symbolic size of the whole dimension
  Index stride;           ///< in scratch memory; the dimension along the lanes has stride 1
  std::size_t inner = 0;  ///< the dimension of stride 1
  std::int64_t size() const { return product(extent); }
  /// The address in scratch memory of the element that the LOAD has at `idxs`.
  Expr address(std::span<const Expr> idxs) const;
};

/// A coordinate of an output axis as seen by a stage: base + [0, reach), where `base` comes from the loops outside of
/// the stage and `reach` is the product of the parts inside.
struct OutsideCoordinate {
  Expr base;
  std::int64_t reach = 1;
  bool has_lanes = false;  ///< whether the lanes are inside
};

/// True iff the value of `store` depends on a LOAD of buffer `slot`.
bool loads_buffer(const LazyNode& store, int slot);

/// The coordinates of the axes `of` for `stage`. The loops of `nest` down to the outermost loop of the stage's axis are
/// outside; they are appended to `around`. @throws Error (domain) for a symbolic size inside
std::vector<OutsideCoordinate> outside_of(const Stage& stage, const KernelAxes& axes, std::span<const std::size_t> of,
                                          const Nest& nest, std::vector<UOp>& around);

/// The tiles of buffer `slot` that `store` needs at `idxs`, one coordinate for each axis of `of`: a tile for each LOAD
/// inside of reductions, or for each LOAD where none is. All loops of reductions are inside.
/// @param lanes of the vectors that fill a tile: the extent along stride 1 is rounded up to a multiple of it, if it is
///   more than half of it
/// @param most_bytes of a tile  @param what the beginning of messages
/// @throws Error (domain) where the buffer is not loaded; where a LOAD is needed at more than one index, below a PAD or
///   at a computed index; where the index is not a base plus a tile of numeric extents; where a tile exceeds
///   `most_bytes`
std::vector<Tile> plan_tiles(const LazyNode& store, int slot, const KernelAxes& axes, std::span<const std::size_t> of,
                             std::span<const OutsideCoordinate> idxs, std::int64_t lanes, std::int64_t most_bytes,
                             const std::string& what);

}  // namespace strata
