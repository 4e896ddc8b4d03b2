// Which outputs of a reduction to compute at once, so that what is loaded is used as often as registers allow.
//
// A tile is some lanes along one axis and some copies along others. For each multiplication it loads, per access: one value for
// each copy along axes that the access depends on, a vector where the access is contiguous along the lanes, lane by lane where it
// is scattered, one value for all lanes where it stays. The tile with the fewest loads an element wins.
#pragma once

#include <cstdint>
#include <vector>

namespace strata {

/// A load inside of a reduction, by axis.
struct TileAccess {
  enum class Along : std::uint8_t { stays, contiguous, scattered };
  std::vector<Along> along;
};

struct TileProblem {
  std::vector<std::int64_t> sizes;  ///< of the axes; 0 where it is not known
  std::vector<bool> is_output;      ///< else it is reduced
  std::vector<bool> stores_along;   ///< whether stores are contiguous along the axis
  std::vector<TileAccess> loads;
  std::int64_t lanes = 1, registers = 16;
  bool reassociates = false;  ///< whether lanes may be along a reduced axis
};

struct RegisterTile {
  int lane_axis = -1;
  std::int64_t lanes = 1;
  std::vector<std::int64_t> copies;  ///< along each axis, 1 for none
  double loads = 0;                  ///< instructions for each multiplication and addition
};

/// @pre there is a load
RegisterTile best_tile(const TileProblem& problem);

}  // namespace strata
